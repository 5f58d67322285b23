//! What the thread that brought a section to a queue is told of it: in [`cc_synch`](super::cc_synch)
//! and [`sanl_plus`](super::sanl_plus).
//!
//! | word | meaning | written by |
//! |---|---|---|
//! | `WAIT` | what was brought is to be run | the thread that made the place for it |
//! | `DONE` | it has been run | the holder |
//! | `RUNNING` | that has begun; said only where its thread may give up | the holder |
//! | `GONE` | its thread has given up: the place is that of the holder which comes to it | its thread |
//! | `FIRST` | its thread is the first in the queue, without the lock, for which it looks elsewhere; in `sanl+` alone | a holder that leaves the lock to others than the queue; the thread that made the place, for the first in the queue |
//! | `YOURS` | its thread has the lock: it runs what it brought, and what stands behind it; and, by how much the word is more, what `sanl+` counts | the holder; the thread that made the place, for the first in the queue |
//!
//! A thread gives up by an exchange from `WAIT`, and the holder begins by one where the thread may.
//! A holder cannot know of the last place in the queue whether the thread that comes there will give up, so
//! it leaves the lock by an exchange, too; unless its lock knows that no thread does.

use crate::door::{Order, Tallied, flaws, mutant, orders, tally};
use crate::wait::{MayPark, Parking, WaitCell};
use cohort_raw::Patience;

orders! {
    /// What a section did is seen by its thread.
    TOLD_ANSWER = Release;
    /// What all of them did is seen by the next holder; and the place behind one that is left, by
    /// the thread that finds that.
    TOLD_HAND = AcqRel;
    /// The same where no thread gives up.
    TOLD_LEAVE = Release;
    /// Sees what sections did.
    TOLD_SEEN = Acquire;
    /// The place behind is seen by the holder that finds this one left.
    TOLD_GO = Release;
}

flaws! {
    /// A holder runs what its thread has taken back.
    RUN_GONE = "told.run-gone";
    /// The lock is left to a thread that has given up.
    HAND_TO_GONE = "told.hand-to-gone";
    /// A thread leaves its place when its time is up, although its section has begun.
    GO_ANYWAY = "told.go-anyway";
}

pub(super) const WAIT: u32 = 0;
pub(super) const DONE: u32 = 1;
const RUNNING: u32 = 2;
const GONE: u32 = 3;
pub(super) const FIRST: u32 = 4;
pub(super) const YOURS: u32 = 5;

/// One waits for a place.
const CLASS: u32 = 1;

/// Whether that is what its thread waits for.
#[inline(always)]
const fn is_told(word: u32) -> bool {
    word == DONE || is_first(word)
}

/// Whether nobody is before its thread in the queue.
#[inline(always)]
const fn is_first(word: u32) -> bool {
    word >= FIRST
}

/// The word.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Told(WaitCell<MayPark>);

impl Told {
    /// Whether its thread, if one has come, is the first in the queue; which may change as soon as it comes.
    #[inline]
    pub(super) fn says_first(&self) -> bool {
        is_first(self.0.value(Order::RELAXED))
    }

    /// Whether the last holder has left the lock here, after which it does not touch that.
    pub(super) fn is_left(&self) -> bool {
        is_first(self.0.value(TOLD_SEEN))
    }

    /// Says so while nobody else looks at it.
    #[inline(always)]
    pub(super) fn reset(&self, word: u32) {
        self.0.reset(word);
    }

    /// Blocks until something is told; what.
    #[inline(always)]
    pub(super) fn wait<P: Parking>(&self) -> u32 {
        let cell = self.0.in_form::<P>();
        let told = cell.value(TOLD_SEEN);
        if is_told(told) {
            return told;
        }
        cell.wait_for(TOLD_SEEN, CLASS, is_told);
        cell.value(TOLD_SEEN)
    }

    /// The same, no longer than `patience` lasts, unless the section has begun; nothing if its thread
    /// has given up.  The place is no longer the caller's then.
    pub(super) fn wait_within<P: Parking>(&self, patience: &Patience) -> Option<u32> {
        let cell = self.0.in_form::<P>();
        if cell.wait_within(TOLD_SEEN, CLASS, is_told, patience) {
            return Some(cell.value(TOLD_SEEN));
        }
        if cell.exchange(WAIT, GONE, TOLD_GO, Order::RELAXED) || mutant(flaw::GO_ANYWAY) {
            tally(Tallied::Withdrawals, 1);
            return None;
        }
        Some(self.wait::<P>())
    }

    /// Begins what was brought by a thread that may give up; false if it has: then the place is the
    /// caller's.
    pub(super) fn begin<P: Parking>(&self) -> bool {
        let cell = self.0.in_form::<P>();
        cell.change(WAIT, RUNNING, Order::RELAXED) || mutant(flaw::RUN_GONE)
    }

    /// Tells the thread that its section has been run.
    #[inline(always)]
    pub(super) fn answer<P: Parking>(&self) {
        self.0.in_form::<P>().set(DONE, TOLD_ANSWER);
    }

    /// Leaves the lock to the thread that brings something here, now or later; false if that has given
    /// up: then the place is the caller's, which still has the lock.  False again where this was said
    /// before.
    #[inline(always)]
    pub(super) fn hand<P: Parking>(&self) -> bool {
        self.hand_as::<P>(YOURS)
    }

    /// The same by another word: `FIRST`, or more than `YOURS`.
    #[inline(always)]
    pub(super) fn hand_as<P: Parking>(&self, word: u32) -> bool {
        let was = self.0.in_form::<P>().swap(word, TOLD_HAND);
        !(was == GONE || is_first(was)) || mutant(flaw::HAND_TO_GONE)
    }

    /// Leaves the lock by that word to the thread that brings something here, now or later, and does not
    /// give up: by a store, if it never sleeps.
    #[inline(always)]
    pub(super) fn leave<P: Parking>(&self, word: u32) {
        self.0.in_form::<P>().set(word, TOLD_LEAVE);
    }
}
