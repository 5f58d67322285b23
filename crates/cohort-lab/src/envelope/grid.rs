//! The points of the envelope.
//!
//! All machines, workloads, nine numbers of threads, two placements and two lengths of critical
//! sections give some four thousand points; a run of an hour has room for a seventh of them. So
//! each pair of a machine and a workload has a few: three numbers of threads pinned, with the
//! workload's critical sections, and one for each other manner. They rotate from pair to pair, so
//! that each machine and each workload has all numbers of threads.

use super::workload;
use crate::bench::Info;
use crate::world::Placement;
use crate::world::simulated::Simulator;
use cohort_machine::description::Machine;
use std::sync::Arc;

/// The workloads.
pub const WORKLOADS: &[&str] = &[
    "lbench",
    "leveldb",
    "mmicro",
    "kyoto",
    "zipf",
    "phases",
    "cachelock",
    "berkeleydb",
    "memcached-set",
    "map64",
];

/// Workloads with so many critical sections in an operation that none with long ones fits
/// into a run.
const MANY_SECTIONS: &[&str] = &["berkeleydb"];

/// Numbers of threads for a machine with that many CPUs.
fn threads(cpus: usize) -> [usize; 9] {
    [1, 2, 4, 8, cpus / 4, cpus / 2, cpus, 2 * cpus, 4 * cpus]
}

/// The manners: how many numbers of threads, their placement, and whether critical sections are
/// long.
const MANNERS: [(usize, Placement, bool); 4] = [
    (3, Placement::Compact, false),
    (1, Placement::Free, false),
    (1, Placement::Compact, true),
    (1, Placement::Free, true),
];

/// Extent of the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All.
    Full,
    /// A fraction of the points, for a run of a minute.
    Quick,
}

/// One in this many points is in the quick part: not a divisor of a pair's or a machine's number of
/// points.
const ONE_IN: usize = 37;

/// Point.
#[derive(Clone, Copy, Debug)]
pub struct Spot {
    /// The index of the machine.
    pub machine: usize,
    /// The workload.
    pub workload: &'static Info,
    /// The number of threads.
    pub threads: usize,
    /// Their placement.
    pub placement: Placement,
    /// Whether critical sections are [long](super::LONG).
    pub is_long: bool,
}

/// Points, with their machines.
#[derive(Debug)]
pub struct Grid {
    /// The machines, ready to run.
    pub simulators: Vec<Arc<Simulator>>,
    /// The points.
    pub spots: Vec<Spot>,
    /// The extent.
    pub extent: Extent,
}

impl Grid {
    /// The points of these machines and workloads, machine by machine.
    ///
    /// # Panics
    /// If there is no workload of such a name.
    #[must_use]
    pub fn of(machines: Vec<Machine>, workloads: &[&str], extent: Extent) -> Self {
        Self::ordered(machines, workloads, extent, false)
    }

    /// The same points, the first of each machine, then the second of each: after a signal, the
    /// result has points of all machines.
    ///
    /// # Panics
    /// If there is no workload of such a name.
    #[must_use]
    pub fn in_turn(machines: Vec<Machine>, workloads: &[&str], extent: Extent) -> Self {
        Self::ordered(machines, workloads, extent, true)
    }

    fn ordered(machines: Vec<Machine>, workloads: &[&str], extent: Extent, in_turn: bool) -> Self {
        let simulators: Vec<_> = machines
            .into_iter()
            .map(|machine| Arc::new(Simulator::new(machine)))
            .collect();
        let mut spots = Vec::new();
        for (machine, simulator) in simulators.iter().enumerate() {
            let cpus = simulator.topology().cpus().len();
            for (number, name) in workloads.iter().enumerate() {
                spots.extend(pair(machine, number, cpus, workload(name)));
            }
        }
        if extent == Extent::Quick {
            spots = spots.into_iter().step_by(ONE_IN).collect();
        }
        if in_turn {
            spots = one_of_each_in_turn(&spots, simulators.len());
        }
        Self {
            simulators,
            spots,
            extent,
        }
    }
}

