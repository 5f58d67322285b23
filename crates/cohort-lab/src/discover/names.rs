//! Names for discovered levels, so that locks can use them.
//!
//! Locks know `core`, `cache`, `numa` and `package`. A level that the machine reports too keeps its
//! name; the others take the remaining names in order. The best name for a level is the name by
//! which compositions use such a level.

use super::cluster;
use cohort::recipe::Level;

/// Names in the order in which compositions use them (Chehab et al. 2021 §5.2.1).
const EARLY: [Level; 4] = [Level::Numa, Level::CacheGroup, Level::Core, Level::Package];

/// The names of these levels, smallest cohorts first; none for levels without a name left. `told`
/// returns the cohorts that the machine reports under a name.
#[must_use]
pub fn names(
    found: &[cluster::Level],
    told: &dyn Fn(Level) -> Option<Vec<Vec<usize>>>,
) -> Vec<Option<Level>> {
    let told: Vec<Option<Vec<Vec<usize>>>> = Level::REPORTED.map(told).into();
    let is_told = |level: &cluster::Level, name: usize| {
        told[name]
            .as_ref()
            .is_some_and(|cohorts| *cohorts == level.cohorts)
    };
    // With too many levels, the nearest matter most: the farthest remain unnamed.
    let named = found.len().min(Level::REPORTED.len());
    let worth = |names: &[usize]| -> (usize, usize) {
        let pairs = || names.iter().zip(found);
        let agree = pairs()
            .filter(|(name, level)| is_told(level, **name))
            .count();
        let early = |name: &usize| EARLY.iter().position(|level| *level as usize == *name);
        let late: usize = names.iter().filter_map(early).sum();
        (agree, usize::MAX - late)
    };
    let all = 1_usize << Level::REPORTED.len();
    let choices = (0..all).map(|set| {
        (0..Level::REPORTED.len())
            .filter(|name| set >> name & 1 == 1)
            .collect::<Vec<usize>>()
    });
    let choices = choices.filter(|names| names.len() == named);
    let best = choices.max_by_key(|names| worth(names)).unwrap_or_default();
    (0..found.len())
        .map(|at| best.get(at).map(|name| Level::REPORTED[*name]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(sizes: &[usize]) -> Vec<cluster::Level> {
        let level = |size: &usize| cluster::Level {
            cohorts: cohorts(*size),
            nanoseconds: *size as f64,
        };
        sizes.iter().map(level).collect()
    }

    fn cohorts(size: usize) -> Vec<Vec<usize>> {
        (0..64 / size)
            .map(|at| (at * size..(at + 1) * size).collect())
            .collect()
    }

    fn text(names: &[Option<Level>]) -> String {
        let names = names.iter().map(|name| name.map_or("-", Level::name));
        names.collect::<Vec<_>>().join(",")
    }

    #[test]
    fn what_the_machine_tells_of_keeps_its_name() {
        let told = |level: Level| match level {
            Level::Core => Some(cohorts(2)),
            Level::Numa | Level::Package => Some(cohorts(16)),
            Level::CacheGroup | Level::Blade => None,
        };
        let name = |sizes: &[usize]| text(&names(&found(sizes), &told));
        assert_eq!(name(&[2, 16]), "core,numa");
        assert_eq!(name(&[2, 4, 16]), "core,cache,numa");
        // A blade takes a name that the machine does not use.
        assert_eq!(name(&[2, 16, 32]), "core,numa,package");
        assert_eq!(name(&[2, 4, 8, 16, 32]), "core,cache,numa,package,-");
    }

    #[test]
    fn where_nothing_is_told_names_come_in_the_order_of_use() {
        let name = |sizes: &[usize]| text(&names(&found(sizes), &|_| None));
        assert_eq!(name(&[]), "");
        assert_eq!(name(&[8]), "numa");
        assert_eq!(name(&[4, 8]), "cache,numa");
        assert_eq!(name(&[2, 4, 8]), "core,cache,numa");
        assert_eq!(name(&[2, 4, 8, 16]), "core,cache,numa,package");
    }
}
