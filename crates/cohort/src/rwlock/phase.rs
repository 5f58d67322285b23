//! How a writer closes a lock whose readers are counted in several places.
//!
//! | bits of the word | meaning | set and cleared by |
//! |---|---|---|
//! | none | open | the releasing writer |
//! | `PENDING` | a writer waits for readers: new ones wait behind it | the writer |
//! | `WRITING` | the writer holds the lock, or is about to check that no reader does | the writer |
//! | `LEAVING` | the writer opens the lock after releasing the writers' lock | the writer of an object |
//! | `ASLEEP` | readers, or the next writer, sleep until the lock is open | they; the writer that opens it |
//! | `ASLEEP_PASSING` | passing readers sleep until `WRITING` is clear | they; the writer that clears it |
//! | `PASSED_AT` | when a reader passed the waiting writer | that reader; the writer that opens it |
//!
//! **Agreement.** A reader counts itself and then reads the phase; a writer sets `WRITING` and then
//! reads the counts; each passes a full fence in between. So the writer counts every reader that
//! finds no `WRITING`. A reader that finds it was counted for a moment and takes that back. A
//! writer never waits for readers in `WRITING`: it goes back to `PENDING`, since the readers inside
//! may depend on readers that have yet to pass it.
//!
//! **Passing.** A thread that holds a read lock of any lock passes `PENDING`: it might hold this
//! one, and waiting behind a writer would never end. Any other reader passes after five
//! milliseconds, since a reader inside might wait for it. Later readers then follow it, as
//! `deference.rs` says, and so do tries and short waits. [`Recursion::Excluded`] turns all of this
//! off.
//!
//! **Fairness.** A waiting reader is owed entry: at once in the neutral form, after five
//! milliseconds in the writer-preferring form. After a bounded run of writers, a releasing writer
//! that finds a reader owed entry opens the lock. The next writer waits, with the lock open, until
//! no reader is owed entry; that is soon, since a reader that finds the lock open is never owed. So
//! at most that run and two more writers acquire before a reader that is owed entry. Readers that
//! do not pass delay a writer no longer than the readers inside take. Among writers, the lock is as
//! fair as the writers' lock. Only sections longer than five milliseconds, overlapping for ever,
//! starve a writer, since their readers pass; unless recursion is excluded.

use super::deference::{DEFERENCE_NANOSECONDS, PassedAt, has_deferred, is_let_in};
use crate::door::{
    Advice, AtomicU32, Order, Spinner, at_most, fence_after_update, flaws, has_waited, mutant, now,
    orders, policies, runs_out, sleep_within, thread, waits_often, wake,
};
use cohort_raw::{Outcome, Patience, Recursion};
use core::cell::Cell;

