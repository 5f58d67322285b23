//! Discovers a machine's hierarchy by measurement (Chehab et al. 2021 §3.1).
//!
//! [`here`] and [`there`] measure hand-overs between pairs of CPUs and look for levels in them
//! ([`cluster`]). [`heat`] draws the pairs, [`Discovery::cohorts`] is the cohorts file for locks,
//! [`mod@file`] a machine file.

pub mod cluster;
pub mod file;
pub mod heat;
pub mod map;
mod names;
pub(crate) mod native;
pub mod shape;
pub(crate) mod simulated;

pub use crate::interrupt::Stop;
use crate::progress::Progress;
use crate::rounds::Observer;
use crate::stats::median;
use crate::world::Topology;
use crate::world::simulated::Simulator;
use cohort::recipe::Level;
pub use cohort_topology::list;
use map::{Map, Pair};
use shape::Shape;
use std::fmt::Write;
use std::sync::Arc;

/// Discovered level.
#[derive(Clone, Debug)]
pub struct Found {
    /// Its name for locks; none if all names are taken.
    pub name: Option<Level>,
    /// Its cohorts, by the indices of their CPUs.
    pub cohorts: Vec<Vec<usize>>,
    /// The median time of a hand-over within it; none if no pair could be measured.
    pub nanoseconds: Option<f64>,
    /// Whether the machine reports the same cohorts.
    pub is_told: bool,
    /// Whether it is kept because the machine reports it, and scattered times do not contradict it.
    pub is_kept: bool,
}

/// Level reported by the machine and contradicted by the measurement.
#[derive(Clone, Debug)]
pub struct Denied {
    /// The machine's name for it.
    pub name: String,
    /// Its reported number of cohorts.
    pub cohorts: usize,
    /// Duration of a hand-over between these cohorts, relative to one within them.
    pub ratio: f64,
}

/// Result of a discovery.
#[derive(Clone, Debug)]
pub struct Discovery {
    /// The machine.
    pub on: String,
    /// Whether it is simulated.
    pub simulated: bool,
    /// Its CPUs; everything else uses their indices here.
    pub cpus: Vec<usize>,
    /// The times.
    pub map: Map,
    /// Levels, smallest cohorts first, without the whole system.
    pub levels: Vec<Found>,
    /// The median time of a hand-over between CPUs without a smaller common cohort.
    pub system: Option<f64>,
    /// Levels reported by the machine and contradicted by the measurement.
    pub denied: Vec<Denied>,
    /// Cohorts of levels found in only one of two measurements of this machine: other processes
    /// were busy, or virtual CPUs moved.
    pub unsteady: usize,
    /// Pairs that could not be measured without disturbance.
    pub left_out: Vec<Pair>,
}

/// Measures a simulated machine; `full` measures every pair. Blocks.
///
/// # Errors
/// A run failed, or a signal arrived.
pub fn there(
    simulator: &Arc<Simulator>,
    full: bool,
    progress: &mut dyn Observer,
) -> Result<Discovery, Stop> {
    let topology = simulator.topology();
    let mut map = Map::new(topology.cpus().len());
    let found = cluster::levels(&mut map, full, &mut |pairs: &[Pair]| {
        simulated::measure(simulator, pairs, progress)
    })?;
    let on = simulator.machine().name.clone();
    Ok(Discovery::new(on, true, topology, map, found))
}

