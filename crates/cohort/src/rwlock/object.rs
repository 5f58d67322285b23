//! `c-rw-np` and `c-rw-wp` inside a small object that may never be initialised, never be
//! destroyed, freed while locked, or inherited by a forked child: what `pthread_rwlock_t`
//! asks for.
//!
//! It is [`CohortRw`](super::CohortRw) without its room: the phase is the same, readers are
//! counted in a [`Table`] that all such locks share, and writers take a lock that the object
//! has room for, itself or its number, as a mutex of the process does.  There are no
//! contexts.  The words lie where the object has room for them, so they are lent for each
//! call; all of them are zero at first.
//!
//! | word | meaning | see |
//! |---|---|---|
//! | `readers`, `owed` | readers, and those that are let in before the next writer | [`super::table`] |
//! | `name` | under what name others of both kinds are counted in the table | the same |
//! | `phase` | whether readers get in; above `TURN`, how many writers in a row found it closed | [`super::phase`] |
//! | `generation` | the process in which a writer was last here | [`Generation`] |
//! | `writers` | which of them is next, and whether the one that is has begun | [`Writers`] |
//!
//! **In a forked child** a writer that has begun keeps the lock, and no thread stays counted
//! that was about to see that it may not read.  One that had not is forgotten, with all that
//! waited; readers stay, since no child can tell which of them were its own.

use super::count::Count;
use super::phase::{CLOSED, Indicators, OPEN, Phase, next_turn};
use super::table::{Named, Table};
use crate::door::{AtomicU32, Level, Order, cohort, flaws, mutant, thread};
use crate::host::Generation;
use cohort_raw::{Outcome, Patience, Recursion};

flaws! {
    KEEP_READERS = "rw-object.keep-readers";
}

/// The lock that writers take, in the same object; and whether its holder writes.
pub trait Writers {
    /// Blocks until the lock is held.
    fn acquire(&self);

    /// Takes the lock if nobody has; never blocks.
    fn try_acquire(&self) -> bool;

    /// Blocks until the lock is held or patience runs out; false then.
    fn acquire_within(&self, patience: &Patience) -> bool;

    /// Releases the lock.
    ///
    /// # Safety
    /// The caller holds it.
    unsafe fn release(&self);

    /// Forgets all acquisitions: in a forked child, whose writer none of its threads is.
    ///
    /// # Safety
    /// No thread of this process is inside.
    unsafe fn forget(&self);

    /// Whether somebody waits that will hold the lock.  A false "no" is allowed, a false
    /// "yes" never.
    fn has_waiters(&self) -> bool;

    /// The holder writes from here on.
    fn begin(&self);

    /// It does no more.
    fn end(&self);

    /// Whether a holder writes.
    fn has_begun(&self) -> bool;
}

/// A count whose word's lowest seven bits are somebody else's.
pub type Owed = Count<OWED_WANTED>;
const OWED_WANTED: u32 = 0x80;

/// In the phase's word, among what it needs itself: how many writers found the lock closed.
const TURN_BITS: u32 = 0xff00;
const TURN: u32 = 1 << 8;

/// So many follow another before one of them asks whether readers are owed entry.
const TURNS: u32 = 32;

/// The words of a lock, for one call.
#[derive(Debug)]
pub struct Object<'a, W, const ROWS: usize, const SLOTS: usize> {
    /// Where readers are counted, of this lock and all others.
    pub table: &'a Table<ROWS, SLOTS>,
    /// Readers that are not counted there.
    pub readers: &'a Count,
    /// Under what name they are.
    pub name: &'a AtomicU32,
    /// Readers that are owed entry, and not counted there.
    pub owed: &'a Owed,
    /// Whether readers get in.
    pub phase: &'a AtomicU32,
    /// Where a writer was last here.
    pub generation: &'a Generation,
    /// The writers' lock.
    pub writers: W,
    /// Whether neither readers nor writers are preferred; otherwise writers are, for up to
    /// five milliseconds.
    pub is_neutral: bool,
}