orders! {
    /// Between a reader's count and its look at the phase: either the reader sees that the lock is
    /// closed, or the closing writer counts the reader.
    RWC_ARRIVE = SeqCst;
    /// The same, from the writer's side.
    RWC_CLOSE = SeqCst;
    /// A reader sees what the last writer did.
    RWC_READ = Acquire;
    /// A writer sees that all readers are done.
    RWC_WRITE = Acquire;
    /// Readers see what a writer did. The next writers' updates of the phase go on publishing it.
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

policies! {
    /// Readers of the writer-preferring form are owed entry at once.
    PREFER_NOBODY = "rw-phase.prefer-nobody";
}

pub(super) const OPEN: u32 = 0;
const PENDING: u32 = 1;
const WRITING: u32 = 2;
pub(super) const CLOSED: u32 = PENDING | WRITING;
const ASLEEP: u32 = 4;
const ASLEEP_PASSING: u32 = 8;
const LEAVING: u32 = 16;
/// When a reader passed the waiting writer. The bits between belong to the lock.
const PASSED_AT: u32 = 0xff00_0000;

/// Classes of sleepers on the phase.
const WAITING: u32 = 1;
const PASSING: u32 = 2;
const EVERY_CLASS: u32 = WAITING | PASSING;

/// The counts of readers: readers inside, and readers owed entry.
pub(super) trait Indicators {
    /// Where one reader is counted.
    type CountedAt: Copy;

    /// Counts a reader of that cohort, which is inside or about to find the lock barred.
    fn enter(&self, cohort: usize) -> Self::CountedAt;

    /// Uncounts such a reader where it was counted; it has read nothing.
    fn take_back(&self, place: Self::CountedAt);

    /// Whether no reader is inside or about to find the lock barred. Stays true while the lock
    /// admits no reader.
    fn is_idle(&self, order: Order) -> bool;

    /// Blocks until idle, or until patience runs out; for the holder of the writers' lock.
    fn wait_until_idle(&self, patience: &Patience, wait: &Wait) -> Outcome;

    /// Counts a reader of that cohort as owed entry before the next writer.
    fn owe(&self, cohort: usize) -> Self::CountedAt;

    /// Uncounts such a reader where it was counted.
    fn pay(&self, place: Self::CountedAt);

    /// Whether a reader is owed entry: a hint.
    fn owes(&self) -> bool;

    /// Blocks until no reader is owed entry, then returns whether the lock is idle, as a hint;
    /// `None` if patience runs out. For the holder of the writers' lock.
    fn wait_until_paid(&self, patience: &Patience, wait: &Wait) -> Option<bool>;
}

/// A wait for several counts, one after the other: recorded as one, if the thread waits at all.
#[derive(Debug, Default)]
pub(super) struct Wait {
    /// Whether the thread seldom waits, once it does.
    seldom: Cell<Option<bool>>,
}

impl Wait {
    /// Whether the calling thread seldom waits. Begins the wait.
    pub(super) fn is_rare(&self) -> bool {
        let seldom = self.seldom.get().unwrap_or_else(|| !waits_often());
        self.seldom.set(Some(seldom));
        seldom
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        if self.seldom.get().is_some() {
            has_waited();
        }
    }
}

/// The next writer's turn, if the lock stays closed for it; `None` if readers must be let in. The
/// releasing writer follows `turn` others in a row, and another waits.
pub(super) fn next_turn(turn: u32, most: u32, owes: impl FnOnce() -> bool) -> Option<u32> {
    let stays = turn < most || !owes() || mutant(flaw::STAY_CLOSED);
    stays.then_some((turn + 1).min(most))
}

/// A lock's phase, with its readers' counts; whether neither side is preferred.
pub(super) struct Phase<'a, I: ?Sized> {
    pub word: &'a AtomicU32,
    pub readers: &'a I,
    pub is_neutral: bool,
}

