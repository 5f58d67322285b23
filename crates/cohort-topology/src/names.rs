//! Machine-dependent parts of a lock's name: the levels of a composition, and assigned cohorts.

use super::Topology;
use cohort::name::{Assignment, Build, Lock, Mistake, Name, SYSTEM};
use cohort::recipe::{Bound, Level, Levels};

/// The name as it serves an unchanged program on that machine, with all defaults filled in.
///
/// # Errors
/// The name is for measurements only.
pub fn served_on<'a>(name: &Name<'a>, topology: &Topology) -> Result<Name<'a>, Mistake<'a>> {
    let mut whole = *name;
    if let Lock::Composed(_) = name.lock {
        whole.levels = Levels::of(&levels_on(name, topology));
        whole.bound = name.bound.or(Some(Bound::USUAL));
        whole.build = name.build.filter(|build| *build == Build::Compiled);
    }
    whole.told()?;
    whole.servable().map(|_| whole)
}

/// The levels of a composition's low locks on a machine: the node first, which matters everywhere,
/// then smaller levels, then the package (Chehab et al. 2021 §5.2.1). Levels that the machine has
/// precede the others.
#[must_use]
pub fn levels_on(name: &Name<'_>, topology: &Topology) -> Vec<Level> {
    if let Some(levels) = name.levels {
        return levels.to_vec();
    }
    let Some(locks) = name.locks() else {
        return Vec::new();
    };
    let mut wanted = [Level::Numa, Level::CacheGroup, Level::Core, Level::Package];
    let has = |level: Level| topology.levels().iter().any(|l| l.name == level.name());
    wanted.sort_by_key(|level| !has(*level));
    let mut levels = wanted[..locks.len() - 1].to_vec();
    levels.sort_by_key(|level| *level as usize);
    levels
}

/// The composition found for a machine, which may be named behind it.
const BEST: &str = "clof:best";

/// Rejoins the names of a comma-separated list: the commas between the levels of one lock, which
/// end with the system's, do not separate names.
#[must_use]
pub fn rejoined(pieces: &[String]) -> Vec<String> {
    // Even after an unknown level, so that its error names it.
    let goes_on = |name: &String| match name.split_once('@') {
        // A machine is no level.
        None | Some((BEST, _)) => false,
        Some((_, levels)) => !levels.contains(SYSTEM),
    };
    let mut names: Vec<String> = Vec::new();
    for piece in pieces.iter().map(|piece| piece.trim()) {
        match names.last_mut().filter(|name| goes_on(name)) {
            Some(name) => *name = format!("{name},{piece}"),
            None => names.push(piece.to_owned()),
        }
    }
    names
}

