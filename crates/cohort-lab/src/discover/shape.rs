//! The shape of a machine, as a machine file can express it: levels of equal, nested cohorts.

use super::map::Pair;
use super::{Discovery, told};
use crate::world::Topology;
use cohort_machine::description::Numbering;
use std::fmt::Write;

/// CPUs, and levels of cohorts below the whole system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The CPUs' numbers; everything else uses their indices here.
    pub cpus: Vec<usize>,
    /// Names and cohorts, smallest cohorts first.
    pub levels: Vec<(String, Vec<Vec<usize>>)>,
}

impl Shape {
    /// The discovered shape.
    #[must_use]
    pub fn of(discovery: &Discovery) -> Self {
        let levels = discovery.levels.iter();
        Self {
            cpus: discovery.cpus.clone(),
            levels: levels
                .map(|level| (level.label().to_owned(), level.cohorts.clone()))
                .collect(),
        }
    }

    /// The shape that the machine reports.
    #[must_use]
    pub fn told(topology: &Topology) -> Self {
        Self {
            cpus: topology.cpus().to_vec(),
            levels: told(topology),
        }
    }

    /// The first level, from the largest cohorts, that a machine file cannot express.
    #[must_use]
    pub fn uneven(&self) -> Option<&str> {
        let mut outside = vec![(0..self.cpus.len()).collect::<Vec<usize>>()];
        for (name, cohorts) in self.levels.iter().rev() {
            if !is_even(cohorts, &outside) {
                return Some(name);
            }
            outside.clone_from(cohorts);
        }
        None
    }

    /// Leaves out levels that a machine file cannot express, and returns their names.
    pub fn even(&mut self) -> Vec<String> {
        let mut left_out = Vec::new();
        while let Some(name) = self.uneven().map(str::to_owned) {
            self.levels.retain(|(other, _)| *other != name);
            left_out.push(name);
        }
        left_out
    }

    /// hwloc's synthetic notation, largest cohort first.
    #[must_use]
    pub fn notation(&self) -> String {
        let mut notation = String::new();
        let mut outside = 1;
        for (name, cohorts) in self.levels.iter().rev() {
            let _ = write!(notation, "{name}:{} ", cohorts.len() / outside);
            outside = cohorts.len();
        }
        let _ = write!(notation, "pu:{}", self.cpus.len() / outside);
        notation
    }

    /// The indices of the CPUs in the order of their cohorts.
    #[must_use]
    pub fn order(&self) -> Vec<usize> {
        let path = |place: usize| -> Vec<usize> {
            let at = |(_, cohorts): &(String, Vec<Vec<usize>>)| {
                cohorts.iter().position(|cohort| cohort.contains(&place))
            };
            self.levels.iter().rev().filter_map(at).collect()
        };
        let mut order: Vec<usize> = (0..self.cpus.len()).collect();
        order.sort_by_cached_key(|place| (path(*place), *place));
        order
    }

    /// The assignment of CPU numbers to places.
    #[must_use]
    pub fn numbering(&self) -> Numbering {
        let order = self.order();
        if order.is_sorted() {
            Numbering::Consecutive
        } else {
            Numbering::Listed(order)
        }
    }

    /// At most `most` pairs of CPUs that share a cohort at the level with that index, and none at a
    /// lower level. The index after the last level stands for the whole system.
    #[must_use]
    pub fn pairs(&self, level: usize, most: usize) -> Vec<Pair> {
        let all = vec![(0..self.cpus.len()).collect::<Vec<usize>>()];
        let cohorts = self.levels.get(level).map_or(&all, |(_, cohorts)| cohorts);
        let inside = |place: usize| -> Option<&Vec<usize>> {
            let (_, cohorts) = self.levels.get(level.checked_sub(1)?)?;
            cohorts.iter().find(|cohort| cohort.contains(&place))
        };
        let mut pairs: Vec<Pair> = Vec::new();
        for number in 0..most {
            let cohort = &cohorts[number * cohorts.len() / most];
            let one = cohort[number * cohort.len() / most];
            let beyond = |other: &&usize| {
                **other != one && inside(one).is_none_or(|inside| !inside.contains(other))
            };
            let others: Vec<usize> = cohort.iter().filter(beyond).copied().collect();
            // The farthest in the list, then nearer ones.
            let Some(other) = others.get((others.len() * (most - number) / most).saturating_sub(1))
            else {
                continue;
            };
            let pair = (one.min(*other), one.max(*other));
            if !pairs.contains(&pair) {
                pairs.push(pair);
            }
        }
        pairs
    }

