//! The cohorts of a simulated machine for which a lock has room.

use super::Simulator;
use crate::names::levels_on;
use cohort::catalogue;
use cohort::compose::cohorting;
use cohort::name::{Build, Lock, Name};
use cohort::recipe::{Basic, Level};
use cohort_on_machine::compose::generated;
use cohort_on_machine::door::{
    self, QUEUE_GROUPS, QUEUE_NODES, inner_places, leaf_places, node_places,
};
use std::fmt;

/// More cohorts of a level than a lock has room for: some would share a queue, unlike on a real
/// machine of that size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crowded {
    lock: String,
    level: Level,
    cohorts: usize,
    room: usize,
}

impl fmt::Display for Crowded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            lock,
            level,
            cohorts,
            room,
        } = self;
        let level = level.name();
        write!(
            f,
            "the level `{level}` has {cohorts} cohorts, and `{lock}` has room for {room}; use "
        )?;
        match catalogue::find_shared(lock) {
            Some(_) => f.write_str("the lock `rwlock`"),
            None => write!(f, "hmcs-2@{level},system, or a lock without this level"),
        }
    }
}

impl Simulator {
    /// The first level with more cohorts than the lock of that name has room for; with these
    /// cohorts instead of the machine's, as in [`Settings`](super::Settings).
    #[must_use]
    pub fn crowded(&self, lock: &str, given: &[(String, Vec<usize>)]) -> Option<Crowded> {
        let crowded = |(level, room)| {
            let cohorts = self.cohorts_of(level, given);
            let lock = lock.to_owned();
            (cohorts > room).then_some(Crowded {
                lock,
                level,
                cohorts,
                room,
            })
        };
        self.rooms(lock, given).into_iter().find_map(crowded)
    }

    /// Whether one of these levels has more cohorts than a compiled composition has room for.
    pub(super) fn exceeds_compiled(
        &self,
        levels: &[Level],
        given: &[(String, Vec<usize>)],
    ) -> bool {
        let mut cohorts = levels.iter().map(|level| self.cohorts_of(*level, given));
        cohorts.any(|cohorts| cohorts > generated::COHORTS)
    }

    /// The number of cohorts that locks see at a level.
    fn cohorts_of(&self, level: Level, given: &[(String, Vec<usize>)]) -> usize {
        let names = door::levels(level);
        let given = names
            .iter()
            .find_map(|name| given.iter().find(|(level, _)| level == name));
        if let Some((_, cohorts)) = given {
            return cohorts.iter().max().map_or(1, |last| last + 1);
        }
        let hierarchy = &self.machine.hierarchy;
        let level = names.iter().find_map(|name| hierarchy.level(name));
        level.map_or(1, |level| hierarchy.levels()[level].cohorts)
    }

    /// The levels of that lock, each with the number of cohorts that have a place of their own.
    fn rooms(&self, lock: &str, given: &[(String, Vec<usize>)]) -> Vec<(Level, usize)> {
        if let Some(shared) = catalogue::find_shared(lock) {
            return of_listed(shared.name);
        }
        if let Some(Ok(delegate)) = catalogue::read_delegate(lock) {
            return of_listed(delegate.info.name);
        }
        let Ok(name) = catalogue::read(lock) else {
            return Vec::new();
        };
        match name.lock {
            Lock::System | Lock::Best { .. } => Vec::new(),
            Lock::Listed { name, .. } => of_listed(name),
            Lock::Tree(tree) => of_tree(&name.levels.unwrap_or_else(|| tree.usual_levels())),
            Lock::Composed(locks) => self.of_composition(&name, &locks, given),
        }
    }

    fn of_composition(
        &self,
        name: &Name<'_>,
        locks: &[Basic],
        given: &[(String, Vec<usize>)],
    ) -> Vec<(Level, usize)> {
        let levels = levels_on(name, &self.topology);
        let is_compiled = match name.build {
            Some(build) => build == Build::Compiled,
            None => name.abortable || !self.exceeds_compiled(&levels, given),
        };
        if is_compiled || !Basic::are_stackable(locks) {
            let room = |level| (level, generated::COHORTS);
            levels.into_iter().map(room).collect()
        } else {
            of_tree(&levels)
        }
    }
}

/// The places of a tree with these levels, smallest cohort first.
fn of_tree(levels: &[Level]) -> Vec<(Level, usize)> {
    let inner = inner_places(1) / levels.len().saturating_sub(1).max(1);
    let places = |(at, level): (usize, &Level)| match at {
        0 => (*level, leaf_places(1)),
        _ => (*level, inner),
    };
    levels.iter().enumerate().map(places).collect()
}

