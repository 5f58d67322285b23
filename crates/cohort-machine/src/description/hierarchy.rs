//! CPUs and their cohorts.

use super::nearest;

/// A level of the hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level {
    /// `core`, `cache`, `numa`, `package`, `blade`, `system`, …
    pub name: String,
    /// The number of cohorts at this level.
    pub cohorts: usize,
    /// The number of CPUs in each.
    pub cpus: usize,
}

/// The assignment of CPU numbers to places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Numbering {
    /// CPU n is in the n-th place; the hardware threads of a core are consecutive.
    Consecutive,
    /// First one hardware thread of each core, then the next one of each.
    ThreadsApart,
    /// The CPU in each place, place by place.
    Listed(Vec<usize>),
}

/// The CPUs of a machine and their cohorts, smallest cohort first.
///
/// A place is a CPU's position in the tree, from the left; the cohorts of a level are equal runs of
/// places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hierarchy {
    levels: Vec<Level>,
    numbering: Numbering,
    places: Vec<usize>,
}

/// The permitted names of levels, in the usual order from the smallest cohort, each with its
/// aliases.
const NAMES: [(&str, &[&str]); 9] = [
    ("core", &[]),
    (
        "cache",
        &["l1", "l2", "l3", "l4", "l5", "l1d", "l2u", "l3u"],
    ),
    ("cluster", &[]),
    ("group", &[]),
    ("die", &[]),
    ("numa", &["node", "numanode"]),
    ("package", &["pack", "socket", "chip"]),
    ("blade", &["board"]),
    (SYSTEM, &["machine"]),
];

/// The maximal number of CPUs of a machine.
pub const MOST_CPUS: usize = 4096;

/// The name of the largest cohort.
pub const SYSTEM: &str = "system";

/// The name of a CPU in hwloc's notation.
pub const PU: &str = "pu";

impl Hierarchy {
    /// Reads hwloc's synthetic notation, largest cohort first:
    /// `package:2 numa:2 cache:8 core:4 pu:1`.
    ///
    /// # Errors
    /// Says what stands there and what may.
    pub fn parse(notation: &str) -> Result<Self, String> {
        let mut levels = Vec::new();
        let mut cohorts = 1_usize;
        let mut words: Vec<(&str, usize)> = Vec::new();
        for word in notation.split_whitespace() {
            words.push(arity(word)?);
        }
        let Some(((PU, _), inner)) = words.split_last().map(|(last, rest)| (*last, rest)) else {
            return Err(format!(
                "found the hierarchy `{notation}`, expected it to end with `pu:N`, such as \
                 `package:2 numa:1 core:8 pu:2`"
            ));
        };
        levels.push((SYSTEM, 1));
        for (name, arity) in inner {
            if *name == PU || levels.iter().any(|(other, _)| other == name) {
                return Err(format!(
                    "found the level `{name}` twice, expected each once"
                ));
            }
            cohorts = cohorts.saturating_mul(*arity);
            levels.push((name, cohorts));
        }
        nests(&levels)?;
        let cpus = cohorts.saturating_mul(words[words.len() - 1].1);
        if cpus > MOST_CPUS {
            return Err(format!("found {cpus} CPUs, expected at most {MOST_CPUS}"));
        }
        let levels = levels
            .into_iter()
            .rev()
            .map(|(name, cohorts)| Level {
                name: name.to_owned(),
                cohorts,
                cpus: cpus / cohorts,
            })
            .collect();
        Ok(Self {
            levels,
            numbering: Numbering::Consecutive,
            places: (0..cpus).collect(),
        })
    }

    /// Renumbers the CPUs.
    ///
    /// # Errors
    /// A list must name each CPU once.
    pub fn numbered(mut self, numbering: Numbering) -> Result<Self, String> {
        let cpus = self.cpus();
        let at: Vec<usize> = match &numbering {
            Numbering::Consecutive => (0..cpus).collect(),
            Numbering::ThreadsApart => {
                let cores = self
                    .level("core")
                    .map_or(cpus, |core| self.levels[core].cohorts);
                let threads = cpus / cores;
                (0..cpus)
                    .map(|place| place % threads * cores + place / threads)
                    .collect()
            }
            Numbering::Listed(list) => list.clone(),
        };
        if at.len() != cpus {
            return Err(format!(
                "found {} CPU numbers, expected {cpus}, one for each place",
                at.len()
            ));
        }
        let mut places = vec![usize::MAX; cpus];
        for (place, &cpu) in at.iter().enumerate() {
            match places.get_mut(cpu) {
                None => {
                    return Err(format!("found CPU {cpu}, expected 0 to {}", cpus - 1));
                }
                Some(free) if *free == usize::MAX => *free = place,
                Some(_) => return Err(format!("found CPU {cpu} twice, expected each once")),
            }
        }
        self.numbering = numbering;
        self.places = places;
        Ok(self)
    }