fn one_of_each_in_turn(spots: &[Spot], machines: usize) -> Vec<Spot> {
    let mut counts = vec![0; machines];
    let numbered = spots.iter().map(|spot| {
        counts[spot.machine] += 1;
        (counts[spot.machine], *spot)
    });
    let mut numbered: Vec<(usize, Spot)> = numbered.collect();
    numbered.sort_by_key(|(number, _)| *number);
    numbered.into_iter().map(|(_, spot)| spot).collect()
}

/// The points of one machine and one workload, each once.
fn pair(machine: usize, number: usize, cpus: usize, workload: &'static Info) -> Vec<Spot> {
    let counts = threads(cpus);
    let mut spots: Vec<Spot> = Vec::new();
    for (manner, (several, placement, is_long)) in MANNERS.into_iter().enumerate() {
        let has_long =
            workload.takes.contains(&"critical") && !MANY_SECTIONS.contains(&workload.name);
        if is_long && !has_long {
            continue;
        }
        for nth in 0..several {
            let place = 5 * machine + number + 2 * manner + nth * counts.len() / several;
            spots.push(Spot {
                machine,
                workload,
                threads: counts[place % counts.len()].max(1),
                placement,
                is_long,
            });
        }
    }
    let mut seen = Vec::new();
    spots.retain(|spot| {
        let key = (spot.threads, spot.placement, spot.is_long);
        let is_new = !seen.contains(&key);
        seen.push(key);
        is_new
    });
    spots
}

#[cfg(test)]
mod tests {
    use super::*;
    use cohort_machine::description::shipped::{self, MACHINES};
    use std::collections::BTreeSet;

    fn grid(extent: Extent) -> Grid {
        let machines = MACHINES
            .iter()
            .map(|file| shipped::find(file.name).unwrap());
        Grid::of(machines.collect(), WORKLOADS, extent)
    }

    #[test]
    fn every_machine_and_every_workload_has_every_number_of_threads() {
        let grid = grid(Extent::Full);
        for (machine, simulator) in grid.simulators.iter().enumerate() {
            let cpus = simulator.topology().cpus().len();
            let of = grid.spots.iter().filter(|spot| spot.machine == machine);
            let counts: BTreeSet<usize> = of.map(|spot| spot.threads).collect();
            assert_eq!(counts, threads(cpus).into_iter().collect(), "{machine}");
        }
        for name in WORKLOADS {
            let of = grid.spots.iter().filter(|spot| spot.workload.name == *name);
            let crowded = of.clone().filter(|spot| {
                spot.threads > grid.simulators[spot.machine].topology().cpus().len()
            });
            assert!(of.count() > 40 && crowded.count() > 5, "{name}");
        }
    }

    #[test]
    fn the_quick_part_has_each_machine_and_begins_with_one_point_of_each() {
        let machines: Vec<Machine> = (1..=12).map(|number| Machine::drawn(7, number)).collect();
        let count = machines.len();
        let grid = Grid::in_turn(machines, WORKLOADS, Extent::Quick);
        let first = grid.spots.iter().take(count).map(|spot| spot.machine);
        assert_eq!(first.collect::<BTreeSet<_>>().len(), count);
    }

    #[test]
    fn the_quick_part_has_both_placements_and_both_lengths() {
        let grid = grid(Extent::Quick);
        let has = |of: fn(&Spot) -> bool| grid.spots.iter().any(of);
        assert!(has(|spot| spot.is_long) && has(|spot| !spot.is_long));
        assert!(has(|spot| spot.placement == Placement::Free));
        assert!(has(|spot| spot.placement == Placement::Compact));
        assert!(
            (10..=30).contains(&grid.spots.len()),
            "{}",
            grid.spots.len()
        );
    }
}
