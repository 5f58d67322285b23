//! Locks for a program's rwlocks: the values of `--rwlock`.

use cohort::door::{Level, cohorts, lowest_of};
use cohort_topology::Topology;
use cohort_topology::disturb::allowed_cpus;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// What serves a program's rwlocks.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, clap::ValueEnum)]
#[serde(try_from = "String")]
pub enum Rwlocks {
    /// One word written by all readers
    #[default]
    Rwlock,
    /// Reader counts by cache group, writers use the lock of `--lock`; no preference
    #[value(name = "c-rw-np")]
    Neutral,
    /// The same, with writers preferred for up to 5 ms
    #[value(name = "c-rw-wp")]
    WritersFirst,
    /// The C library's rwlock
    #[value(alias = "posix")]
    System,
}

impl Rwlocks {
    const ALL: [Self; 4] = [
        Self::Rwlock,
        Self::Neutral,
        Self::WritersFirst,
        Self::System,
    ];

    /// The library's word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rwlock => "rwlock",
            Self::Neutral => "c-rw-np",
            Self::WritersFirst => "c-rw-wp",
            Self::System => "system",
        }
    }

    /// The default. One word serves readers best as long as they share a cache; between caches,
    /// each reader transfers it.
    pub fn for_machine(told: Option<&str>) -> Self {
        Self::for_groups(cache_groups(&allowed_cpus(), told))
    }

    /// The default on a machine that a workload runs on.
    pub fn on(topology: &Topology) -> Self {
        // As the locks determine their cache groups: nothing smaller substitutes for them.
        let stand_in = |name: &str| {
            topology
                .levels()
                .iter()
                .position(|level| level.name == name)
        };
        let level = ["cache", "numa", "package"].into_iter().find_map(stand_in);
        Self::for_groups(level.map_or(1, |level| topology.cohorts(level)))
    }

    fn for_groups(groups: usize) -> Self {
        if groups > 1 {
            Self::Neutral
        } else {
            Self::Rwlock
        }
    }

    /// Whether only the library with the compositions has it.
    pub fn is_composed(self) -> bool {
        matches!(self, Self::Neutral | Self::WritersFirst)
    }
}

/// The number of last-level caches that these CPUs use: by the kernel, or by the cohorts of a text.
fn cache_groups(cpus: &[usize], told: Option<&str>) -> usize {
    let mut groups = BTreeMap::new();
    if let Some(text) = told {
        // A mistake in the text is reported elsewhere.
        let _ = cohorts::read(text, &mut |level, cohort, cpu| {
            if level == Level::CacheGroup {
                groups.insert(cpu, cohort);
            }
        });
    }
    let of = |cpu: &usize| {
        if groups.is_empty() {
            Some(lowest_of(Level::CacheGroup, *cpu))
        } else {
            groups.get(cpu).copied()
        }
    };
    cpus.iter().map(of).collect::<BTreeSet<_>>().len()
}

impl TryFrom<String> for Rwlocks {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let name = if name == "posix" {
            "system"
        } else {
            name.as_str()
        };
        let found = Self::ALL.into_iter().find(|rwlocks| rwlocks.name() == name);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join("`, `");
            format!("found `{name}`, expected one of `{names}`")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_are_counted_apart_where_their_caches_are() {
        let cpus = [0, 1, 2, 3];
        for (told, groups, served) in [
            ("cache 0-3", 1, Rwlocks::Rwlock),
            ("cache 0-1; cache 2-3", 2, Rwlocks::Neutral),
            // Missing CPUs form one cohort.
            ("cache 0-1", 2, Rwlocks::Neutral),
            ("cache 8-9; cache 0-7", 1, Rwlocks::Rwlock),
        ] {
            assert_eq!(cache_groups(&cpus, Some(told)), groups, "{told}");
            assert_eq!(Rwlocks::for_groups(groups), served, "{told}");
        }
    }
}