    /// The levels, smallest cohort first; the last one is the whole system.
    #[must_use]
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// The assignment of CPU numbers to places.
    #[must_use]
    pub const fn numbering(&self) -> &Numbering {
        &self.numbering
    }

    /// The number of CPUs.
    #[must_use]
    pub fn cpus(&self) -> usize {
        self.places.len()
    }

    /// The index of the level with that name or alias.
    #[must_use]
    pub fn level(&self, name: &str) -> Option<usize> {
        let name = printed(name)?;
        self.levels.iter().position(|level| level.name == name)
    }

    /// The smallest level with the same cohorts: a package that is one node has both names.
    pub(super) fn smallest_alike(&self, level: usize) -> usize {
        let alike = |other: &usize| self.levels[*other].cohorts == self.levels[level].cohorts;
        (0..level).find(alike).unwrap_or(level)
    }

    /// The largest level with the same cohorts.
    pub(super) fn largest_alike(&self, level: usize) -> usize {
        let alike = |other: &usize| self.levels[*other].cohorts == self.levels[level].cohorts;
        (level..self.levels.len()).rfind(alike).unwrap_or(level)
    }

    /// The position of a CPU in the tree, from the left.
    ///
    /// # Panics
    /// If there is no such CPU.
    #[must_use]
    pub fn place_of(&self, cpu: usize) -> usize {
        self.places[cpu]
    }

    /// The number of a CPU's cohort at that level.
    ///
    /// # Panics
    /// If there is no such CPU or level.
    #[must_use]
    pub fn cohort_of(&self, cpu: usize, level: usize) -> usize {
        self.places[cpu] / self.levels[level].cpus
    }

    /// The smallest level with both CPUs in one cohort; `None` for a CPU and itself.
    ///
    /// # Panics
    /// If there is no such CPU.
    #[must_use]
    pub fn nearest_common(&self, one: usize, other: usize) -> Option<usize> {
        if one == other {
            return None;
        }
        (0..self.levels.len())
            .find(|&level| self.cohort_of(one, level) == self.cohort_of(other, level))
    }

    /// The levels that are the nearest common level of some two CPUs, smallest first.
    pub fn distinct(&self) -> impl Iterator<Item = usize> {
        (0..self.levels.len()).filter(|&level| {
            let inside = level
                .checked_sub(1)
                .map_or(1, |below| self.levels[below].cpus);
            self.levels[level].cpus > inside
        })
    }

    /// hwloc's synthetic notation, largest cohort first.
    #[must_use]
    pub fn notation(&self) -> String {
        let mut words = Vec::new();
        for pair in self.levels.windows(2).rev() {
            words.push(format!(
                "{}:{}",
                pair[0].name,
                pair[0].cohorts / pair[1].cohorts
            ));
        }
        words.push(format!("pu:{}", self.levels[0].cpus));
        words.join(" ")
    }
}

/// The printed name of a level or alias.
fn printed(name: &str) -> Option<&'static str> {
    let lower = name.to_lowercase();
    NAMES
        .iter()
        .find(|(printed, aliases)| *printed == lower || aliases.contains(&lower.as_str()))
        .map(|(printed, _)| *printed)
}

