//! What a wait within a [`Patience`] asks of the world.

use super::{AtomicU32, Slept, expired, sleep_on};
use cohort_raw::{Deadline, Patience};
use core::cell::Cell;
use core::ptr;

/// Whether patience has run out.
#[must_use]
#[cold]
#[inline(never)]
pub fn runs_out(patience: &Patience) -> bool {
    patience.deadline().is_some_and(expired)
        || patience
            .cancellation()
            .is_some_and(|cancellation| cancellation.is_cancelled())
}

/// [`sleep_on`] until patience runs out at the latest: the sleep has timed out then.
#[must_use]
#[inline(never)]
pub fn sleep_within(word: &AtomicU32, expected: u32, bits: u32, patience: &Patience) -> Slept {
    sleep_by(word, expected, bits, patience.deadline(), patience)
}

/// The same with another deadline than that of the patience.
#[must_use]
#[inline(never)]
pub fn sleep_by(
    word: &AtomicU32,
    expected: u32,
    bits: u32,
    deadline: Option<&Deadline>,
    patience: &Patience,
) -> Slept {
    let Some(cancellation) = patience.cancellation() else {
        return sleep_on(word, expected, bits, deadline);
    };
    let mut slept = Slept::TimedOut;
    cancellation.sleep(ptr::from_ref(word).addr(), &mut || {
        slept = sleep_on(word, expected, bits, deadline);
    });
    slept
}

/// In each thread's record: its place among the sleepers that one cancellation wakes; the lock of
/// that cancellation guards it.  All zero at first.
#[derive(Debug)]
pub struct Bed {
    /// The address of the word on which the thread sleeps, or is about to.
    pub word: Cell<usize>,
    /// The next of them.
    pub next: Cell<*const Bed>,
}

impl Default for Bed {
    fn default() -> Self {
        Self {
            word: Cell::new(0),
            next: Cell::new(ptr::null()),
        }
    }
}
