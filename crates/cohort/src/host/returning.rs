//! Requeuing from conditions (wait morphing): the number of condition waiters that will reacquire a
//! lock, and the sleepers that its release wakes.
//!
//! For a lock with a place in its queue for each sleeper, which no other thread can fill on
//! their behalf. A signaller that holds the lock moves the waiter's sleep here, and each release
//! wakes one. Only the lock's holder reads and writes the word, so the lock orders all accesses.
//! The sleepers do not compare it.
//!
//! | bits of `word` | meaning |
//! |---|---|
//! | `ASLEEP` | sleepers moved here, each owed a wake-up |
//! | above | threads at conditions, or on their way to hold the lock after that |
//!
//! No sleeper is forgotten: each adds one wake-up, and every release gives one while any is owed. A
//! spurious wake-up leaves one too many.

use crate::door::{AtomicU32, Order, flaws, move_sleeper, mutant, wake};

flaws! {
    ADOPT_UNMARKED = "returning.adopt-unmarked";
}

const ASLEEP: u32 = 0xffff;
const WAITER: u32 = 0x1_0000;

/// The word has one class of sleepers.
const CLASS: u32 = 1;

/// The word of the two counts; zero when new.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Returning {
    word: AtomicU32,
}

impl Returning {
    /// Counts in a thread that begins a condition wait; the caller holds the lock.
    pub fn go(&self) {
        self.change(|word| word.wrapping_add(WAITER));
    }

    /// Counts out a thread that has reacquired the lock; the caller holds the lock.
    pub fn come_back(&self) {
        self.change(|word| word.wrapping_sub(WAITER));
    }

    /// Whether no thread will reacquire the lock after a condition, at the time of the read; for
    /// any thread.
    pub fn is_empty(&self) -> bool {
        self.word.load(Order::RELAXED) < WAITER
    }

    fn change(&self, change: impl FnOnce(u32) -> u32) {
        let word = self.word.load(Order::RELAXED);
        self.word.store(change(word), Order::RELAXED);
    }

    /// Moves a sleeper from `place`, if that holds `seen`, to sleep until the lock's release. False
    /// if no thread sleeps there. The caller holds the lock.
    pub fn adopt(&self, place: &AtomicU32, seen: u32) -> bool {
        let room = self.word.load(Order::RELAXED) & ASLEEP != ASLEEP;
        let moved = room && move_sleeper(place, seen, &raw const self.word);
        if moved && !mutant(flaw::ADOPT_UNMARKED) {
            self.change(|word| word + 1);
        }
        moved
    }

    /// Whether no sleeper here is owed a wake-up; the caller holds the lock.
    #[inline(always)]
    pub fn owes_nothing(&self) -> bool {
        self.word.load(Order::RELAXED) & ASLEEP == 0
    }

    /// Releases the lock, which the caller holds, by `release`, and wakes one sleeper; at least one
    /// wake-up is owed.
    #[cold]
    pub fn release<R>(&self, release: impl FnOnce() -> R) -> R {
        self.change(|word| word - 1);
        let place = &raw const self.word;
        let result = release();
        // The lock may be gone: its address serves only as a key.
        wake(place, 1, CLASS);
        result
    }
}
