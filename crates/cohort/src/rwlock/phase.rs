//! How a writer closes a lock to readers that are counted elsewhere than in one word.
//!
//! | bits of the word | meaning | set and cleared by |
//! |---|---|---|
//! | none | open | the writer that leaves |
//! | `PENDING` | a writer waits for readers: new ones wait behind it | the writer |
//! | `WRITING` | it does not any more, or soon finds out: nobody reads | the writer |
//! | `LEAVING` | the writer has done, and opens the lock as soon as it has released theirs | the writer, where it may not touch the lock afterwards |
//! | `ASLEEP` | readers, or a writer that finds `LEAVING`, sleep until it is open | they; the writer that opens it |
//! | `ASLEEP_PASSING` | readers that pass a waiting writer sleep until it waits | they; a writer that opens it or goes back to waiting |
//! | `PASSED_AT` | when a reader passed (`deference.rs`) the waiting writer | that reader; the writer that opens it |
//!
//! **Agreement.**  A reader counts itself and then looks at the phase; a writer sets
//! `WRITING` and then looks at the counts; between the two each passes a full fence.  So
//! a reader that finds no `WRITING` is counted by the writer.  One that finds it is
//! counted for a moment all the same, and takes that back.  The writer never waits for
//! readers in `WRITING`: it goes back to `PENDING`, because readers may be inside that
//! have still to pass it.
//!
//! **What passes.**  A thread that holds a read lock already, of whichever lock, passes
//! `PENDING`: it might hold this one, and waiting behind a writer would never end.  Any
//! other reader passes after five milliseconds, since a reader that is inside might wait
//! for it; those that arrive then follow it, as `deference.rs` says, and so do tries and
//! short waits.  [`Recursion::Excluded`] does away with all of it.
//!
//! **Fairness.**  A reader that waits is owed entry: at once in the neutral form, after
//! five milliseconds in the one that prefers writers.  After some writers in a row one
//! that finds anybody owed when it leaves opens the lock, and one that comes then waits,
//! with the lock open, until nobody is: no reader becomes owed that finds the lock open, so
//! that is soon.  So no more than those and two writers get in before a reader that is
//! owed, and readers that do not pass hold up a writer no longer than those inside take.
//! Among writers it is as fair as their lock.
//! Only sections longer than five milliseconds, overlapping for ever, keep a writer out,
//! since their readers pass; unless recursion is excluded.

use super::deference::{DEFERENCE_NANOSECONDS, PassedAt, has_deferred, is_let_in};
use crate::door::{
    Advice, AtomicU32, Order, Spinner, at_most, fence_after_update, flaws, mutant, now, orders,
    runs_out, sleep_within, thread, wake,
};
use cohort_raw::{Outcome, Patience, Recursion};

orders! {
    /// Between counting oneself and looking at the phase: either the reader sees that
    /// the lock is closed, or the writer that closes it counts the reader.
    RWC_ARRIVE = SeqCst;
    /// The same, from the writer's side.
    RWC_CLOSE = SeqCst;
    /// A reader sees what the last writer did.
    RWC_READ = Acquire;
    /// A writer sees that all readers have read.
    RWC_WRITE = Acquire;
    /// What a writer did is seen by readers; the next writers' updates of the phase go on
    /// publishing it.
    RWC_WRITE_DONE = Release;
}

flaws! {
    STAY_CLOSED = "rw-phase.stay-closed";
    BAR_EVERYBODY = "rw-phase.bar-everybody";
    STAY_OWED = "rw-phase.stay-owed";
    FORGET_READERS = "rw-phase.forget-readers";
    OVERTAKE = "rw-phase.overtake";
    LOOK_ONCE = "rw-phase.look-once";
    FORGET_OWED = "rw-phase.forget-owed";
    LEAVE_PENDING = "rw-phase.leave-pending";
    FORGET_PASSING = "rw-phase.forget-passing";
}

