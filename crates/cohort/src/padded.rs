//! What stands on cache lines of its own.

/// On lines of its own, which waiters for what lies beside it leave alone; processors fetch lines in
/// pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct CachePadded<T>(pub(crate) T);

/// On one line of its own: for arrays of such, in which a pair for each would take twice the room.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(crate) struct LinePadded<T>(pub(crate) T);
