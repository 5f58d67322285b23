//! Memory for nodes, from the global allocator: it may not use these locks itself.

use super::std;
use core::alloc::Layout;
use core::ptr::NonNull;
use std::alloc::{alloc_zeroed, dealloc};

/// Room for `count` slots, all atoms zero; `None` if there is none. `make` creates a slot where
/// zero bytes are none.
#[must_use]
pub fn map_slots<S>(count: usize, _make: fn() -> S) -> Option<NonNull<S>> {
    let layout = Layout::array::<S>(count).ok()?;
    if layout.size() == 0 {
        return None;
    }
    // SAFETY: the layout has bytes.
    NonNull::new(unsafe { alloc_zeroed(layout) }.cast())
}

/// Frees that room, still unused.
pub fn unmap_slots<S>(slots: NonNull<S>, count: usize) {
    if let Ok(layout) = Layout::array::<S>(count) {
        // SAFETY: all of the room, and its layout, are those of `map_slots`.
        unsafe { dealloc(slots.as_ptr().cast(), layout) };
    }
}

/// Natively, moves pages to the caller's NUMA node.
#[must_use]
pub const fn place_here(_pages: *const u8, _bytes: usize) -> bool {
    false
}
