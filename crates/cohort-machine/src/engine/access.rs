//! Memory accesses.

/// An access to a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Load,
    /// A load-linked at its turn: see `Caches::turn`.
    LoadLinked,
    Store,
    ReadModifyWrite(Change),
}

/// The effect of a read-modify-write on its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// No write: a comparison failed.
    None,
    /// A write of the same value.
    Same,
    /// A write of another value.
    Other,
}