/// Checks that cores contain only CPUs, and blades only packages and nodes; other levels may nest
/// in any order, as on real machines.
fn nests(levels: &[(&'static str, usize)]) -> Result<(), String> {
    let rank = |name| match name {
        "core" => 0,
        "blade" => 2,
        SYSTEM => 3,
        _ => 1,
    };
    match levels
        .windows(2)
        .find(|pair| rank(pair[0].0) < rank(pair[1].0))
    {
        None => Ok(()),
        Some(pair) => Err(format!(
            "found `{}` inside `{}`, which does not nest; expected the largest cohort first",
            pair[1].0, pair[0].0
        )),
    }
}

/// Parses a word of the notation: a level, and its number in each larger cohort.
fn arity(word: &str) -> Result<(&'static str, usize), String> {
    let Some((name, count)) = word.split_once(':') else {
        return Err(format!(
            "found `{word}`, expected LEVEL:COUNT such as `core:8`"
        ));
    };
    let name = if name.eq_ignore_ascii_case(PU) {
        PU
    } else {
        printed(name)
            .filter(|name| *name != SYSTEM)
            .ok_or_else(|| {
                let names = || NAMES[..NAMES.len() - 1].iter().map(|(name, _)| *name);
                format!(
                    "found the level `{name}`, expected one of {}, pu{}",
                    names().collect::<Vec<_>>().join(", "),
                    nearest::hint(name, names())
                )
            })?
    };
    match count.parse() {
        Ok(count) if count > 0 => Ok((name, count)),
        _ => Err(format!(
            "found `{word}`, expected a count of 1 or more after the colon"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaint(notation: &str) -> String {
        Hierarchy::parse(notation).unwrap_err()
    }

    #[test]
    fn levels_are_counted_from_the_smallest() {
        let hierarchy = Hierarchy::parse("pack:2 numa:1 L3:8 core:3 pu:2").unwrap();
        let levels: Vec<(&str, usize, usize)> = hierarchy
            .levels()
            .iter()
            .map(|level| (&*level.name, level.cohorts, level.cpus))
            .collect();
        assert_eq!(
            levels,
            [
                ("core", 48, 2),
                ("cache", 16, 6),
                ("numa", 2, 48),
                ("package", 2, 48),
                ("system", 1, 96)
            ]
        );
        assert_eq!(hierarchy.notation(), "package:2 numa:1 cache:8 core:3 pu:2");
        assert_eq!(hierarchy.distinct().collect::<Vec<_>>(), [0, 1, 2, 4]);
    }

    #[test]
    fn the_second_threads_of_all_cores_may_come_last() {
        let hierarchy = Hierarchy::parse("package:2 cache:8 core:3 pu:2")
            .unwrap()
            .numbered(Numbering::ThreadsApart)
            .unwrap();
        let core = hierarchy.level("core").unwrap();
        assert_eq!(hierarchy.cohort_of(7, core), hierarchy.cohort_of(55, core));
        assert_eq!(hierarchy.nearest_common(7, 55), Some(core));
        assert_eq!(hierarchy.nearest_common(0, 2), hierarchy.level("cache"));
        assert_eq!(hierarchy.nearest_common(0, 95), hierarchy.level("system"));
        assert_eq!(hierarchy.nearest_common(4, 4), None);
    }

    #[test]
    fn cpus_may_be_numbered_at_will() {
        let hierarchy = Hierarchy::parse("numa:2 pu:2").unwrap();
        let listed = |list: &[usize]| hierarchy.clone().numbered(Numbering::Listed(list.into()));
        let odd = listed(&[0, 2, 1, 3]).unwrap();
        assert_eq!(odd.cohort_of(2, 0), 0);
        assert_eq!(odd.place_of(1), 2);
        for (list, expected) in [
            (&[0, 1, 2][..], "found 3 CPU numbers, expected 4"),
            (&[0, 1, 2, 4], "found CPU 4, expected 0 to 3"),
            (&[0, 1, 2, 2], "found CPU 2 twice"),
        ] {
            let message = listed(list).unwrap_err();
            assert!(message.starts_with(expected), "{message}");
        }
    }

    #[test]
    fn what_does_not_nest_is_refused() {
        for (notation, expected) in [
            ("package:2 core:4", "expected it to end with `pu:N`"),
            ("", "expected it to end with `pu:N`"),
            ("package:2 core:0 pu:1", "found `core:0`, expected a count"),
            (
                "package:2 core:-4 pu:1",
                "found `core:-4`, expected a count",
            ),
            ("package:2 core pu:1", "found `core`, expected LEVEL:COUNT"),
            ("pakage:2 pu:1", "did you mean `package`?"),
            ("system:2 pu:1", "found the level `system`"),
            ("core:2 package:2 pu:1", "found `package` inside `core`"),
            ("package:2 blade:2 pu:1", "found `blade` inside `package`"),
            ("l2:2 l3:2 pu:1", "found the level `cache` twice"),
            ("pu:2 pu:2", "found the level `pu` twice"),
            ("package:7000 pu:2", "found 14000 CPUs, expected at most"),
            (
                "package:99999999999 core:99999999999 pu:2",
                "expected at most",
            ),
        ] {
            let message = complaint(notation);
            assert!(message.contains(expected), "{notation}: {message}");
        }
    }
}