/// The places of the catalogue's lock of that printed name.
fn of_listed(name: &str) -> Vec<(Level, usize)> {
    if let Some(levels) = levels_of_listed(name) {
        return of_tree(&levels);
    }
    if is_cohort_lock(name) {
        return vec![(Level::Numa, node_places(0))];
    }
    match name {
        "futex-hmcs" => vec![
            (Level::CacheGroup, QUEUE_GROUPS),
            (Level::Numa, QUEUE_NODES),
        ],
        "fc-mcs" | "fc-mcs-published" | "hclh" => vec![(Level::Numa, node_places(0))],
        "near" | "sanl" | "h-synch" => vec![(Level::Numa, door::NODES)],
        "sanl+" => vec![(Level::Numa, OF_SANL_PLUS)],
        "c-rw-np" | "c-rw-wp" => vec![
            (Level::CacheGroup, OF_READERS),
            (Level::Numa, node_places(0)),
        ],
        _ => Vec::new(),
    }
}

/// The places of `sanl+` for its batches.
const OF_SANL_PLUS: usize = 16;

/// The places of a cohort rwlock for its readers.
const OF_READERS: usize = 32;

/// Whether it is one low lock for each NUMA node below one high lock.
fn is_cohort_lock(name: &str) -> bool {
    cohorting::is_listed(name)
}

/// The levels of the catalogue's tree of that name, which one of its other names spells out.
fn levels_of_listed(name: &str) -> Option<Vec<Level>> {
    let (_, levels) = catalogue::find(name)?
        .aliases
        .iter()
        .find_map(|alias| alias.split_once('@'))?;
    // The last one is the system's.
    Some(levels.split(',').filter_map(Level::named).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use cohort_machine::description::{Machine, shipped};

    /// A machine with so many NUMA nodes of two cores of two threads.
    fn with_nodes(nodes: usize) -> Simulator {
        let mut machine = shipped::find("haswell-ep-2s").unwrap();
        let notation = format!("package:{nodes} numa:1 core:2 pu:2");
        machine.links.clear();
        machine.hierarchy = cohort_machine::description::Hierarchy::parse(&notation).unwrap();
        Simulator::new(machine)
    }

    #[test]
    fn shipped_machines_have_no_more_cohorts_than_the_catalogue_has_room_for() {
        for file in shipped::all() {
            let simulator = Simulator::new(Machine::parse(file.text).unwrap());
            for lock in catalogue::LOCKS {
                assert_eq!(simulator.crowded(lock.name, &[]), None, "{}", file.name);
            }
        }
    }

    #[test]
    fn locks_of_few_places_are_refused_on_machines_with_more_nodes() {
        let (large, largest) = (with_nodes(64), with_nodes(65));
        for lock in ["c-mcs-mcs", "c-tkt-tkt/7", "a-c-bo-clh", "fc-mcs", "hclh"] {
            let why = largest.crowded(lock, &[]).expect(lock).to_string();
            assert!(why.contains("`numa` has 65 cohorts"), "{why}");
            assert!(why.contains(&format!("`{lock}` has room for 64")), "{why}");
            assert!(why.contains("use hmcs-2@numa,system"), "{why}");
        }
        let why = largest.crowded("c-rw-np", &[]).unwrap().to_string();
        assert!(why.contains("`cache` has 65 cohorts"), "{why}");
        assert!(why.contains("use the lock `rwlock`"), "{why}");
        for lock in [
            "c-mcs-mcs",
            "a-c-bo-clh",
            "clof:mcs-clh@numa,system/abortable",
        ] {
            assert_eq!(large.crowded(lock, &[]), None);
        }
        assert!(large.crowded("futex-hmcs", &[]).is_some());
    }

    #[test]
    fn compositions_beyond_the_compiled_ones_room_are_built_at_run_time() {
        let machine = with_nodes(1024);
        for lock in [
            "clof:mcs-mcs@numa,system",
            "clof:mcs-mcs-mcs@core,numa,system",
            "hmcs-3",
        ] {
            assert_eq!(machine.crowded(lock, &[]), None, "{lock}");
        }
        for lock in [
            "clof:mcs-mcs@numa,system/compiled",
            "clof:mcs-near@numa,system",
        ] {
            assert!(machine.crowded(lock, &[]).is_some(), "{lock}");
        }
    }

    #[test]
    fn given_cohorts_count_instead_of_the_machine_s() {
        let machine = with_nodes(2);
        let given = vec![("numa".to_owned(), (0..8).map(|cpu| 10 * cpu).collect())];
        assert_eq!(machine.crowded("c-mcs-mcs", &[]), None);
        let why = machine.crowded("c-mcs-mcs", &given).unwrap().to_string();
        assert!(why.contains("has 71 cohorts"), "{why}");
    }
}
