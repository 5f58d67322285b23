//! What a lock can do, as data: a catalogue says it, and the compiler holds the catalogue to it.

/// What a lock can do: the traits of this crate that it implements.
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
