//! The CPUs of a machine, and their cohorts.

/// CPUs, and the cohorts of each level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    cpus: Vec<usize>,
    levels: Vec<Level>,
}

/// A level of the hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level {
    /// `core`, `numa`, …, `system`.
    pub name: String,
    /// Each CPU's cohort, by the CPU's index in [`Topology::cpus`].
    cohorts: Vec<usize>,
}

impl Topology {
    /// These CPUs, with the cohort of each at each level, smallest cohort first. Omits levels with
    /// the same cohorts as the level below.
    #[must_use]
    pub fn new(cpus: Vec<usize>, levels: Vec<(String, Vec<usize>)>) -> Self {
        let mut kept: Vec<Level> = Vec::new();
        let alone: Vec<usize> = (0..cpus.len()).collect();
        for (name, cohorts) in levels {
            let cohorts = numbered(&cohorts);
            let below = kept.last().map_or(&alone, |level| &level.cohorts);
            if cohorts != *below {
                kept.push(Level { name, cohorts });
            }
        }
        Self { cpus, levels: kept }
    }

    /// The CPUs, in ascending order.
    #[must_use]
    pub fn cpus(&self) -> &[usize] {
        &self.cpus
    }

    /// The levels, smallest cohort first.
    #[must_use]
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// The smallest level at which two CPUs are in one cohort; none for the same CPU, or an unknown
    /// one.
    #[must_use]
    pub fn nearest_common(&self, one: usize, other: usize) -> Option<usize> {
        let (one, other) = (self.place(one)?, self.place(other)?);
        if one == other {
            return None;
        }
        self.levels
            .iter()
            .position(|level| level.cohorts[one] == level.cohorts[other])
    }

    /// The number of a CPU's cohort at a level; none for an unknown CPU.
    #[must_use]
    pub fn cohort_of(&self, cpu: usize, level: usize) -> Option<usize> {
        Some(self.levels[level].cohorts[self.place(cpu)?])
    }

    /// The number of cohorts of a level.
    #[must_use]
    pub fn cohorts(&self, level: usize) -> usize {
        let greatest = self.levels[level].cohorts.iter().max();
        greatest.map_or(0, |greatest| greatest + 1)
    }

    fn place(&self, cpu: usize) -> Option<usize> {
        self.cpus.binary_search(&cpu).ok()
    }
}

/// The groups, renumbered from 0 in order of appearance.
fn numbered(groups: &[usize]) -> Vec<usize> {
    let mut seen = Vec::new();
    groups
        .iter()
        .map(|group| {
            seen.iter()
                .position(|known| known == group)
                .unwrap_or_else(|| {
                    seen.push(*group);
                    seen.len() - 1
                })
        })
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
                ("package".to_owned(), by(|cpu| 7 + cpu % 4 / 2)),
                ("system".to_owned(), by(|_| 0)),
            ],
        )
    }

    #[test]
    fn levels_that_add_nothing_are_left_out() {
        let machine = machine();
        let names: Vec<&str> = machine.levels().iter().map(|l| l.name.as_str()).collect();
        assert_eq!(names, ["core", "numa", "system"]);
        assert_eq!(machine.cohorts(0), 4);
        assert_eq!(machine.cohorts(2), 1);
    }

    #[test]
    fn the_nearest_common_level_is_the_smallest() {
        let machine = machine();
        assert_eq!(machine.nearest_common(0, 4), Some(0));
        assert_eq!(machine.nearest_common(0, 5), Some(1));
        assert_eq!(machine.nearest_common(0, 6), Some(2));
        assert_eq!(machine.nearest_common(3, 3), None);
        assert_eq!(machine.nearest_common(0, 99), None);
    }
}
