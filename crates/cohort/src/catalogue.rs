//! Every lock there is, once.
//!
//! A lock is added by its file and one entry in [`for_each_lock!`](crate::for_each_lock): the command's
//! list, the interposer's dispatch and all runners are made from it.

use crate::door::Order;

/// Where a lock lives when it serves a 40-byte `pthread_mutex_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// One word of the object is the whole lock.
    Word,
    /// In the object; its queue nodes come from the arena.
    InPlace,
    /// One word at rest; inflated into the arena while contended.
    Inflated,
}

impl Placement {
    /// The word `cohort list` prints.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Word => "word",
            Self::InPlace => "in place",
            Self::Inflated => "inflated",
        }
    }
}

/// What a lock can do: the traits of `cohort-raw` it implements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    /// Can be tried without waiting.
    RawTry,
    /// Its waiters can give up.
    Abortable,
    /// Its waiters can give up in a bounded number of steps.
    BoundedAbort,
    /// Another thread may release it.
    ThreadOblivious,
    /// The holder can tell whether others wait.
    DetectsWaiters,
    /// No waiter is passed over for ever.
    Fair,
    /// A forked child can go on using it.
    Inherit,
}

impl Capability {
    /// The word `cohort list` prints.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::RawTry => "try",
            Self::Abortable => "abortable",
            Self::BoundedAbort => "bounded-abort",
            Self::ThreadOblivious => "thread-oblivious",
            Self::DetectsWaiters => "detects-waiters",
            Self::Fair => "fair",
            Self::Inherit => "fork",
        }
    }
}

/// One lock, as the command shows it.
#[derive(Clone, Copy, Debug)]
pub struct LockInfo {
    /// The one name that is printed.
    pub name: &'static str,
    /// Further names that are accepted.
    pub aliases: &'static [&'static str],
    /// What it is, in a line.
    pub about: &'static str,
    /// The paper and section it is described in.
    pub source: &'static str,
    /// What it can do.
    pub capabilities: &'static [Capability],
    /// Where it lives in a program's mutex.
    pub placement: Placement,
    /// Bytes of the lock by itself, used raw.
    pub bytes_raw: usize,
    /// Bytes a program's mutex costs beyond its own 40 while nobody holds it.
    pub bytes_idle: usize,
    /// Bytes it costs beyond its own while held with waiters, waiters apart.
    pub bytes_contended: usize,
    /// Bytes each waiter adds.
    pub bytes_per_waiter: usize,
}

/// The lock of that name or alias.
#[must_use]
pub fn find(name: &str) -> Option<&'static LockInfo> {
    LOCKS
        .iter()
        .find(|lock| lock.name == name || lock.aliases.contains(&name))
}