impl<I: Indicators + ?Sized> Phase<'_, I> {
    /// Whether any of those bits is set.
    #[inline(always)]
    fn bars(&self, barring: u32, order: Order) -> bool {
        self.word.load(order) & barring != 0
    }

    /// Whether a writer holds the lock or tries to.
    #[inline(always)]
    pub fn is_writing(&self) -> bool {
        self.bars(WRITING, Order::RELAXED)
    }

    /// Acquires to read unless one of those bits is set; returns where the caller is counted.
    #[inline(always)]
    fn arrive(&self, cohort: usize, barring: u32) -> Option<I::CountedAt> {
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

    /// Acquires to read at once, for a thread without read locks, if possible.
    #[inline(always)]
    pub fn read_at_once(&self, cohort: usize) -> Option<I::CountedAt> {
        self.read_at_once_past(cohort, CLOSED)
    }

    /// The same, with those bits as the bars.
    #[inline(always)]
    fn read_at_once_past(&self, cohort: usize, barring: u32) -> Option<I::CountedAt> {
        if self.bars(barring, Order::RELAXED) {
            return None;
        }
        self.arrive(cohort, barring)
    }

    /// Acquires to read without waiting.
    #[inline]
    pub fn try_read(&self, cohort: usize, recursion: Recursion) -> Option<I::CountedAt> {
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

    /// The same, for a thread perhaps refused only by a waiting writer.
    #[cold]
    fn try_read_late(&self, cohort: usize, recursion: Recursion) -> Option<I::CountedAt> {
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

    /// Notes that a reader passes the waiting writer: arriving and sleeping readers follow.
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

    /// Blocks until the caller holds the lock to read, or patience runs out.
    #[cold]
    pub fn read_contended(
        &self,
        cohort: usize,
        recursion: Recursion,
        patience: &Patience,
    ) -> Option<I::CountedAt> {
        let recurses = recursion == Recursion::Allowed;
        let mut passes = recurses && thread().reading.get() > 0;
        if mutant(flaw::BAR_EVERYBODY) {
            passes = false;
        }
        let mut owed = None;
        // Whether the caller changes its way of waiting after a time.
        let is_neutral = self.is_neutral || mutant(policy::PREFER_NOBODY);
        let mut defers = !is_neutral || (recurses && !passes);
        let until = now() + DEFERENCE_NANOSECONDS;
        // A yielded time slice may outlast the deadline.
        let seldom = !waits_often() || !patience.is_endless();
        let spins = || Spinner::sparing_turns(seldom);
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
            if is_neutral && owed.is_none() {
                owed = Some(self.readers.owe(cohort));
            }
            if runs_out(patience) {
                // A reader that passes is barred only by an active writer.
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
        has_waited();
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

    /// Sleeps on a phase seen before, unless it has changed.
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

    /// Opens the lock to readers; the caller holds the writers' lock.
    #[inline]
    pub fn open(&self) {
        if self.word.swap(OPEN, RWC_WRITE_DONE) & (ASLEEP | ASLEEP_PASSING) != 0 {
            self.wake_readers(EVERY_CLASS);
        }
    }

    /// Announces that the caller, which holds the writers' lock, [opens](Self::open) this lock
    /// after releasing that one: opening is then its last access to either.
    #[inline]
    pub fn leave(&self) {
        self.word.fetch_or(LEAVING, Order::RELAXED);
    }

    /// Whether the last writer is still about to open the lock.
    #[inline(always)]
    fn is_being_left(&self) -> bool {
        self.bars(LEAVING, Order::RELAXED) && !mutant(flaw::OVERTAKE)
    }

    /// Closes the lock to readers if none is inside; the caller holds the writers' lock.
    #[inline]
    fn bar(&self) -> bool {
        self.word.fetch_or(CLOSED, Order::RELAXED);
        fence_after_update(RWC_CLOSE);
        self.readers.is_idle(RWC_WRITE) || mutant(flaw::LOOK_ONCE)
    }

    /// Closes the lock if no reader is inside or owed entry; the caller holds the writers' lock. On
    /// failure the lock is open, or about to be.
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

    /// Blocks until no reader is inside or patience runs out; the caller holds the writers' lock.
    #[inline]
    pub fn close(&self, patience: &Patience) -> Outcome {
        if self.is_being_left() {
            let mut spinner = Spinner::keeping_turns_if_lost();
            while self.is_being_left() {
                if runs_out(patience) {
                    return Outcome::GaveUp;
                }
                // The last writer may need this thread's CPU. Opening the lock wakes the threads
                // asleep on the phase.
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
        let wait = Wait::default();
        let empty = if mutant(flaw::FORGET_OWED) {
            self.readers.is_idle(Order::RELAXED)
        } else {
            match self.readers.wait_until_paid(patience, &wait) {
                Some(empty) => empty,
                None => return Outcome::GaveUp,
            }
        };
        if empty && self.bar() {
            return Outcome::Acquired;
        }
        self.close_contended(patience, &wait)
    }

    #[cold]
    fn close_contended(&self, patience: &Patience, wait: &Wait) -> Outcome {
        loop {
            self.retreat();
            if self.readers.wait_until_idle(patience, wait) == Outcome::GaveUp {
                if !mutant(flaw::LEAVE_PENDING) {
                    self.open();
                }
                return Outcome::GaveUp;
            }
            // Readers may have passed in the meantime.
            if self.bar() {
                return Outcome::Acquired;
            }
        }
    }

    /// Admits readers that pass a waiting writer, and no others.
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
