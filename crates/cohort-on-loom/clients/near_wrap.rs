//! Locks with counters shortly before these wrap around.

use super::passes_on;
use crate::locks::RawTry;
use crate::locks::basic::{Anderson, Ptl, Ticket};
use crate::locks::wait::Parking;

/// A lock with any start of its counter.
pub trait Counting: RawTry {
    /// A free lock with `first` as the next number.
    fn beginning_at(first: u32) -> Self;
}

impl<P: Parking, const UNIT: u64> Counting for Ticket<P, UNIT> {
    fn beginning_at(first: u32) -> Self {
        Ticket::beginning_at(first)
    }
}

impl<const SLOTS: usize, P: Parking> Counting for Ptl<SLOTS, P> {
    fn beginning_at(first: u32) -> Self {
        Ptl::beginning_at(first)
    }
}

impl<const SLOTS: usize, P: Parking> Counting for Anderson<SLOTS, P> {
    fn beginning_at(first: u32) -> Self {
        Anderson::beginning_at(first)
    }
}

/// A lock with a counter from `FIRST` on.
pub struct NearWrap<L, const FIRST: u32>(L);

impl<L: Counting, const FIRST: u32> Default for NearWrap<L, FIRST> {
    fn default() -> Self {
        Self(L::beginning_at(FIRST))
    }
}

passes_on!(NearWrap<L: Counting, const FIRST>);

// SAFETY: one try of the inner lock.
unsafe impl<L: Counting, const FIRST: u32> RawTry for NearWrap<L, FIRST> {
    unsafe fn try_acquire(&self, cx: &L::Context) -> bool {
        // SAFETY: the caller's.
        unsafe { self.0.try_acquire(cx) }
    }
}