/// Measures the CPUs of this machine that this process may use, twice: a level counts if both
/// measurements find it. Blocks.
///
/// # Errors
/// A thread cannot be pinned, or a signal arrived.
pub fn here(topology: &Topology, full: bool, progress: &mut Progress) -> Result<Discovery, Stop> {
    let mut bench = native::Bench::new(topology).map_err(Stop::Failed)?;
    let cpus = topology.cpus().len();
    let mut look = |map: &mut Map| {
        cluster::levels(map, full, &mut |pairs: &[Pair]| {
            bench.measure(pairs, progress)
        })
    };
    let (mut first, mut second) = (Map::new(cpus), Map::new(cpus));
    let looks = [look(&mut first)?, look(&mut second)?];
    let mut map = first.and(&second);
    let mut found = look(&mut map)?;
    let before = found.len();
    let system = found.pop();
    found.retain(|level| {
        looks
            .iter()
            .all(|look| look.iter().any(|l| is_alike(l, level)))
    });
    let steady = found.len() + usize::from(system.is_some());
    found.extend(system);
    let mut left_out = std::mem::take(&mut bench.left_out);
    left_out.sort_unstable();
    left_out.dedup();
    let mut discovery = Discovery::new("this machine".to_owned(), false, topology, map, found);
    discovery.unsteady = before - steady;
    discovery.left_out = left_out;
    Ok(discovery)
}

/// Whether at least nineteen in twenty CPUs are in the same cohorts.
fn is_alike(one: &cluster::Level, other: &cluster::Level) -> bool {
    let same = |cohort: &&Vec<usize>| other.cohorts.contains(cohort);
    let cpus =
        |cohorts: &mut dyn Iterator<Item = &Vec<usize>>| -> usize { cohorts.map(Vec::len).sum() };
    let all = cpus(&mut one.cohorts.iter());
    20 * cpus(&mut one.cohorts.iter().filter(same)) >= 19 * all
}

impl Discovery {
    fn new(
        on: String,
        simulated: bool,
        topology: &Topology,
        map: Map,
        mut found: Vec<cluster::Level>,
    ) -> Self {
        let cpus = topology.cpus().to_vec();
        let system = found.pop().map(|level| level.nanoseconds);
        let system = system.filter(|time| time.is_finite());
        let told: Vec<(String, Vec<Vec<usize>>)> = told(topology);
        let of = |level: Level| {
            let named = told.iter().find(|(name, _)| name == level.name());
            named.map(|(_, cohorts)| cohorts.clone())
        };
        let names = names::names(&found, &of);
        let is_told = |cohorts: &Vec<Vec<usize>>| told.iter().any(|(_, told)| told == cohorts);
        let mut levels: Vec<Found> = found
            .into_iter()
            .zip(names)
            .map(|(level, name)| Found {
                name,
                is_told: is_told(&level.cohorts),
                is_kept: false,
                cohorts: level.cohorts,
                nanoseconds: Some(level.nanoseconds),
            })
            .collect();
        let mut denied = Vec::new();
        for (name, cohorts) in told {
            if levels.iter().any(|level| level.cohorts == cohorts) {
                continue;
            }
            match deny(&map, &cohorts) {
                Some(ratio) => denied.push(Denied {
                    name,
                    cohorts: cohorts.len(),
                    ratio,
                }),
                None => keep(&mut levels, &map, &name, cohorts),
            }
        }
        Self {
            on,
            simulated,
            cpus,
            map,
            levels,
            system,
            denied,
            unsteady: 0,
            left_out: Vec::new(),
        }
    }

    /// The indices of the CPUs in the order of their cohorts.
    #[must_use]
    pub fn order(&self) -> Vec<usize> {
        Shape::of(self).order()
    }

    /// Duration of a hand-over across the whole system, relative to one within the cohorts of that
    /// level; none without such a level.
    #[must_use]
    pub fn nearer(&self, level: &str) -> Option<f64> {
        let name = |found: &&Found| found.name.is_some_and(|name| name.name() == level);
        let within = self.levels.iter().find(name)?.nanoseconds?;
        Some(self.system? / within)
    }

