//! Notification of a thread that published a section in a queue, for [`cc_synch`](super::cc_synch)
//! and [`sanl_plus`](super::sanl_plus).
//!
//! | word | meaning | written by |
//! |---|---|---|
//! | `WAIT` | the place's section is pending, or still to be published | the thread that appended the place |
//! | `DONE` | the section has been run | the holder |
//! | `RUNNING` | the section runs; used only where its thread may give up | the holder |
//! | `GONE` | its thread has given up: the place belongs to the holder that reaches it | its thread |
//! | `FIRST` | its thread is the queue head, without the lock, which it acquires elsewhere; in `sanl+` alone | a holder that frees the lock for threads outside the queue; the thread that made the place, for the queue head |
//! | `YOURS` | its thread holds the lock: it runs its own section and the sections behind it; larger values add a count of `sanl+` | the holder; the thread that made the place, for the queue head |
//!
//! A thread gives up by an exchange from `WAIT`; where it may, the holder begins a section by one,
//! too. A holder cannot know whether a future thread of the last place will give up. So it releases
//! the lock by an exchange, unless the lock knows that its threads never give up.

use crate::door::{Order, Tallied, flaws, mutant, orders, tally};
use crate::wait::{MayPark, Parking, WaitCell};
use cohort_raw::Patience;

orders! {
    /// Publishes a section's writes to its thread.
    TOLD_ANSWER = Release;
    /// Publishes the writes of all sections to the next holder; acquires the next place from a
    /// thread that gave up.
    TOLD_HAND = AcqRel;
    /// Publishes the writes of all sections where threads never give up.
    TOLD_LEAVE = Release;
    /// Reads the sections' writes.
    TOLD_SEEN = Acquire;
    /// Publishes the next place to the holder that finds this one abandoned.
    TOLD_GO = Release;
}

flaws! {
    /// A holder runs a section that its thread has taken back.
    RUN_GONE = "told.run-gone";
    /// The lock is handed to a thread that has given up.
    HAND_TO_GONE = "told.hand-to-gone";
    /// A thread gives up its place at its timeout, although its section has begun.
    GO_ANYWAY = "told.go-anyway";
}

pub(super) const WAIT: u32 = 0;
pub(super) const DONE: u32 = 1;
const RUNNING: u32 = 2;
const GONE: u32 = 3;
pub(super) const FIRST: u32 = 4;
pub(super) const YOURS: u32 = 5;

/// A place has one waiter.
const CLASS: u32 = 1;

/// Returns whether the word ends the thread's wait.
#[inline(always)]
const fn is_told(word: u32) -> bool {
    word == DONE || is_first(word)
}

/// Returns whether the place's thread is the queue head.
#[inline(always)]
const fn is_first(word: u32) -> bool {
    word >= FIRST
}

/// The word.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Told(WaitCell<MayPark>);

impl Told {
    /// Returns whether the place's current or future thread is the queue head. An arrival may
    /// change this at once.
    #[inline]
    pub(super) fn says_first(&self) -> bool {
        is_first(self.0.value(Order::RELAXED))
    }

    /// Returns whether the last holder has released the lock here. It does not touch the lock
    /// afterwards.
    pub(super) fn is_left(&self) -> bool {
        is_first(self.0.value(TOLD_SEEN))
    }

    /// Sets the word of an unpublished place.
    #[inline(always)]
    pub(super) fn reset(&self, word: u32) {
        self.0.reset(word);
    }

    /// Blocks until the thread is notified, and returns the word.
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

    /// Waits no longer than `patience` lasts, unless the section has begun. Returns nothing if the
    /// thread has given up: then the place belongs to the holder.
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

    /// Begins the section of a thread that may give up; false if it has, and then the place is the
    /// caller's.
    pub(super) fn begin<P: Parking>(&self) -> bool {
        let cell = self.0.in_form::<P>();
        cell.change(WAIT, RUNNING, Order::RELAXED) || mutant(flaw::RUN_GONE)
    }

    /// Notifies the thread that its section has been run.
    #[inline(always)]
    pub(super) fn answer<P: Parking>(&self) {
        self.0.in_form::<P>().set(DONE, TOLD_ANSWER);
    }

    /// Hands the lock to the current or future thread of the place; false if it has given up: then
    /// the place is the caller's, which still holds the lock. Also false if the lock was handed
    /// there before.
    #[inline(always)]
    pub(super) fn hand<P: Parking>(&self) -> bool {
        self.hand_as::<P>(YOURS)
    }

    /// [`hand`](Self::hand) by another word: `FIRST`, or more than `YOURS`.
    #[inline(always)]
    pub(super) fn hand_as<P: Parking>(&self, word: u32) -> bool {
        let was = self.0.in_form::<P>().swap(word, TOLD_HAND);
        !(was == GONE || is_first(was)) || mutant(flaw::HAND_TO_GONE)
    }

    /// Hands the lock by a store to the current or future thread of the place, which never gives
    /// up. The caller's waiters never sleep.
    #[inline(always)]
    pub(super) fn leave<P: Parking>(&self, word: u32) {
        self.0.in_form::<P>().set(word, TOLD_LEAVE);
    }
}
