//! A thread's wait, recorded by the thread and read by a command while it changes.
//!
//! Neither side waits for the other. A reader that falls between two waits, or sees one begin or
//! end, takes the thread for running.
//!
//! | field | written by | meaning |
//! |---|---|---|
//! | `turn` | the thread | incremented when a wait begins and when it ends, so odd during a wait |
//! | `words` | the thread | the wait, consistent while `turn` is odd |

use crate::door::{AtomicU32, AtomicU64, Order, flaws, mutant, orders};

orders! {
    /// A reader that sees a wait's beginning sees no words of an earlier wait.
    WAIT_BEGIN = Release;
    /// The same, from the reader's side.
    WAIT_SEEN = Acquire;
    /// A reader that sees a word of a later wait sees that the earlier one is over.
    WAIT_WORD = Release;
    /// The same, from the reader's side.
    WAIT_READ = Acquire;
}

flaws! {
    STAY = "awaited.stay";
}

/// A thread's wait in `WORDS` words; all zero when new: none.
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
    /// Begins a wait of the calling thread, the only writer.
    #[inline]
    pub fn begin(&self, words: [u64; WORDS]) {
        if !mutant(flaw::STAY) {
            // A cancelled wait did not record its end.
            self.clear();
        }
        for (place, word) in self.words.iter().zip(words) {
            place.store(word, WAIT_WORD);
        }
        let turn = self.turn.load(Order::RELAXED);
        self.turn
            .store((turn | 1).wrapping_add((turn & 1) * 2), WAIT_BEGIN);
    }

    /// Ends the wait.
    #[inline]
    pub fn end(&self) {
        let turn = self.turn.load(Order::RELAXED);
        // A reading of a wait that has just ended was true a moment ago.
        self.turn.store((turn | 1).wrapping_add(1), Order::RELAXED);
    }

    /// Records that the thread does not wait, whatever was recorded before.
    pub fn clear(&self) {
        let turn = self.turn.load(Order::RELAXED);
        if turn & 1 == 1 {
            self.turn.store(turn.wrapping_add(1), Order::RELAXED);
        }
    }

    /// The number of the thread's wait and its words; `None` if it does not wait, or went on
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