    /// The cohorts file for locks.
    #[must_use]
    pub fn cohorts(&self) -> String {
        let mut text = format!(
            "# {} of {}, by cohort discover\n",
            counted(self.cpus.len()),
            self.on
        );
        if self.levels.is_empty() {
            text += "# no level below the whole system\n";
        }
        for level in &self.levels {
            let Some(name) = level.name else {
                let _ = writeln!(
                    text,
                    "# an unnamed level: {} cohorts{}",
                    level.cohorts.len(),
                    level.time()
                );
                continue;
            };
            let _ = writeln!(
                text,
                "# {}: {} cohorts{}",
                name.name(),
                level.cohorts.len(),
                level.time()
            );
            for cohort in &level.cohorts {
                let cpus: Vec<usize> = cohort.iter().map(|place| self.cpus[*place]).collect();
                let _ = writeln!(text, "{} {}", name.name(), list(&cpus));
            }
        }
        if let Some(system) = self.system {
            let _ = writeln!(text, "# system: {system:.1} ns per hand-over");
        }
        text
    }
}

impl Found {
    /// Its hand-over time as a suffix; empty if unknown.
    fn time(&self) -> String {
        let time = self.nanoseconds;
        time.map_or_else(String::new, |time| format!(", {time:.1} ns per hand-over"))
    }
}

/// The number of CPUs, in words.
#[must_use]
pub fn counted(cpus: usize) -> String {
    let noun = if cpus == 1 { "CPU" } else { "CPUs" };
    format!("{cpus} {noun}")
}

/// The levels reported by a machine, without trivial ones.
fn told(topology: &Topology) -> Vec<(String, Vec<Vec<usize>>)> {
    let levels = topology.levels().iter().enumerate();
    let levels = levels.filter(|(number, _)| topology.cohorts(*number) > 1);
    let cohorts = |number: usize| {
        let mut cohorts = vec![Vec::new(); topology.cohorts(number)];
        for (place, cpu) in topology.cpus().iter().enumerate() {
            if let Some(cohort) = topology.cohort_of(*cpu, number) {
                cohorts[cohort].push(place);
            }
        }
        cohorts.sort();
        cohorts
    };
    levels
        .map(|(number, level)| (level.name.clone(), cohorts(number)))
        .collect()
}

/// Duration of hand-overs between these cohorts relative to one within them, if too small for a
/// level beyond the spread of the times.
fn deny(map: &Map, cohorts: &[Vec<usize>]) -> Option<f64> {
    let mut of = vec![0; map.cpus()];
    for (number, cohort) in cohorts.iter().enumerate() {
        cohort.iter().for_each(|place| of[*place] = number);
    }
    let (mut within, mut between) = (Vec::new(), Vec::new());
    for one in 0..map.cpus() {
        for other in one + 1..map.cpus() {
            if let Some(time) = map.get((one, other)) {
                if of[one] == of[other] {
                    within.push(time);
                } else {
                    between.push(time);
                }
            }
        }
    }
    within.sort_by(f64::total_cmp);
    let (inside, outside) = (median(&within)?, median(&between)?);
    let quarter = |share: usize| within[(within.len() - 1) * share / 4];
    let spread = (quarter(3) - quarter(1)) / inside;
    let ratio = outside / inside;
    (ratio * (1.0 + spread) < cluster::APART).then_some(ratio)
}

