//! Irregularities of the CPUs' hierarchy, and levels that the kernel reports beyond the locks'
//! levels.

use super::Finding;
use crate::sysfs;
use cohort_topology::list;
use std::collections::BTreeSet;
use std::path::Path;

/// The kernel's levels without a name for locks.
const LEVELS: [(&str, &str); 2] = [("cluster_cpus_list", "clusters"), ("die_cpus_list", "dies")];

/// Irregularities with their costs.
#[derive(Debug, Default, PartialEq, Eq)]
struct Shape {
    /// Levels, each with its number of cohorts.
    levels: Vec<String>,
    odd: Vec<String>,
}

/// The finding of this machine.
pub fn topology() -> Finding {
    const TOPIC: &str = "topology";
    const USED: &str =
        "`cohort discover` measures the hierarchy, `cohort tune` finds a lock for it";
    let shape = look(Path::new("/sys/devices/system"));
    let mut offered = match shape.levels.as_slice() {
        [] => "no level beyond the kernel's".to_owned(),
        levels => levels.join(", "),
    };
    if is_guest() {
        offered += "; a guest: the host decides which caches and nodes are visible";
    }
    if shape.odd.is_empty() {
        Finding::good(TOPIC, offered, USED)
    } else {
        Finding::good(TOPIC, offered, USED).costs(shape.odd.join("; "))
    }
}

/// Whether the CPU says that it is simulated by a hypervisor.
fn is_guest() -> bool {
    let flags = sysfs::field("/proc/cpuinfo", "flags");
    flags.is_some_and(|flags| flags.split(' ').any(|flag| flag == "hypervisor"))
}

/// Reads the folders `cpu` and `node` below `root`.
fn look(root: &Path) -> Shape {
    let cpu = |number: usize, file: &str| sysfs::text(root.join(format!("cpu/cpu{number}/{file}")));
    let listed = |file: &str| {
        let text = sysfs::text(root.join(file));
        text.and_then(|text| sysfs::numbers(&text))
            .unwrap_or_default()
    };
    let online = listed("cpu/online");
    let mut shape = Shape::default();
    for (file, name) in LEVELS {
        let groups = online
            .iter()
            .filter_map(|number| cpu(*number, &format!("topology/{file}")));
        let groups: BTreeSet<String> = groups.collect();
        let sizes: Vec<usize> = groups
            .iter()
            .filter_map(|group| sysfs::count(group))
            .collect();
        let says = groups.len() > 1 && sizes.iter().any(|size| *size > 1);
        if let (true, Some(least), Some(most)) = (says, sizes.iter().min(), sizes.iter().max()) {
            let each = if least == most {
                format!("{most}")
            } else {
                format!("{least} to {most}")
            };
            shape
                .levels
                .push(format!("{} {name} of {each} CPUs", groups.len()));
        }
    }
    let offline = listed("cpu/offline");
    if !offline.is_empty() {
        let offline = list(&offline);
        shape.odd.push(format!(
            "CPUs {offline} are offline; locks detect a new CPU when a thread runs on it"
        ));
    }
    let capacity = |number: &usize| cpu(*number, "cpu_capacity")?.parse::<usize>().ok();
    let capacities: Vec<(usize, usize)> = online
        .iter()
        .filter_map(|number| Some((*number, capacity(number)?)))
        .collect();
    let fastest = capacities.iter().map(|(_, capacity)| *capacity).max();
    let slow = capacities
        .iter()
        .filter(|(_, capacity)| Some(*capacity) < fastest);
    let slow: Vec<usize> = slow.map(|(number, _)| *number).collect();
    if !slow.is_empty() {
        shape.odd.push(format!(
            "CPUs {} are slower than the others and slow down locks held there; pin long critical \
             sections to the other CPUs",
            list(&slow)
        ));
    }
    let nodes = listed("node/online");
    let (mut empty, mut with) = (Vec::new(), BTreeSet::new());
    for node in &nodes {
        let cpus = listed(&format!("node/node{node}/cpulist"));
        if cpus.is_empty() {
            empty.push(*node);
        }
        with.extend(cpus);
    }
    if !empty.is_empty() {
        shape.odd.push(format!(
            "the nodes {} have memory only; locks ignore them",
            list(&empty)
        ));
    }
    let without: Vec<usize> = online
        .iter()
        .copied()
        .filter(|cpu| !with.contains(cpu))
        .collect();
    if !nodes.is_empty() && !without.is_empty() {
        shape.odd.push(format!(
            "the CPUs {} are in no node; locks use their package instead",
            list(&without)
        ));
    }
    shape
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree of small files, recorded or constructed.
    fn tree(files: &[(&str, &str)]) -> Shape {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, format!("{text}\n")).unwrap();
        }
        look(root.path())
    }

    #[test]
    fn clusters_and_dies_are_told() {
        let mut files = vec![("cpu/online".to_owned(), "0-7".to_owned())];
        for cpu in 0..8 {
            let first = cpu / 4 * 4;
            let path = format!("cpu/cpu{cpu}/topology/cluster_cpus_list");
            files.push((path, format!("{first}-{}", first + 3)));
            files.push((
                format!("cpu/cpu{cpu}/topology/die_cpus_list"),
                "0-7".to_owned(),
            ));
        }
        let files: Vec<(&str, &str)> = files.iter().map(|(a, b)| (&**a, &**b)).collect();
        let shape = tree(&files);
        assert_eq!(shape.levels, ["2 clusters of 4 CPUs"]);
        assert!(shape.odd.is_empty(), "{shape:?}");
    }

    #[test]
    fn slow_cpus_and_offline_ones_are_told() {
        let shape = tree(&[
            ("cpu/online", "0-2"),
            ("cpu/offline", "3"),
            ("cpu/cpu0/cpu_capacity", "446"),
            ("cpu/cpu1/cpu_capacity", "446"),
            ("cpu/cpu2/cpu_capacity", "1024"),
        ]);
        assert!(shape.odd[0].starts_with("CPUs 3 are offline"), "{shape:?}");
        assert!(shape.odd[1].starts_with("CPUs 0-1 are slower"), "{shape:?}");
    }

    #[test]
    fn nodes_without_cpus_and_cpus_without_a_node_are_told() {
        let shape = tree(&[
            ("cpu/online", "0-3"),
            ("node/online", "0-2"),
            ("node/node0/cpulist", "0-1"),
            ("node/node1/cpulist", ""),
            ("node/node2/cpulist", "2"),
        ]);
        assert!(
            shape.odd[0].starts_with("the nodes 1 have memory"),
            "{shape:?}"
        );
        assert!(
            shape.odd[1].starts_with("the CPUs 3 are in no node"),
            "{shape:?}"
        );
        assert_eq!(tree(&[("cpu/online", "0-3")]), Shape::default());
    }
}
