//! CPUs and the cohorts they belong to.

/// A level of the hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level {
    /// `core`, `cache`, `numa`, `package`, `blade`, `system`, …
    pub name: String,
    /// How many cohorts the machine has at this level.
    pub cohorts: usize,
    /// How many CPUs are in each.
    pub cpus: usize,
}

/// Which place each CPU number has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Numbering {
    /// CPU n is in the n-th place: the hardware threads of a core follow each
    /// other.
    Consecutive,
    /// First one hardware thread of each core, then the next one of each.
    ThreadsApart,
    /// The CPU in each place, place by place.
    Listed(Vec<usize>),
}

/// The CPUs of a machine and their cohorts, smallest cohort first.
///
/// A place is where a CPU stands in the drawn tree, from the left; the cohorts of
/// a level are equal runs of places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hierarchy {
    levels: Vec<Level>,
    numbering: Numbering,
    places: Vec<usize>,
}

/// The names that a level may have, smallest usual cohort first, each with the
/// further names that are accepted for it.
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
    ("system", &["machine"]),
];

/// The most CPUs that a machine may have.
pub const MOST_CPUS: usize = 65_536;

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
        let Some((("pu", _), inner)) = words.split_last().map(|(last, rest)| (*last, rest)) else {
            return Err(format!(
                "found the hierarchy `{notation}`, expected it to end with `pu:N`, such as \
                 `package:2 numa:1 core:8 pu:2`"
            ));
        };
        levels.push(("system", 1));
        for (name, arity) in inner {
            if levels.iter().any(|(other, _)| other == name) {
                return Err(format!(
                    "found the level `{name}` twice, expected each once"
                ));
            }
            cohorts = cohorts.saturating_mul(*arity);
            levels.push((name, cohorts));
        }
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

    /// The same CPUs under other numbers.
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

    /// Which place each CPU number has.
    #[must_use]
    pub const fn numbering(&self) -> &Numbering {
        &self.numbering
    }

    /// How many CPUs there are.
    #[must_use]
    pub fn cpus(&self) -> usize {
        self.places.len()
    }

    /// The index of the level called `name`, an alias included.
    #[must_use]
    pub fn level(&self, name: &str) -> Option<usize> {
        let name = printed(name)?;
        self.levels.iter().position(|level| level.name == name)
    }

    /// Where a CPU stands in the tree, from the left.
    ///
    /// # Panics
    /// If there is no such CPU.
    #[must_use]
    pub fn place_of(&self, cpu: usize) -> usize {
        self.places[cpu]
    }

    /// The number of the cohort, at that level, to which a CPU belongs.
    ///
    /// # Panics
    /// If there is no such CPU or level.
    #[must_use]
    pub fn cohort_of(&self, cpu: usize, level: usize) -> usize {
        self.places[cpu] / self.levels[level].cpus
    }

    /// The smallest level at which two CPUs are in one cohort; `None` for a CPU
    /// and itself.
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

    /// The levels that are the nearest common one of some two CPUs, smallest
    /// first.
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

/// The printed name of a level, an alias included.
fn printed(name: &str) -> Option<&'static str> {
    let lower = name.to_lowercase();
    NAMES
        .iter()
        .find(|(printed, aliases)| *printed == lower || aliases.contains(&lower.as_str()))
        .map(|(printed, _)| *printed)
}

/// A word of the notation: a level and how many of it each larger cohort has.
fn arity(word: &str) -> Result<(&'static str, usize), String> {
    let Some((name, count)) = word.split_once(':') else {
        return Err(format!(
            "found `{word}`, expected LEVEL:COUNT such as `core:8`"
        ));
    };
    let name = if name.eq_ignore_ascii_case("pu") {
        "pu"
    } else {
        printed(name)
            .filter(|name| *name != "system")
            .ok_or_else(|| {
                let names: Vec<&str> = NAMES[..NAMES.len() - 1]
                    .iter()
                    .map(|(name, _)| *name)
                    .collect();
                format!(
                    "found the level `{name}`, expected one of {}, pu",
                    names.join(", ")
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
