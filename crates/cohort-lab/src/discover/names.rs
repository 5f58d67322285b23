//! What found levels are called, so that locks can be told of them.
//!
//! Locks know `core`, `cache`, `numa` and `package`.  A level that the machine tells of too
//! keeps its name; others take the names that are left, in order: the one that suits best is
//! that by which compositions look for a level of that kind.

use super::cluster;
use cohort::recipe::Level;

/// Names by how early compositions use them (Chehab et al. 2021 §5.2.1).
const EARLY: [Level; 4] = [Level::Numa, Level::CacheGroup, Level::Core, Level::Package];

/// The names of these levels, smallest cohorts first; none for those for which none is left.
/// `told` says which cohorts the machine tells of under a name, or nothing.
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
    // The nearest levels matter most where there are too many: the farthest go without.
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
        // A blade takes what the machine leaves idle.
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
