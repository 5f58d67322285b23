//! The cohorts of this machine's CPUs, as the system reports them.

use super::super::Topology;
use cohort::door::{Level, lowest_of};

/// The topology of these CPUs, as locks see it by default. A cohort's name is its lowest CPU.
pub fn topology(cpus: Vec<usize>) -> Topology {
    let by = |level: Level| {
        let cohorts = cpus.iter().map(|cpu| lowest_of(level, *cpu));
        (level.name().to_owned(), cohorts.collect())
    };
    let mut levels: Vec<(String, Vec<usize>)> = Level::REPORTED.map(by).into();
    levels.push(("system".to_owned(), vec![0; cpus.len()]));
    Topology::new(cpus, levels)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disturb::allowed_cpus;

    #[test]
    fn all_cpus_of_this_machine_are_one_system() {
        let cpus = allowed_cpus();
        let topology = topology(cpus.clone());
        assert_eq!(topology.cpus(), cpus);
        if cpus.len() > 1 {
            let last = topology.levels().len() - 1;
            assert_eq!(topology.cohorts(last), 1);
        }
    }
}
