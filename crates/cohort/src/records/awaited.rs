//! What a thread waits for, written down by that thread and read by a command while it changes.
//!
//! Neither waits for the other.  A reader that comes between two waits, or sees one begin or end
//! while it reads, takes the thread for one that waits for nothing.
//!
//! | field | written by | meaning |
//! |---|---|---|
//! | `turn` | the thread | goes up by one when a wait begins, so that it is odd then, and when it ends |
//! | `words` | the thread | what it waits for, whole while `turn` is odd |

use crate::door::{AtomicU32, AtomicU64, Order, flaws, mutant, orders};

orders! {
    /// A reader that sees that a wait has begun sees nothing of an earlier one in its words.
    WAIT_BEGIN = Release;
    /// The same, from the reader's side.
    WAIT_SEEN = Acquire;
    /// A reader that sees a word of a later wait sees that the one that it reads is over.
    WAIT_WORD = Release;
    /// The same, from the reader's side.
    WAIT_READ = Acquire;
}

flaws! {
    STAY = "awaited.stay";
}

/// What a thread waits for, in so many words; all zero when new: nothing.
#[derive(Debug)]
#[repr(C)]
pub struct Wait<const WORDS: usize> {
    turn: AtomicU32,
    words: [AtomicU64; WORDS],
}

impl<const WORDS: usize> Default for Wait<WORDS> {
    fn default() -> Self {
        Self {
            turn: AtomicU32::default(),
            words: core::array::from_fn(|_| AtomicU64::default()),
        }
    }
}

impl<const WORDS: usize> Wait<WORDS> {
    /// The calling thread, which alone writes here, begins to wait.
    #[inline]
    pub fn begin(&self, words: [u64; WORDS]) {
        if !mutant(flaw::STAY) {
            // A wait that cancellation ended did not say so.
            self.clear();
        }
        for (place, word) in self.words.iter().zip(words) {
            place.store(word, WAIT_WORD);
        }
        let turn = self.turn.load(Order::RELAXED);
        self.turn
            .store((turn | 1).wrapping_add((turn & 1) * 2), WAIT_BEGIN);
    }

    /// It has waited.
    #[inline]
    pub fn end(&self) {
        let turn = self.turn.load(Order::RELAXED);
        // What is read of a wait that has just ended was true a moment ago.
        self.turn.store((turn | 1).wrapping_add(1), Order::RELAXED);
    }

    /// It waits for nothing, whatever was written down before.
    pub fn clear(&self) {
        let turn = self.turn.load(Order::RELAXED);
        if turn & 1 == 1 {
            self.turn.store(turn.wrapping_add(1), Order::RELAXED);
        }
    }

    /// The number of the thread's wait, and what it waits for; none if it does not wait, or went on
    /// meanwhile.
    #[inline]
    pub fn read(&self) -> Option<(u32, [u64; WORDS])> {
        let turn = self.turn.load(WAIT_SEEN);
        if turn & 1 == 0 {
            return None;
        }
        let words = self.words.each_ref().map(|word| word.load(WAIT_READ));
        (self.turn.load(Order::RELAXED) == turn).then_some((turn, words))
    }
}
