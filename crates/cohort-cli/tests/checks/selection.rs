//! What the environment selects.

use crate::check::Tier;
use crate::program::Under;
use cohort::catalogue::{self, LOCKS, LockInfo};
use cohort_lab::world::names::rejoined;
use std::env::{self, VarError};

/// The pseudo-lock that leaves the C library's own locks in place.
pub const SYSTEM: &str = "system";

/// Compositions with another lock at each level, as reports print them: one that is built
/// from its name, one that is compiled, and one that lets waiters give up.
const COMPOSITIONS: [&str; 3] = [
    "clof:ticket-clh-mcs@cache,numa,system/128",
    "clof:mcs-hemlock-clh-ticket@core,cache,numa,system/128/compiled",
    "clof:bo-clh-mcs@cache,numa,system/128/abortable",
];

/// How waiting threads may be told to wait.
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
    /// A value that means nothing, and what may stand there.
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

    /// Whether checks of this tier are to run.
    pub fn has(&self, tier: Tier) -> bool {
        tier == Tier::Quick || self.full
    }

    /// Whether some locks were asked for by name.
    pub fn is_narrowed(&self) -> bool {
        self.named.is_some()
    }

    /// The locks to check: those asked for, else all of ours, and a composition of each sort.
    pub fn locks(&self) -> Vec<&'static str> {
        let served = || LOCKS.iter().filter(|lock| lock.serves_programs());
        let ours = || served().map(|lock| lock.name).chain(COMPOSITIONS);
        self.named.clone().unwrap_or_else(|| ours().collect())
    }

    /// What a program runs under, by its name in a check's: each of these locks, and `debug` where
    /// no locks were asked for.
    pub fn ways(&self) -> Vec<(&'static str, Under)> {
        let locks = self.locks().into_iter();
        let locks = locks.map(|lock| (lock, Under::Lock(lock)));
        let debug = self.named.is_none().then_some(("debug", Under::Debug));
        locks.chain(debug).collect()
    }

    /// Of these locks, those to check: all that were asked for, if any were.
    pub fn some_of(&self, some: &[&'static str]) -> Vec<&'static str> {
        self.named.clone().unwrap_or_else(|| some.to_vec())
    }

    /// Whether everything is to be checked under a lock: it was asked for, or everything is
    /// wanted, or it is the first of its kind.  Locks of one kind are in the same place in a program's
    /// mutex, can do the same, and are alike in whether their waiters take nodes: between the program and
    /// the lock, the same code serves them.  Each lock itself is under its own checkers, and under one
    /// topic of the conformance suite.
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
            // A composition, as those that the catalogue names.
            return false;
        };
        let mut served = LOCKS.iter().filter(|lock| lock.serves_programs());
        let first = served.find(|other| kind(other) == kind(info));
        first.is_some_and(|first| first.name == info.name)
    }

    /// The tier of a check under a lock that is like its check under others of its kind.
    pub fn tier_under(&self, lock: &str) -> Tier {
        if self.has_all_under(lock) {
            Tier::Quick
        } else {
            Tier::Full
        }
    }

    /// Whether a lock was asked for by name.
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
        .ok_or_else(|| format!("COHORT_CHECK_LOCK: no lock is called `{name}`; see `cohort list`"))
}