    /// The name of the level with that index.
    #[must_use]
    pub fn name(&self, level: usize) -> &str {
        let system = cohort::name::SYSTEM;
        self.levels.get(level).map_or(system, |(name, _)| name)
    }
}

/// Whether all cohorts have one size, and lie in equal numbers within larger ones.
fn is_even(cohorts: &[Vec<usize>], outside: &[Vec<usize>]) -> bool {
    let size = cohorts.first().map_or(0, Vec::len);
    cohorts.iter().all(|cohort| cohort.len() == size)
        && cohorts.len() > outside.len()
        && cohorts.len().is_multiple_of(outside.len())
        && cohorts.iter().all(|cohort| {
            let holds = |outer: &&Vec<usize>| cohort.iter().all(|place| outer.contains(place));
            outside.iter().any(|outer| holds(&outer))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two nodes of two cores with two hardware threads; CPU n and n + 4 share a core.
    fn machine() -> Shape {
        let by = |of: fn(usize) -> usize, count: usize| -> Vec<Vec<usize>> {
            (0..count)
                .map(|cohort| (0..8).filter(|cpu| of(*cpu) == cohort).collect())
                .collect()
        };
        Shape {
            cpus: (0..8).collect(),
            levels: vec![
                ("core".to_owned(), by(|cpu| cpu % 4, 4)),
                ("numa".to_owned(), by(|cpu| cpu % 4 / 2, 2)),
            ],
        }
    }

    #[test]
    fn a_shape_has_its_notation_and_order() {
        let mut shape = machine();
        assert_eq!(shape.uneven(), None);
        assert_eq!(shape.notation(), "numa:2 core:2 pu:2");
        let listed = Numbering::Listed(vec![0, 4, 1, 5, 2, 6, 3, 7]);
        assert_eq!(shape.numbering(), listed);
        assert!(shape.even().is_empty());
        let one = Shape {
            cpus: vec![5],
            levels: Vec::new(),
        };
        assert_eq!(one.notation(), "pu:1");
        assert_eq!(one.numbering(), Numbering::Consecutive);
        assert!(one.pairs(0, 3).is_empty());
    }

    #[test]
    fn each_distance_has_pairs_of_its_own() {
        let shape = machine();
        assert_eq!(shape.pairs(0, 2), [(0, 4), (2, 6)]);
        for pair in shape.pairs(1, 3) {
            assert!(
                [(0, 5), (0, 1), (2, 3), (3, 6), (2, 7)].contains(&pair),
                "{pair:?}"
            );
        }
        for (one, other) in shape.pairs(2, 3) {
            assert_ne!(one % 4 / 2, other % 4 / 2, "{one} {other}");
        }
    }

    #[test]
    fn uneven_levels_are_left_out_and_named() {
        // A mask of three CPUs: one core has both threads, the other one.
        let mut shape = Shape {
            cpus: vec![0, 1, 4],
            levels: vec![
                ("core".to_owned(), vec![vec![0, 2], vec![1]]),
                ("cache".to_owned(), vec![vec![0], vec![1], vec![2]]),
            ],
        };
        assert_eq!(shape.even(), ["core"]);
        assert_eq!(shape.notation(), "cache:3 pu:1");
        // Cohorts that cross larger ones do not nest.
        let mut shape = machine();
        shape.levels[0].1 = vec![vec![0, 2], vec![1, 3], vec![4, 6], vec![5, 7]];
        assert_eq!(shape.even(), ["core"]);
    }
}
