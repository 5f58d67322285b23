//! A count whose zero one thread at a time waits for.

use super::phase::Wait;
use crate::door::{
    Advice, AtomicU32, Order, Spinner, constructor, flaws, mutant, runs_out, sleep_within, wake,
};
use cohort_raw::{Outcome, Patience};

flaws! {
    FORGET_WRITER = "rw-count.forget-writer";
}

/// The one class of sleepers on a count.
const DRAINER: u32 = 1;

/// A count above the bit `WANTED`, which says that a thread sleeps until the count is zero. The
/// bits below serve other purposes and stay as they are.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Count<const WANTED: u32 = 1>(AtomicU32);

impl<const WANTED: u32> Count<WANTED> {
    const ONE: u32 = WANTED << 1;

    constructor! {
        /// A count of zero.
        #[must_use]
        pub fn new() -> Self {
            Self(AtomicU32::new(0))
        }
    }

    /// Decodes a word; below zero after more departures than arrivals.
    const fn of(word: u32) -> i32 {
        (word & !(Self::ONE - 1)).cast_signed() / Self::ONE.cast_signed()
    }

    /// Arrivals minus departures.
    #[inline(always)]
    pub(super) fn number(&self, order: Order) -> i32 {
        Self::of(self.0.load(order))
    }

    /// Counts an arrival; returns the previous count.
    #[inline(always)]
    pub(super) fn enter(&self) -> i32 {
        Self::of(self.0.fetch_add(Self::ONE, Order::RELAXED))
    }

    /// Counts a departure; returns the previous count.
    #[inline(always)]
    pub(super) fn leave(&self, order: Order) -> i32 {
        let at = &raw const self.0;
        let word = self.0.fetch_sub(Self::ONE, order);
        if word & !(WANTED - 1) == Self::ONE | WANTED {
            Self::wake(at);
        }
        Self::of(word)
    }

    /// Wakes the waiting thread. The count's memory may be in other use by then: the address serves
    /// only as a name.
    #[cold]
    fn wake(at: *const AtomicU32) {
        if !mutant(flaw::FORGET_WRITER) {
            wake(at, 1, DRAINER);
        }
    }

    #[inline(always)]
    pub(super) fn is_zero(&self, order: Order) -> bool {
        self.number(order) == 0
    }

    /// Blocks until the count was zero or patience runs out, as a part of `wait`.
    #[inline]
    pub(super) fn wait_for_zero(&self, patience: &Patience, wait: &Wait) -> Outcome {
        if self.is_zero(Order::RELAXED) {
            return Outcome::Acquired;
        }
        self.wait_long(patience, wait.is_rare())
    }

    #[cold]
    fn wait_long(&self, patience: &Patience, seldom: bool) -> Outcome {
        let mut spinner = Spinner::sparing_turns(seldom);
        let outcome = loop {
            if self.is_zero(Order::RELAXED) {
                break Outcome::Acquired;
            }
            if runs_out(patience) {
                break Outcome::GaveUp;
            }
            if spinner.step() == Advice::Sleep {
                self.sleep(patience);
                spinner = Spinner::sparing_turns(seldom);
            }
        };
        self.want_no_more();
        outcome
    }

    /// Sleeps, unless the count is zero, until it may be, or until patience runs out.
    pub(super) fn sleep(&self, patience: &Patience) {
        let word = self.0.load(Order::RELAXED);
        let wanted = word | WANTED;
        if Self::of(word) > 0
            && (word == wanted
                || self
                    .0
                    .compare_exchange(word, wanted, Order::RELAXED, Order::RELAXED)
                    .is_ok())
        {
            let _ = sleep_within(&self.0, wanted, DRAINER, patience);
        }
    }

    /// Clears the mark of [`sleep`](Self::sleep).
    pub(super) fn want_no_more(&self) {
        if self.0.load(Order::RELAXED) & WANTED != 0 {
            self.0.fetch_and(!WANTED, Order::RELAXED);
        }
    }

    /// Sets the count to zero.
    pub(super) fn reset(&self) {
        self.0.fetch_and(WANTED - 1, Order::RELAXED);
    }
}
