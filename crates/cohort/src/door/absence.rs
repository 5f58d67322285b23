//! Where a waiter shows that it has given its CPU away, so that nothing is handed to it before
//! it comes back.
//!
//! A hint: it may be late, and a waiter that has lost its CPU without giving it away shows
//! nothing.

use super::{AtomicU32, Order, shows_absence};
use crate::defer::Defer;
use core::cell::Cell;
use core::ptr;

/// Beside each waiter that others may hand something to; 0 at first.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Absence(AtomicU32);

impl Absence {
    /// Whether the waiter has given its CPU away and has not come back yet.
    #[inline]
    pub fn lasts(&self) -> bool {
        self.0.load(Order::RELAXED) != 0
    }
}

/// In each thread's record: where its present wait shows its absence.
#[derive(Debug)]
pub struct Shown(Cell<*const Absence>);

impl Default for Shown {
    fn default() -> Self {
        Self(Cell::new(ptr::null()))
    }
}

impl Shown {
    /// Waits; in `place` stands meanwhile whether the thread is away.
    #[inline]
    pub fn during(&self, place: &Absence, wait: impl FnOnce()) {
        if !shows_absence() {
            return wait();
        }
        place.0.store(0, Order::RELAXED);
        // A signal handler may have interrupted another wait.
        let before = self.0.replace(place);
        // A lock of the program's own may panic.
        let _last = Defer(|| self.0.set(before));
        wait();
    }

    /// Lets `others` have the CPU, and shows that.
    #[inline]
    pub fn away<R>(&self, others: impl FnOnce() -> R) -> R {
        self.show(1);
        let result = others();
        self.show(0);
        result
    }

    /// Where the present wait does, if it does.
    #[inline(never)]
    fn show(&self, away: u32) {
        // SAFETY: null, or borrowed by the `during` in which this is called.
        if let Some(place) = unsafe { self.0.get().as_ref() } {
            place.0.store(away, Order::RELAXED);
        }
    }
}
