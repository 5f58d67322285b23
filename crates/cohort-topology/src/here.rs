//! The cohorts of this machine's CPUs, as the system reports them.

use crate::Topology;
use crate::disturb::allowed_cpus;
use cohort::door::{Level, lowest_of};

/// The CPUs that this process may use, and their cohorts.
///
/// # Errors
/// The system reports none.
pub fn here() -> Result<Topology, String> {
    let cpus = allowed_cpus();
    if cpus.is_empty() {
        return Err("the kernel does not report the usable CPUs".to_owned());
    }
    Ok(topology(cpus))
}

/// The topology of these CPUs, as locks see it by default. A cohort's name is its lowest CPU.
fn topology(cpus: Vec<usize>) -> Topology {
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