pub(super) const OPEN: u32 = 0;
const PENDING: u32 = 1;
const WRITING: u32 = 2;
pub(super) const CLOSED: u32 = PENDING | WRITING;
const ASLEEP: u32 = 4;
const ASLEEP_PASSING: u32 = 8;
const LEAVING: u32 = 16;
/// When a reader passed the waiting writer.  The bits between are the lock's.
const PASSED_AT: u32 = 0xff00_0000;

/// Classes of sleepers on the phase.
const WAITING: u32 = 1;
const PASSING: u32 = 2;
const EVERY_CLASS: u32 = WAITING | PASSING;

/// Where readers are counted: those inside, and those that are owed entry.
pub(super) trait Indicators {
    /// Where one reader is counted.
    type Place: Copy;

    /// Counts a reader of that cohort, which is inside, or about to see that it may not.
    fn enter(&self, cohort: usize) -> Self::Place;

    /// One less of those, where it was counted; it has read nothing.
    fn take_back(&self, place: Self::Place);

    /// Whether nobody reads, or is about to see that it may not.  If no reader gets in any
    /// more, that stays so.
    fn is_idle(&self, order: Order) -> bool;

    /// Blocks until that was so or patience runs out; for the holder of the writers' lock.
    fn wait_until_idle(&self, patience: &Patience) -> Outcome;

    /// Counts a reader of that cohort that is let in before the next writer.
    fn owe(&self, cohort: usize) -> Self::Place;

    /// One less of those, where it was counted.
    fn pay(&self, place: Self::Place);

    /// Whether there are any: a hint.
    fn owes(&self) -> bool;

    /// Blocks until there are none, and tells whether nobody reads, as a hint; none if
    /// patience runs out.  For the holder of the writers' lock.
    fn wait_until_paid(&self, patience: &Patience) -> Option<bool>;
}

/// Of a writer that leaves after `turn` others in a row, with another that waits: the next
/// one's turn, if the lock stays closed for it; none if readers have to be let in.
pub(super) fn next_turn(turn: u32, most: u32, owes: impl FnOnce() -> bool) -> Option<u32> {
    let stays = turn < most || !owes() || mutant(flaw::STAY_CLOSED);
    stays.then_some((turn + 1).min(most))
}

/// A lock's phase, with the readers that mind it; whether neither side is preferred.
pub(super) struct Phase<'a, I: ?Sized> {
    pub word: &'a AtomicU32,
    pub readers: &'a I,
    pub is_neutral: bool,
}

