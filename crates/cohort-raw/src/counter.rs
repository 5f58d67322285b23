//! Counters in locks, on simulated machines.

/// A counted event of the calling thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Counter {
    /// Steps as in Chabbi et al. 2017 §5: a level of a tree that was acquired, or a node of a queue
    /// that was visited, in either direction.
    Steps,
    /// Entries of queues, at any level, that went on at an abandoned node.
    Resumed,
    /// Entries of queues, at any level, by a node outside them.
    Begun,
    /// Abandoned nodes that a thread skipped.
    Passed,
    /// Bytes of nodes and cohorts in use from a pool.
    Bytes,
}

impl Counter {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Steps,
        Self::Resumed,
        Self::Begun,
        Self::Passed,
        Self::Bytes,
    ];

    /// Its description.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Steps => "steps",
            Self::Resumed => "entries resumed",
            Self::Begun => "entries begun",
            Self::Passed => "peers passed",
            Self::Bytes => "bytes of nodes",
        }
    }
}
