//! Natively, system calls that a process may have forbidden. Here the standard library makes them.

/// Calls of the locks that a caller asks about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beyond {
    /// Yielding.
    Yield,
}

/// Whether the call is allowed: it is.
#[inline(always)]
#[must_use]
pub const fn is_allowed(_what: Beyond) -> bool {
    true
}
