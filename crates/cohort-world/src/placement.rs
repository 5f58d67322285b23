//! Placement of threads on CPUs.

use super::Topology;
use serde::Serialize;

/// How threads are placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Placement {
    /// Pinned, each thread on the free CPU nearest to the previous thread
    Compact,
    /// Pinned and compact, with one hardware thread of each core first
    Cores,
    /// Pinned, each thread on the free CPU farthest from the previous threads
    Scattered,
    /// Placed by the scheduler
    Free,
}

impl Placement {
    /// The CPU of each thread; none if the scheduler decides. Threads beyond the last CPU start
    /// again at the first.
    #[must_use]
    pub fn cpus(self, topology: &Topology, threads: usize) -> Option<Vec<usize>> {
        let order = match self {
            Self::Free => return None,
            Self::Compact => compact(topology),
            Self::Cores => one_of_each_core_first(topology),
            Self::Scattered => scattered(topology),
        };
        Some((0..threads).map(|i| order[i % order.len()]).collect())
    }
}

/// Ordered by the largest cohort first, so that the CPUs of a small cohort are adjacent.
fn compact(topology: &Topology) -> Vec<usize> {
    let mut cpus = topology.cpus().to_vec();
    cpus.sort_by_key(|cpu| (path(topology, *cpu), *cpu));
    cpus
}

/// The first CPU of each core, compactly, then the second of each.
fn one_of_each_core_first(topology: &Topology) -> Vec<usize> {
    let order = compact(topology);
    match topology.levels().iter().position(|l| l.name == "core") {
        None => order,
        Some(core) => by_rank(topology, core, &order),
    }
}

/// Round-robin over the largest cohorts, within each over the next smaller, and so on: the n-th CPU
/// of every cohort precedes the n + 1st of any.
fn scattered(topology: &Topology) -> Vec<usize> {
    let mut order = compact(topology);
    for level in 0..topology.levels().len() {
        order = by_rank(topology, level, &order);
    }
    order
}

/// `order` with the first CPU of each cohort first, then the second of each.
fn by_rank(topology: &Topology, level: usize, order: &[usize]) -> Vec<usize> {
    let mut met = vec![0_usize; topology.cohorts(level)];
    let mut ranked: Vec<(usize, usize)> = order
        .iter()
        .map(|cpu| {
            let cohort = topology.cohort_of(*cpu, level).unwrap_or(0);
            met[cohort] += 1;
            (met[cohort], *cpu)
        })
        .collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().map(|(_, cpu)| cpu).collect()
}

fn path(topology: &Topology, cpu: usize) -> Vec<usize> {
    (0..topology.levels().len())
        .rev()
        .filter_map(|level| topology.cohort_of(cpu, level))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two nodes of two cores with two hardware threads; CPU n and n + 4 share a
    /// core.
    fn machine() -> Topology {
        let by = |of: fn(usize) -> usize| (0..8).map(of).collect();
        Topology::new(
            (0..8).collect(),
            vec![
                ("core".to_owned(), by(|cpu| cpu % 4)),
                ("numa".to_owned(), by(|cpu| cpu % 4 / 2)),
                ("system".to_owned(), by(|_| 0)),
            ],
        )
    }

    #[test]
    fn compact_fills_the_smallest_cohort_first() {
        let cpus = Placement::Compact.cpus(&machine(), 10).unwrap();
        assert_eq!(cpus, [0, 4, 1, 5, 2, 6, 3, 7, 0, 4]);
    }

    #[test]
    fn cores_leave_second_hardware_threads_for_last() {
        let cpus = Placement::Cores.cpus(&machine(), 8).unwrap();
        assert_eq!(cpus, [0, 1, 2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn scattered_goes_round_the_nodes_and_then_round_their_cores() {
        let cpus = Placement::Scattered.cpus(&machine(), 8).unwrap();
        assert_eq!(cpus, [0, 2, 1, 3, 4, 6, 5, 7]);
    }

    #[test]
    fn the_scheduler_is_left_free() {
        assert!(Placement::Free.cpus(&machine(), 3).is_none());
    }
}
