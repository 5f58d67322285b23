//! Locks that count, shortly before their numbers wrap.

use crate::locks::basic::{Anderson, Ptl, Ticket};
use crate::locks::wait::Parking;
use crate::locks::{RawLock, RawTry};

/// A lock that can begin at any number.
pub trait Counting: RawTry {
    /// A free lock whose next number is `first`.
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

/// A lock whose first number is `FIRST`.
pub struct Late<L, const FIRST: u32>(L);

impl<L: Counting, const FIRST: u32> Default for Late<L, FIRST> {
    fn default() -> Self {
        Self(L::beginning_at(FIRST))
    }
}

// SAFETY: passed on.
unsafe impl<L: Counting, const FIRST: u32> RawLock for Late<L, FIRST> {
    type Context = L::Context;

    fn acquire(&self, cx: &L::Context) {
        self.0.acquire(cx);
    }

    unsafe fn release(&self, cx: &L::Context) {
        // SAFETY: passed on.
        unsafe { self.0.release(cx) };
    }

    fn is_locked(&self) -> bool {
        self.0.is_locked()
    }
}

// SAFETY: passed on.
unsafe impl<L: Counting, const FIRST: u32> RawTry for Late<L, FIRST> {
    fn try_acquire(&self, cx: &L::Context) -> bool {
        self.0.try_acquire(cx)
    }
}