/// The assigned cohort of each CPU, in as many cohorts as `real` has; `real` is the actual cohort
/// of each CPU.
#[must_use]
pub fn assigned(assignment: Assignment, real: &[usize], seed: u64) -> Vec<usize> {
    let count = real.iter().max().map_or(1, |last| last + 1);
    let mut state = seed;
    let mut random = move |below: usize| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) % below as u64) as usize
    };
    match assignment {
        Assignment::Random => real.iter().map(|_| random(count)).collect(),
        Assignment::Balanced => {
            let mut cohorts: Vec<usize> = (0..real.len()).map(|cpu| cpu % count).collect();
            for last in (1..cohorts.len()).rev() {
                cohorts.swap(last, random(last + 1));
            }
            cohorts
        }
        Assignment::Pathological => {
            let mut met = vec![0; count];
            real.iter()
                .map(|cohort| {
                    met[*cohort] += 1;
                    (met[*cohort] - 1) % count
                })
                .collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cohort::catalogue;

    #[test]
    fn a_program_is_told_what_was_asked_for() {
        let flat = Topology::new(vec![0], Vec::new());
        let told = |text| {
            let name = catalogue::read(text).unwrap();
            served_on(&name, &flat).map_or_else(|why| why.to_string(), |name| name.to_string())
        };
        for text in [
            "mcs",
            "system",
            "clof:mcs@system/128",
            "clof:ticket-mcs@numa,system/128",
            "clof:hemlock-clh-mcs-ticket@core,cache,numa,system/7/20us",
            "clof:mcs-near@package,system/1500ns/compiled",
            "clof:clh-bo@numa,system/128/abortable",
            "clof:k42-hemlock_ctr@numa,system/128",
            "c-tkt-tkt/7",
            "c-tkt-tkt/endless/adaptive",
            "a-c-bo-clh/20us",
            "hmcs-1",
            "hmcs-t-3/64/naive",
        ] {
            assert_eq!(told(text), text);
        }
        assert_eq!(
            told("clof:tkt-hem/stacked"),
            "clof:ticket-hemlock@numa,system/128"
        );
        for (text, word) in [
            ("clof:mcs-near", "/compiled"),
            ("clof:mcs-mcs/random", "--cohorts"),
            ("c-tkt-tkt/random", "--cohorts"),
            ("clof:mcs-mcs@blade,system", "blade"),
        ] {
            assert!(told(text).contains(word), "{text}: {}", told(text));
        }
    }

    #[test]
    fn an_unknown_level_stays_with_its_lock() {
        let pieces = ["clof:mcs-mcs@die", "cluster", "system", "mcs", "ticket"].map(str::to_owned);
        let names = ["clof:mcs-mcs@die,cluster,system", "mcs", "ticket"];
        assert_eq!(rejoined(&pieces), names);
    }

    #[test]
    fn levels_suit_the_machine() {
        let by = |names: &[&str]| {
            let levels = names.iter().enumerate().map(|(at, name)| {
                let cohorts = (0..64).map(|cpu: usize| cpu >> (at + 1)).collect();
                ((*name).to_owned(), cohorts)
            });
            Topology::new((0..64).collect(), levels.collect())
        };
        let names = |name: &str, topology: &Topology| {
            let levels = levels_on(&catalogue::read(name).unwrap(), topology);
            levels
                .iter()
                .map(|l| l.name())
                .collect::<Vec<_>>()
                .join(",")
        };
        let epyc = by(&["core", "cache", "numa", "system"]);
        assert_eq!(names("clof:mcs-mcs-mcs-mcs", &epyc), "core,cache,numa");
        assert_eq!(names("clof:mcs-mcs-mcs", &epyc), "cache,numa");
        let kunpeng = by(&["cache", "numa", "package", "system"]);
        assert_eq!(
            names("clof:mcs-mcs-mcs-mcs", &kunpeng),
            "cache,numa,package"
        );
        let small = by(&["core", "system"]);
        assert_eq!(names("clof:mcs-mcs", &small), "core");
        assert_eq!(names("clof:mcs", &small), "");
    }

    #[test]
    fn assignments_are_as_they_are_called() {
        let real: Vec<usize> = (0..32).map(|cpu| cpu / 8).collect();
        let sizes = |cohorts: &[usize]| {
            let count = |cohort| cohorts.iter().filter(|c| **c == cohort).count();
            [0, 1, 2, 3].map(count)
        };
        let balanced = assigned(Assignment::Balanced, &real, 1);
        assert_eq!(sizes(&balanced), [8; 4]);
        assert_ne!(balanced, real);
        let pathological = assigned(Assignment::Pathological, &real, 1);
        assert_eq!(sizes(&pathological), [8; 4]);
        assert_eq!(pathological[..4], [0, 1, 2, 3]);
        let random = |seed| assigned(Assignment::Random, &real, seed);
        assert!((1..9).all(|seed| random(seed).iter().all(|cohort| *cohort < 4)));
        // About one in seventy is balanced by chance.
        let balanced = (1..101).filter(|seed| sizes(&random(*seed)) == [8; 4]);
        let balanced = balanced.count();
        assert!(balanced < 10, "{balanced} of 100");
    }
}
