//! What a thread does to memory.

/// What is done to a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Load,
    /// A load-linked whose turn it is: see `Caches::turn`.
    LoadLinked,
    Store,
    ReadModifyWrite(Change),
}

/// What a read-modify-write would do to its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Not write: a comparison failed.
    None,
    /// Write what is there already.
    Same,
    /// Write something else.
    Other,
}