/// Keeps a reported level that no measurement contradicts, if it nests.
fn keep(levels: &mut Vec<Found>, map: &Map, name: &str, cohorts: Vec<Vec<usize>>) {
    let Some(name) = Level::named(name).filter(|level| level.is_reported()) else {
        return;
    };
    let is_inside = |small: &[Vec<usize>], large: &[Vec<usize>]| {
        small.iter().all(|small| {
            large
                .iter()
                .any(|large| small.iter().all(|place| large.contains(place)))
        })
    };
    let at = levels
        .iter()
        .take_while(|level| is_inside(&level.cohorts, &cohorts))
        .count();
    let fits = levels[at..]
        .iter()
        .all(|level| is_inside(&cohorts, &level.cohorts));
    let rank = |level: &Found| level.name.map_or(usize::MAX, |name| name as usize);
    let free = levels[..at].iter().all(|level| rank(level) < name as usize)
        && levels[at..].iter().all(|level| rank(level) > name as usize);
    if !fits || !free {
        return;
    }
    let within = cohorts.iter().flat_map(|cohort| {
        let after = |(at, one): (usize, &usize)| {
            let one = *one;
            cohort[at + 1..]
                .iter()
                .map(move |other| (one, *other))
                .collect::<Vec<_>>()
        };
        cohort
            .iter()
            .enumerate()
            .flat_map(after)
            .collect::<Vec<_>>()
    });
    let times: Vec<f64> = within.filter_map(|pair| map.get(pair)).collect();
    levels.insert(
        at,
        Found {
            name: Some(name),
            cohorts,
            nanoseconds: median(&times),
            is_told: true,
            is_kept: true,
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use cohort_machine::description::{Machine, shipped};

    fn look(machine: Machine) -> Discovery {
        let simulator = Arc::new(Simulator::new(machine));
        there(&simulator, false, &mut Progress::new(0, false)).unwrap()
    }

    /// The discovery reproduces the machine's own file, and the written file can be parsed.
    #[test]
    fn a_file_made_of_what_was_found_is_found_again() {
        let machine = shipped::find("ivy-bridge-2s").unwrap();
        let found = look(machine.clone());
        assert!(found.levels.iter().all(|level| level.is_told));
        assert!(found.denied.is_empty());
        let like = shipped::find("haswell-ep-2s").unwrap();
        let text = file::text(&found, "mine", &like).unwrap();
        let again = look(Machine::parse(&text).unwrap());
        let cohorts = |found: &Discovery| -> Vec<Vec<Vec<usize>>> {
            found
                .levels
                .iter()
                .map(|level| level.cohorts.clone())
                .collect()
        };
        assert_eq!(cohorts(&found), cohorts(&again));
        let times = |found: &Discovery| -> Vec<f64> {
            let times = found.levels.iter().filter_map(|level| level.nanoseconds);
            times.chain(found.system).collect()
        };
        for (was, is) in times(&found).into_iter().zip(times(&again)) {
            assert!((is / was - 1.0).abs() < 0.05, "{was} became {is}");
        }
    }

    #[test]
    fn locks_are_told_what_was_found() {
        let found = look(shipped::find("xeon-e7-4850x4").unwrap());
        assert!(found.nearer("numa").unwrap() > 1.0);
        assert_eq!(found.nearer("cache"), None);
        let mut cpus = Vec::new();
        let text = found.cohorts();
        cohort::door::cohorts::read(&text, &mut |level, cohort, cpu| {
            cpus.push((level.name(), cohort, cpu));
        })
        .unwrap();
        assert_eq!(cpus.len(), 40, "{text}");
        assert_eq!(cpus[10], ("numa", 1, 10));
        assert!(text.contains("numa 10-19"), "{text}");
    }

    #[test]
    fn what_the_machine_tells_stands_unless_it_is_denied() {
        let halves = vec![vec![0, 1], vec![2, 3]];
        let map = |between: f64, last: f64| {
            let mut map = Map::new(4);
            for one in 0..4 {
                for other in one + 1..4 {
                    let time = if one / 2 == other / 2 { 100.0 } else { between };
                    map.add((one, other), Some(time));
                }
            }
            map.add((2, 3), Some(last));
            map
        };
        assert_eq!(deny(&map(105.0, 100.0), &halves), Some(1.05));
        assert_eq!(deny(&map(200.0, 100.0), &halves), None);
        assert_eq!(deny(&Map::new(4), &halves), None);
        let mut levels = Vec::new();
        keep(&mut levels, &Map::new(4), "numa", halves.clone());
        assert_eq!(levels.len(), 1);
        keep(
            &mut levels,
            &Map::new(4),
            "core",
            vec![vec![0, 2], vec![1, 3]],
        );
        assert_eq!(levels.len(), 1, "it does not nest");
    }

    #[test]
    fn lists_are_as_the_kernel_writes_them() {
        assert_eq!(list(&[0, 1, 2, 48, 50, 51]), "0-2,48,50-51");
        assert_eq!(list(&[]), "");
    }
}
