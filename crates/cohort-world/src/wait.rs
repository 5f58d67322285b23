//! How waiters of a lock under test wait.

use cohort::catalogue::{self, Storage};
use cohort::door::WaitPolicy;
use cohort::name::{self, Lock, Name};
use serde::Serialize;

/// How waiters wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Wait {
    /// Spin only, as the papers' spin locks; on this machine, the same as `spin`
    Busy,
    /// Spin for a bounded time, then yield at every poll
    Spin,
    /// Yield at every poll
    Yield,
    /// Spin for a bounded time, yield a few times, then sleep
    Park,
}

impl Wait {
    /// The default wait of that lock's waiters: waiters of sleeping mutexes park, and so do waiters
    /// of served and self-selecting locks; all others spin.
    #[must_use]
    pub fn natural(lock: &str, served: bool) -> Self {
        let is_refined = |lock: &str| {
            let is_tree = |name: Name<'_>| matches!(name.lock, Lock::Tree(_));
            lock.starts_with(name::PREFIX)
                || lock.contains('/')
                || catalogue::read(lock).is_ok_and(is_tree)
        };
        let is_delegate = |lock| catalogue::find_delegate(lock).is_some();
        let sleeps = |storage| storage == Storage::Word;
        match catalogue::find(lock) {
            Some(info) if !served && !info.adapts && !sleeps(info.storage) => Self::Busy,
            None if !served && (is_refined(lock) || is_delegate(lock)) => Self::Busy,
            _ => Self::Park,
        }
    }

    /// The option's value.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Busy => "busy",
            Self::Spin => "spin",
            Self::Yield => "yield",
            Self::Park => "park",
        }
    }

    /// Whether locks may be used in their spin-only form.
    #[must_use]
    pub const fn never_sleeps(self) -> bool {
        !matches!(self, Self::Park)
    }

    /// The policy for waiters on this machine.
    #[must_use]
    pub const fn policy(self) -> WaitPolicy {
        match self {
            Self::Busy | Self::Spin => WaitPolicy::Spin,
            Self::Yield => WaitPolicy::Yield,
            Self::Park => WaitPolicy::Park,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleeping_mutexes_sleep_and_queues_are_busy() {
        assert_eq!(Wait::natural("futex", false), Wait::Park);
        assert_eq!(Wait::natural("posix", false), Wait::Park);
        assert_eq!(Wait::natural("mcs", false), Wait::Busy);
        assert_eq!(Wait::natural("mcs", true), Wait::Park);
        assert_eq!(Wait::natural("glk", false), Wait::Park);
        assert_eq!(Wait::natural("c-tkt-tkt/7", false), Wait::Busy);
        assert_eq!(Wait::natural("hmcs-1", false), Wait::Busy);
    }
}
