//! Threads that wait at conditions and will come back for a lock: how many there are, and
//! those of them that sleep until the lock is released.
//!
//! For a lock whose own sleepers each have a place in its queue, where nobody can put
//! another thread: a signaller that holds the lock puts the waiter to sleep here, and each
//! release wakes one.  Only the lock's holder reads and writes the word, so the lock itself
//! orders every access; a thread that sleeps on it compares nothing.
//!
//! | bits of `word` | meaning |
//! |---|---|
//! | `ASLEEP` | how many were put to sleep here and are owed a wake-up |
//! | above | how many wait at conditions, or have yet to hold the lock after that |
//!
//! No sleeper is forgotten: each of them brought one wake-up, and every release gives one
//! while any is owed.  One that woke by itself leaves a wake-up too many.

use crate::door::{AtomicU32, Order, flaws, move_sleeper, mutant, wake};

flaws! {
    ADOPT_UNMARKED = "returning.adopt-unmarked";
}

const ASLEEP: u32 = 0xffff;
const WAITER: u32 = 0x1_0000;

/// There is one class of sleepers.
const CLASS: u32 = 1;

/// The word; zero when new.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Returning {
    word: AtomicU32,
}

impl Returning {
    /// Counts a thread in that goes to wait at a condition; the caller holds the lock.
    pub fn go(&self) {
        self.change(|word| word.wrapping_add(WAITER));
    }

    /// Counts a thread out that is back; the caller holds the lock.
    pub fn come_back(&self) {
        self.change(|word| word.wrapping_sub(WAITER));
    }

    /// Whether no thread will come back, as it was a moment ago; for any thread.
    pub fn is_empty(&self) -> bool {
        self.word.load(Order::RELAXED) < WAITER
    }

    fn change(&self, change: impl FnOnce(u32) -> u32) {
        let word = self.word.load(Order::RELAXED);
        self.word.store(change(word), Order::RELAXED);
    }

    /// Lets a thread that sleeps at `place`, while that holds `seen`, sleep on until the
    /// lock is released; false if nobody sleeps there.  The caller holds the lock.
    pub fn adopt(&self, place: &AtomicU32, seen: u32) -> bool {
        let room = self.word.load(Order::RELAXED) & ASLEEP != ASLEEP;
        let moved = room && move_sleeper(place, seen, &raw const self.word);
        if moved && !mutant(flaw::ADOPT_UNMARKED) {
            self.change(|word| word + 1);
        }
        moved
    }

    /// Whether a release owes nobody here a wake-up; the caller holds the lock.
    #[inline(always)]
    pub fn owes_nothing(&self) -> bool {
        self.word.load(Order::RELAXED) & ASLEEP == 0
    }

    /// Releases the lock, which the caller holds, by `release`, and wakes one thread that
    /// sleeps here; it owes somebody that.
    #[cold]
    pub fn release<R>(&self, release: impl FnOnce() -> R) -> R {
        self.change(|word| word - 1);
        let place = &raw const self.word;
        let result = release();
        // The lock may be gone by now: its address is a name.
        wake(place, 1, CLASS);
        result
    }
}