impl<I: Indicators + ?Sized> Phase<'_, I> {
    /// Whether it bars the readers that those bits bar.
    #[inline(always)]
    fn bars(&self, barring: u32, order: Order) -> bool {
        self.word.load(order) & barring != 0
    }

    /// Whether a writer holds the lock, or tries to.
    #[inline(always)]
    pub fn is_writing(&self) -> bool {
        self.bars(WRITING, Order::RELAXED)
    }

    /// Gets in unless it bars the readers that those bits bar; where the caller is counted then.
    #[inline(always)]
    fn arrive(&self, cohort: usize, barring: u32) -> Option<I::Place> {
        let place = self.readers.enter(cohort);
        fence_after_update(RWC_ARRIVE);
        if self.bars(barring, RWC_READ) {
            self.readers.take_back(place);
            return None;
        }
        let reading = &thread().reading;
        reading.set(reading.get() + 1);
        Some(place)
    }

    /// Gets in as one that holds no lock, if that is possible at once.
    #[inline(always)]
    pub fn read_at_once(&self, cohort: usize) -> Option<I::Place> {
        self.read_at_once_past(cohort, CLOSED)
    }

    /// The same, as one that those bits bar.
    #[inline(always)]
    fn read_at_once_past(&self, cohort: usize, barring: u32) -> Option<I::Place> {
        if self.bars(barring, Order::RELAXED) {
            return None;
        }
        self.arrive(cohort, barring)
    }

    /// Gets in without waiting.
    #[inline]
    pub fn try_read(&self, cohort: usize, recursion: Recursion) -> Option<I::Place> {
        let passes = recursion == Recursion::Allowed && thread().reading.get() > 0;
        let place = if passes {
            self.read_at_once_past(cohort, WRITING)
        } else {
            let place = self.read_at_once(cohort);
            place.or_else(|| self.try_read_late(cohort, recursion))
        };
        if place.is_some() {
            is_let_in();
        }
        place
    }

    /// The same, by a thread that may have been refused by a waiting writer alone.
    #[cold]
    fn try_read_late(&self, cohort: usize, recursion: Recursion) -> Option<I::Place> {
        let phase = self.word.load(Order::RELAXED);
        if recursion == Recursion::Excluded || phase & CLOSED != PENDING {
            return None;
        }
        if !PassedAt::<PASSED_AT>::is_recent(phase) {
            if !has_deferred() {
                return None;
            }
            self.note_passing();
        }
        self.read_at_once_past(cohort, WRITING)
    }

    /// A reader passes the waiting writer: arriving readers, and those asleep, follow.
    fn note_passing(&self) {
        let mut phase = self.word.load(Order::RELAXED);
        while phase & CLOSED == PENDING {
            let noted = PassedAt::<PASSED_AT>::noted(phase);
            if noted == phase {
                return;
            }
            match self
                .word
                .compare_exchange(phase, noted & !ASLEEP, Order::RELAXED, Order::RELAXED)
            {
                Ok(_) if phase & ASLEEP != 0 => return self.wake_readers(WAITING),
                Ok(_) => return,
                Err(now) => phase = now,
            }
        }
    }

    /// Blocks until the caller is in or patience runs out.
    #[cold]
    pub fn read_contended(
        &self,
        cohort: usize,
        recursion: Recursion,
        patience: &Patience,
    ) -> Option<I::Place> {
        let recurses = recursion == Recursion::Allowed;
        let mut passes = recurses && thread().reading.get() > 0;
        if mutant(flaw::BAR_EVERYBODY) {
            passes = false;
        }
        let mut owed = None;
        // Whether the caller waits differently after a time.
        let mut defers = !self.is_neutral || (recurses && !passes);
        let until = now() + DEFERENCE_NANOSECONDS;
        let spins = || {
            // A turn given away may last longer than the deadline.
            if patience.is_endless() {
                Spinner::new()
            } else {
                Spinner::keeping_turns()
            }
        };
        let mut spinner = spins();
        let place = loop {
            let phase = self.word.load(Order::RELAXED);
            passes |= recurses && PassedAt::<PASSED_AT>::is_recent(phase);
            let barring = if passes { WRITING } else { CLOSED };
            if phase & barring == 0 {
                let place = self.arrive(cohort, barring);
                if place.is_some() {
                    break place;
                }
                continue;
            }
            if self.is_neutral && owed.is_none() {
                owed = Some(self.readers.owe(cohort));
            }
            if runs_out(patience) {
                // One that passes is barred by a writer that writes.
                if !recurses || passes || phase & WRITING != 0 || !has_deferred() {
                    break None;
                }
                passes = true;
                self.note_passing();
                continue;
            }
            if defers && now() > until {
                defers = false;
                if recurses {
                    passes = true;
                    self.note_passing();
                }
                if owed.is_none() {
                    owed = Some(self.readers.owe(cohort));
                }
                continue;
            }
            if spinner.step() == Advice::Sleep {
                if defers {
                    let left = until.saturating_sub(now());
                    self.sleep(phase, passes, &at_most(patience, left));
                } else {
                    self.sleep(phase, passes, patience);
                }
                spinner = spins();
            }
        };
        if let Some(owed) = owed
            && (place.is_some() || !mutant(flaw::STAY_OWED))
        {
            self.readers.pay(owed);
        }
        if place.is_some() {
            is_let_in();
        }
        place
    }

    /// Sleeps on a phase that was seen, unless it has changed.
    fn sleep(&self, phase: u32, passes: bool, patience: &Patience) {
        let (mark, class) = if passes {
            (ASLEEP_PASSING, PASSING)
        } else {
            (ASLEEP, WAITING)
        };
        let marked = phase | mark;
        if phase == marked
            || self
                .word
                .compare_exchange(phase, marked, Order::RELAXED, Order::RELAXED)
                .is_ok()
        {
            let _ = sleep_within(self.word, marked, class, patience);
        }
    }

    /// Wakes every reader of those classes.
    #[cold]
    fn wake_readers(&self, classes: u32) {
        if !mutant(flaw::FORGET_READERS) {
            wake(core::ptr::from_ref(self.word), i32::MAX as u32, classes);
        }
    }

    /// Lets readers in; the caller holds the writers' lock.
    #[inline]
    pub fn open(&self) {
        if self.word.swap(OPEN, RWC_WRITE_DONE) & (ASLEEP | ASLEEP_PASSING) != 0 {
            self.wake_readers(EVERY_CLASS);
        }
    }

    /// Says that the caller, which holds the writers' lock, [opens](Self::open) this one
    /// after it has released that: then opening is the last that it touches of either.
    #[inline]
    pub fn leave(&self) {
        self.word.fetch_or(LEAVING, Order::RELAXED);
    }

    /// Whether the last writer has not opened it yet that is about to.
    #[inline(always)]
    fn is_being_left(&self) -> bool {
        self.bars(LEAVING, Order::RELAXED) && !mutant(flaw::OVERTAKE)
    }

    /// Bars readers for good if nobody is inside; the caller holds the writers' lock.
    #[inline]
    fn bar(&self) -> bool {
        self.word.fetch_or(CLOSED, Order::RELAXED);
        fence_after_update(RWC_CLOSE);
        self.readers.is_idle(RWC_WRITE) || mutant(flaw::LOOK_ONCE)
    }

    /// Bars readers if nobody is inside or owed entry; the caller holds the writers' lock.
    /// If not, the lock is open, or about to be.
    pub fn try_close(&self) -> bool {
        if self.is_being_left() {
            return false;
        }
        if self.is_writing() {
            return true;
        }
        if self.readers.is_idle(Order::RELAXED) && !self.readers.owes() {
            if self.bar() {
                return true;
            }
            self.open();
        }
        false
    }

    /// Blocks until nobody reads or patience runs out; the caller holds the writers'
    /// lock.
    #[inline]
    pub fn close(&self, patience: &Patience) -> Outcome {
        if self.is_being_left() {
            let mut spinner = Spinner::new();
            while self.is_being_left() {
                if runs_out(patience) {
                    return Outcome::GaveUp;
                }
                // The last writer may need this thread's CPU.  Opening the lock wakes the
                // threads that sleep on the phase.
                if spinner.step() == Advice::Sleep {
                    let phase = self.word.load(Order::RELAXED);
                    if phase & LEAVING != 0 {
                        self.sleep(phase, false, patience);
                    }
                }
            }
        }
        // Left closed by the last writer.
        if self.is_writing() {
            return Outcome::Acquired;
        }
        let empty = if mutant(flaw::FORGET_OWED) {
            self.readers.is_idle(Order::RELAXED)
        } else {
            match self.readers.wait_until_paid(patience) {
                Some(empty) => empty,
                None => return Outcome::GaveUp,
            }
        };
        if empty && self.bar() {
            return Outcome::Acquired;
        }
        self.close_contended(patience)
    }

    #[cold]
    fn close_contended(&self, patience: &Patience) -> Outcome {
        loop {
            self.retreat();
            if self.readers.wait_until_idle(patience) == Outcome::GaveUp {
                if !mutant(flaw::LEAVE_PENDING) {
                    self.open();
                }
                return Outcome::GaveUp;
            }
            // Readers that pass may have come in the meantime.
            if self.bar() {
                return Outcome::Acquired;
            }
        }
    }

    /// Lets readers in that pass a waiting writer, and no others.
    fn retreat(&self) {
        let mut old = self.word.load(Order::RELAXED);
        loop {
            let new = old & !(WRITING | ASLEEP_PASSING) | PENDING;
            match self
                .word
                .compare_exchange(old, new, Order::RELAXED, Order::RELAXED)
            {
                Ok(_) => break,
                Err(now) => old = now,
            }
        }
        if old & ASLEEP_PASSING != 0 && !mutant(flaw::FORGET_PASSING) {
            self.wake_readers(PASSING);
        }
    }
}
