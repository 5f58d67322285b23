//! The cohorts of this machine's CPUs, as the system tells them.

use super::super::Topology;
use std::fs;

/// The topology of these CPUs; a level that the system does not tell of puts all of
/// them together.
pub fn topology(cpus: Vec<usize>) -> Topology {
    let by = |of: fn(usize) -> Option<usize>| -> Vec<usize> {
        cpus.iter().map(|cpu| of(*cpu).unwrap_or(0)).collect()
    };
    let levels = vec![
        ("core".to_owned(), by(core)),
        ("cache".to_owned(), by(last_cache)),
        ("numa".to_owned(), by(node)),
        ("package".to_owned(), by(package)),
        ("system".to_owned(), by(|_| None)),
    ];
    Topology::new(cpus, levels)
}

/// A core is named by the lowest of its CPUs.
fn core(cpu: usize) -> Option<usize> {
    lowest(&format!("cpu{cpu}/topology/thread_siblings_list"))
}

fn package(cpu: usize) -> Option<usize> {
    lowest(&format!("cpu{cpu}/topology/package_cpus_list"))
        .or_else(|| lowest(&format!("cpu{cpu}/topology/core_siblings_list")))
}

/// The largest cache that the CPU has, named by the lowest CPU that shares it.
fn last_cache(cpu: usize) -> Option<usize> {
    (0..8)
        .rev()
        .find_map(|index| lowest(&format!("cpu{cpu}/cache/index{index}/shared_cpu_list")))
        .or_else(|| package(cpu))
}

fn node(cpu: usize) -> Option<usize> {
    let folder = fs::read_dir(format!("/sys/devices/system/cpu/cpu{cpu}")).ok()?;
    folder.flatten().find_map(|entry| {
        let name = entry.file_name();
        name.to_str()?.strip_prefix("node")?.parse().ok()
    })
}

/// The first number of a list such as `0-3,8`.
fn lowest(file: &str) -> Option<usize> {
    let list = fs::read_to_string(format!("/sys/devices/system/cpu/{file}")).ok()?;
    let first = list.trim().split([',', '-']).next()?;
    first.parse().ok()
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
