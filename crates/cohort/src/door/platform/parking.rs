//! Sleep without a system: a waiter polls, and a waker finds no sleeper.
//!
//! A sleep also ends by itself, as a futex's may: a word that has changed twice meanwhile would be missed
//! otherwise.

use super::super::{Order, Slept};
use super::system::expired;
use super::{AtomicU32, calls};
use cohort_raw::Deadline;

/// Looks of one sleep.
const LOOKS: u32 = 1_000;

/// Polls while `word` holds `expected`, for a while or until the deadline passes.
#[must_use]
#[inline(never)]
pub fn sleep_on(word: &AtomicU32, expected: u32, _bits: u32, deadline: Option<&Deadline>) -> Slept {
    for _ in 0..LOOKS {
        if word.load(Order::RELAXED) != expected {
            break;
        }
        if deadline.is_some_and(expired) {
            return Slept::TimedOut;
        }
        calls::yield_now();
    }
    Slept::Again
}

/// Finds no sleeper.
pub fn wake(_word: *const AtomicU32, _count: u32, _bits: u32) -> usize {
    0
}

/// Finds no sleeper.
#[must_use]
pub fn move_sleeper(_word: &AtomicU32, _expected: u32, _to: *const AtomicU32) -> bool {
    false
}

/// [`sleep_on`].
#[must_use]
pub fn sleep_on_shared(
    word: &AtomicU32,
    expected: u32,
    bits: u32,
    deadline: Option<&Deadline>,
) -> Slept {
    sleep_on(word, expected, bits, deadline)
}

/// [`wake`].
pub fn wake_shared(word: *const AtomicU32, count: u32, bits: u32) -> usize {
    wake(word, count, bits)
}
