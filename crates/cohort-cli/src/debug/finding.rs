//! An error found in a program, as it is reported.

use crate::observe::stacks::Stack;
use serde::{Deserialize, Serialize};

/// A thread's part in a finding.
#[derive(Clone, Debug, Serialize)]
pub struct Part {
    /// The thread ID; 0: unknown.
    pub thread: u32,
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its action.
    pub does: String,
    /// The place of the action.
    pub stack: Stack,
}

#[cfg(test)]
impl Part {
    /// The action of a thread without a name.
    pub fn new(thread: u32, does: &str, stack: Stack) -> Self {
        Self {
            thread,
            name: None,
            does: does.to_owned(),
            stack,
        }
    }
}

/// Kind of error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingKind {
    Deadlock,
    Asleep,
    Nested,
    Ended,
    HeldAtExit,
    HeldLong,
    UnlockFree,
    UnlockOthers,
    DestroyUsed,
    UseDestroyed,
    WaitUnlocked,
    TwoMutexes,
    LockTwice,
    Uninitialised,
    Order,
}

impl FindingKind {
    /// The kind's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Deadlock => "deadlock",
            Self::Asleep => "asleep",
            Self::Nested => "nested",
            Self::Ended => "ended",
            Self::HeldAtExit => "held-at-exit",
            Self::HeldLong => "held-long",
            Self::UnlockFree => "unlock-free",
            Self::UnlockOthers => "unlock-others",
            Self::DestroyUsed => "destroy-used",
            Self::UseDestroyed => "use-destroyed",
            Self::WaitUnlocked => "wait-unlocked",
            Self::TwoMutexes => "two-mutexes",
            Self::LockTwice => "lock-twice",
            Self::Uninitialised => "uninitialised",
            Self::Order => "order",
        }
    }
}

/// Error found.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// Its kind.
    pub kind: FindingKind,
    /// The process.
    pub process: u32,
    /// Its description, a sentence.
    pub says: String,
    /// The locks involved: variables, else addresses.
    pub locks: Vec<String>,
    /// The threads involved.
    pub parts: Vec<Part>,
}
