//! Memory for nodes: there is no allocator. [`super::pool`] has a fixed number of nodes instead.

use core::ptr::NonNull;

/// No room.
#[must_use]
pub const fn map_slots<S>(_count: usize, _make: fn() -> S) -> Option<NonNull<S>> {
    None
}

/// Frees nothing.
pub const fn unmap_slots<S>(_slots: NonNull<S>, _count: usize) {}

/// Natively, moves pages to the caller's NUMA node.
#[must_use]
pub const fn place_here(_pages: *const u8, _bytes: usize) -> bool {
    false
}
