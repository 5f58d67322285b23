//! Capabilities of a lock, as data: stated by a catalogue, checked by the compiler.

/// A capability: a trait of this crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    /// It can be tried without waiting.
    RawTry,
    /// Its waiters can time out.
    Abortable,
    /// Its waiters can time out in a bounded number of steps.
    BoundedAbort,
    /// Another thread may release it.
    ThreadOblivious,
    /// The holder can detect waiters.
    DetectsWaiters,
    /// It is free of starvation.
    Fair,
    /// A forked child can go on using it.
    Inherit,
}

impl Capability {
    /// The word printed by `cohort list`.
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