impl<W: Writers, const ROWS: usize, const SLOTS: usize> Object<'_, W, ROWS, SLOTS> {
    #[inline(always)]
    fn readers(&self) -> Named<'_, ROWS, SLOTS, OWED_WANTED> {
        Named {
            table: self.table,
            readers: self.readers,
            name: self.name,
            owed: self.owed,
        }
    }

    #[inline(always)]
    fn phase<'p, I>(&'p self, readers: &'p I) -> Phase<'p, I> {
        Phase {
            word: self.phase,
            readers,
            is_neutral: self.is_neutral,
        }
    }

    /// Takes the lock to read if readers may go in, by a caller that may hold none.
    #[inline(always)]
    pub fn read_at_once(&self) -> bool {
        let readers = self.readers();
        self.phase(&readers)
            .read_at_once(cohort(Level::CacheGroup))
            .is_some()
    }

    /// Blocks until the lock is held to read, or patience runs out.
    #[inline]
    pub fn read(&self, recursion: Recursion, patience: &Patience) -> Outcome {
        let cohort = cohort(Level::CacheGroup);
        let readers = self.readers();
        let phase = self.phase(&readers);
        let came = phase.read_at_once(cohort).or_else(|| {
            self.settle();
            phase.read_contended(cohort, recursion, patience)
        });
        match came {
            Some(_) => Outcome::Acquired,
            None => Outcome::GaveUp,
        }
    }

    /// Takes the lock to read if no writer holds it, nor waits for it ahead of the
    /// caller; never blocks.
    pub fn try_read(&self, recursion: Recursion) -> bool {
        self.settle();
        let readers = self.readers();
        let phase = self.phase(&readers);
        phase
            .try_read(cohort(Level::CacheGroup), recursion)
            .is_some()
    }

    /// Blocks until the lock is held to write, or patience runs out.
    pub fn write(&self, patience: &Patience) -> Outcome {
        self.settle();
        let writers = &self.writers;
        if !writers.try_acquire() {
            if patience.is_endless() {
                writers.acquire();
            } else if !writers.acquire_within(patience) {
                return Outcome::GaveUp;
            }
        }
        let outcome = self.phase(&self.readers()).close(patience);
        match outcome {
            Outcome::Acquired => writers.begin(),
            // SAFETY: acquired above.
            Outcome::GaveUp => unsafe { writers.release() },
        }
        outcome
    }

    /// Takes the lock to write if nobody holds it or waits for it ahead of the caller;
    /// never blocks.
    pub fn try_write(&self) -> bool {
        self.settle();
        let writers = &self.writers;
        if !writers.try_acquire() {
            return false;
        }
        let closed = self.phase(&self.readers()).try_close();
        if closed {
            writers.begin();
        } else {
            // SAFETY: acquired above.
            unsafe { writers.release() };
        }
        closed
    }

    /// Releases what the caller holds, whichever it is; false if nobody held the lock.
    ///
    /// # Safety
    /// The caller is entitled to release it, if it is held.
    #[inline]
    pub unsafe fn release(&self) -> bool {
        if self.writers.has_begun() {
            // SAFETY: held to write, by the caller.
            unsafe { self.release_write() };
            return true;
        }
        let reading = &thread().reading;
        let left = self.readers().leave();
        if left {
            reading.set(reading.get().saturating_sub(1));
        }
        left
    }

    /// # Safety
    /// The caller holds it to write.
    unsafe fn release_write(&self) {
        // While nobody else can be inside.
        self.settle();
        self.writers.end();
        // A writer that waits comes, and finds it closed.
        let stays_closed = self.writers.has_waiters() && self.passes_on();
        let readers = self.readers();
        let phase = self.phase(&readers);
        if !stays_closed {
            phase.leave();
        }
        // SAFETY: the caller's.
        unsafe { self.writers.release() };
        // A thread that gets in from here on may end the lock and free its memory.
        if !stays_closed {
            phase.open();
        }
    }

    /// Whether a writer leaves the lock closed for the next.
    fn passes_on(&self) -> bool {
        let turn = (self.phase.load(Order::RELAXED) & TURN_BITS) / TURN;
        let next = next_turn(turn, TURNS, || self.readers().owes());
        if next.is_some_and(|next| next > turn) {
            self.phase.fetch_add(TURN, Order::RELAXED);
        }
        next.is_some()
    }

    /// Whether somebody held the lock a moment ago.
    pub fn is_locked(&self) -> bool {
        self.is_write_locked() || !self.readers().is_idle(Order::RELAXED)
    }

    /// Whether a writer held the lock a moment ago.
    pub fn is_write_locked(&self) -> bool {
        self.phase(&self.readers()).is_writing()
    }

    /// Before a writer does anything, and a reader that waits.
    #[inline(always)]
    fn settle(&self) {
        self.generation.settle(|| self.inherit());
    }

    #[cold]
    fn inherit(&self) {
        self.readers().forget_owed();
        if self.writers.has_begun() {
            if !mutant(flaw::KEEP_READERS) {
                self.readers().forget_readers();
            }
            self.phase.store(CLOSED, Order::RELAXED);
        } else {
            self.readers.want_no_more();
            self.phase.store(OPEN, Order::RELAXED);
            // SAFETY: a thread that was inside is one of the parent process.
            unsafe { self.writers.forget() };
        }
    }
}
