//! What locks count of what they do, where somebody asks: on simulated machines.

/// One thing that is counted, of the calling thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Counter {
    /// Steps as Chabbi et al. 2017 §5 count them: a level of a tree that was acquired, or a node of
    /// a queue that was visited, on the way along it or back.
    Steps,
    /// Waits that went on at a node which a waiter had left behind.
    Resumed,
    /// Waits that began with a node that was in no queue.
    Begun,
    /// Nodes of waiters that had gone, which a thread passed over.
    Passed,
    /// Bytes of nodes and cohorts that were taken from a pool and not given back.
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

    /// What it is, in words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Steps => "steps",
            Self::Resumed => "waits resumed",
            Self::Begun => "waits begun",
            Self::Passed => "peers passed",
            Self::Bytes => "bytes of nodes",
        }
    }
}
