//! A flag by which a waiter shows that it has yielded its CPU, so that releases do not hand over to
//! it until it is back.
//!
//! A hint: it may be late, and a preempted waiter shows nothing.

use super::{AtomicU32, Order, shows_absence};
use crate::support::defer::Defer;
use core::cell::Cell;
use core::ptr;

/// A flag beside each waiter that may be handed a lock; 0 at first.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Absence(AtomicU32);

impl Absence {
    /// Whether the waiter has yielded its CPU and is not back yet.
    #[inline]
    pub fn lasts(&self) -> bool {
        self.0.load(Order::RELAXED) != 0
    }
}

/// In each thread's record: the flag of its present wait.
#[derive(Debug)]
pub struct Shown(Cell<*const Absence>);

impl Default for Shown {
    fn default() -> Self {
        Self(Cell::new(ptr::null()))
    }
}

impl Shown {
    /// Waits; meanwhile `place` shows whether the thread is off its CPU.
    #[inline]
    pub fn during(&self, place: &Absence, wait: impl FnOnce()) {
        if !shows_absence() {
            return wait();
        }
        place.0.store(0, Order::RELAXED);
        // A signal handler may have interrupted another wait.
        let before = self.0.replace(place);
        // A program's own lock may panic.
        let _last = Defer(|| self.0.set(before));
        wait();
    }

    /// Yields the CPU by `others`, and shows that meanwhile.
    #[inline]
    pub fn away<R>(&self, others: impl FnOnce() -> R) -> R {
        self.show(1);
        let result = others();
        self.show(0);
        result
    }

    /// Sets the present wait's flag, if there is one.
    #[inline(never)]
    fn show(&self, away: u32) {
        // SAFETY: null, or borrowed by the `during` in which this is called.
        if let Some(place) = unsafe { self.0.get().as_ref() } {
            place.0.store(away, Order::RELAXED);
        }
    }
}
