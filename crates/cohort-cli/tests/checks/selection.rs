//! Selection of checks by the environment.

use crate::check::Tier;
use crate::program::Under;
use cohort::catalogue::{self, LOCKS, LockInfo};
use cohort_topology::names::rejoined;
use std::env::{self, VarError};

/// The pseudo-lock that leaves the C library's own locks in place.
pub const SYSTEM: &str = "system";

/// Compositions with different locks at the levels, as printed in reports: built from its name,
/// compiled, and abortable.
const COMPOSITIONS: [&str; 3] = [
    "clof:ticket-clh-mcs@cache,numa,system/128",
    "clof:mcs-hemlock-clh-ticket@core,cache,numa,system/128/compiled",
    "clof:bo-clh-mcs@cache,numa,system/128/abortable",
];

/// Ways to wait.
pub const WAITS: [&str; 3] = ["park", "yield", "spin"];

/// The tiers and locks to check.
pub struct Selection {
    full: bool,
    named: Option<Vec<&'static str>>,
}

impl Selection {
    /// Reads `COHORT_TIER` and `COHORT_CHECK_LOCK`.
    ///
    /// # Errors
    /// An invalid value, with the alternatives.
    pub fn from_environment() -> Result<Self, String> {
        let full = match variable("COHORT_TIER")?.as_deref() {
            None | Some("" | "quick") => false,
            Some("full") => true,
            Some(other) => {
                return Err(format!(
                    "COHORT_TIER is `{other}`; it may be `quick` or `full`"
                ));
            }
        };
        let named = match variable("COHORT_CHECK_LOCK")? {
            None => None,
            Some(names) => {
                let pieces: Vec<String> = names.split(',').map(str::to_owned).collect();
                let names = rejoined(&pieces);
                Some(
                    names
                        .iter()
                        .map(|name| lock(name))
                        .collect::<Result<_, _>>()?,
                )
            }
        };
        Ok(Self { full, named })
    }

    /// Whether to run checks of this tier.
    pub fn has(&self, tier: Tier) -> bool {
        tier == Tier::Quick || self.full
    }

    /// Whether locks were requested by name.
    pub fn is_narrowed(&self) -> bool {
        self.named.is_some()
    }

    /// The locks to check: the requested ones, else all of Cohort's, and a composition of each
    /// sort.
    pub fn locks(&self) -> Vec<&'static str> {
        let served = || LOCKS.iter().filter(|lock| lock.serves_programs());
        let ours = || served().map(|lock| lock.name).chain(COMPOSITIONS);
        self.named.clone().unwrap_or_else(|| ours().collect())
    }

    /// The configurations for a program, by name: each of these locks, and `debug` unless locks
    /// were requested.
    pub fn ways(&self) -> Vec<(&'static str, Under)> {
        let locks = self.locks().into_iter();
        let locks = locks.map(|lock| (lock, Under::Lock(lock)));
        let debug = self.named.is_none().then_some(("debug", Under::Debug));
        locks.chain(debug).collect()
    }

    /// The requested locks, or by default these.
    pub fn some_of(&self, some: &[&'static str]) -> Vec<&'static str> {
        self.named.clone().unwrap_or_else(|| some.to_vec())
    }

    /// Whether to check everything under a lock: it was requested, everything is requested, or it
    /// is the first of its kind. Locks of one kind use the same place in a program's mutex and the
    /// same capabilities, and their waiters are alike in taking nodes: the same code serves them.
    /// Each lock itself has its own checkers, and one topic of the conformance suite.
    pub fn has_all_under(&self, lock: &str) -> bool {
        if self.full || self.named.is_some() {
            return true;
        }
        let kind = |lock: &LockInfo| {
            let takes_nodes = lock.bytes_per_waiter > 0;
            (
                lock.storage.name(),
                lock.capabilities,
                lock.adapts,
                takes_nodes,
            )
        };
        let Some(info) = catalogue::find(lock) else {
            // A composition, like those in the catalogue.
            return false;
        };
        let mut served = LOCKS.iter().filter(|lock| lock.serves_programs());
        let first = served.find(|other| kind(other) == kind(info));
        first.is_some_and(|first| first.name == info.name)
    }

    /// The tier of a check under a lock that resembles its check under others of its kind.
    pub fn tier_under(&self, lock: &str) -> Tier {
        if self.has_all_under(lock) {
            Tier::Quick
        } else {
            Tier::Full
        }
    }

    /// Whether a lock was requested by name.
    pub fn names(&self, lock: &str) -> bool {
        self.named
            .as_ref()
            .is_some_and(|named| named.contains(&lock))
    }
}

fn variable(name: &str) -> Result<Option<String>, String> {
    match env::var(name) {
        Ok(value) => Ok(Some(value)),
        Err(VarError::NotPresent) => Ok(None),
        Err(VarError::NotUnicode(_)) => Err(format!("{name} is not UTF-8")),
    }
}

fn lock(name: &str) -> Result<&'static str, String> {
    let known = COMPOSITIONS.into_iter().chain([SYSTEM]);
    if let Some(known) = known.into_iter().find(|known| *known == name) {
        return Ok(known);
    }
    catalogue::find(name)
        .map(|lock| lock.name)
        .ok_or_else(|| format!("COHORT_CHECK_LOCK: unknown lock `{name}`; see `cohort list`"))
}
