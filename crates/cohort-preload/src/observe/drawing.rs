//! A thread's selection of the acquisitions to time, and of the stacks to store.

use cohort::door::now;
use cohort::records::{Beginnings, Draws, TALLIES, Terms};
use core::cell::Cell;
use core::ptr;

/// One in this many contended acquisitions has its stack stored, if there is room.
const CONTENDED: u8 = 8;

/// A thread's selection of acquisitions to time. Initially all zero.
#[repr(C)]
pub struct Drawing {
    /// By a tally's index, the count of its next draw.
    due: [Cell<u32>; TALLIES],
    /// The draws of each tally's pair.
    draws: [Draws; TALLIES],
    /// Their substitutes while the cost of records is measured; null: none.
    others: Cell<*const [Draws; TALLIES]>,
    beginnings: Beginnings,
    random: Cell<u64>,
    /// Contended acquisitions before the next stored stack.
    stack_in: Cell<u8>,
}

impl Drawing {
    /// Draws afresh: in a fork's child, or under another watch.
    pub fn forget(&self) {
        for (due, draws) in self.due.iter().zip(&self.draws) {
            due.set(draws.begin(0, self.random()));
        }
    }

    /// Runs `run` with other draws: each acquisition is drawn, unless [`hold_off`](Self::hold_off)
    /// changes that.
    pub fn in_others(&self, draws: &'static [Draws; TALLIES], run: impl FnOnce()) {
        let kept = self.due.clone();
        self.others.set(draws);
        self.hold_off(false);
        run();
        self.others.set(ptr::null());
        for (due, kept) in self.due.iter().zip(kept) {
            due.set(kept.get());
        }
    }

    /// Makes no acquisition drawn, or each.
    pub fn hold_off(&self, off: bool) {
        for due in &self.due {
            due.set(if off { u32::MAX } else { 0 });
        }
    }

    /// Whether the cost of records is being measured.
    pub fn is_in_others(&self) -> bool {
        !self.others.get().is_null()
    }

    /// Whether a pair with that count is due for a draw.
    #[inline(always)]
    pub fn is_due(&self, place: usize, count: u32) -> bool {
        count >= self.due[place].get()
    }

    fn draws(&self, place: usize) -> &Draws {
        // SAFETY: null, or draws that live as long as the process.
        let others = unsafe { self.others.get().as_ref() };
        &others.unwrap_or(&self.draws)[place]
    }

    pub fn random(&self) -> u64 {
        let mut random = self.random.get();
        if random == 0 {
            random = (ptr::from_ref(self).addr() as u64 ^ now()) | 1;
        }
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        self.random.set(random);
        // The lowest bits have the least randomness.
        random.wrapping_mul(0x2545_f491_4f6c_dd1d).swap_bytes()
    }

    /// Begins to draw for a tally's new pair.
    pub fn begin(&self, place: usize) {
        if self.is_in_others() {
            return;
        }
        let due = self.draws[place].begin(self.beginnings.doubled(), self.random());
        self.due[place].set(due);
    }

    /// Draws at an acquisition that [is due](Self::is_due). Returns the sampling rate's power of
    /// two if its hold is timed.
    pub fn come(&self, terms: &Terms, place: usize, count: u32) -> Option<u8> {
        let (drawn, after) = self.draws(place).come(terms);
        if self.is_in_others() {
            return drawn;
        }
        self.due[place].set(count.saturating_add(after));
        if drawn.is_some() && count == 1 {
            self.beginnings.took(terms);
        } else {
            self.beginnings.pass(terms);
        }
        drawn
    }

    /// Draws for a contended acquisition; as [`come`](Self::come).
    pub fn waits(&self, terms: &Terms, place: usize) -> Option<u8> {
        self.draws(place).waits(terms)
    }

    /// Whether to store the stack of a contended acquisition.
    pub fn keeps_stack(&self) -> bool {
        let left = self.stack_in.get();
        self.stack_in
            .set(left.checked_sub(1).unwrap_or(CONTENDED - 1));
        left == 0
    }
}
