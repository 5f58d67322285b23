//! Values on cache lines of their own.

/// A value alone on a pair of cache lines, away from the accesses of neighbours' waiters;
/// processors fetch lines in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct CachePadded<T>(pub(crate) T);

/// A value alone on one cache line: for arrays, where a pair for each would double the size.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(crate) struct LinePadded<T>(pub(crate) T);
