//! `c-rw-np` and `c-rw-wp` for `pthread_rwlock_t`: a small object that may never be initialised or
//! destroyed, may be freed while locked, and may be inherited by a forked child.
//!
//! This is [`CohortRw`](super::CohortRw) in less room. The phase is the same. Readers are counted
//! in a [`Table`] that all such locks share. Writers use a lock for which the object has room,
//! itself or its number, like a mutex of the process. There are no contexts. The words lie where
//! the object has room and are lent for each call; all of them are zero at first.
//!
//! | word | meaning | see |
//! |---|---|---|
//! | `readers`, `owed` | readers, and readers owed entry before the next writer | [`super::table`] |
//! | `name` | the name under which further readers of both kinds are counted in the table | the same |
//! | `phase` | the phase; above `TURN`, writers in a row that found it closed | [`super::phase`] |
//! | `generation` | the process of the last writer | [`Generation`] |
//! | `writers` | the writers' queue, and whether its holder writes | [`Writers`] |
//!
//! **In a forked child** an active writer keeps the lock. A writer that waited for readers is
//! forgotten, and so are all waiters and all readers about to find the lock barred. Readers stay,
//! since a child cannot tell which were its own.

use super::count::Count;
use super::phase::{CLOSED, Indicators, OPEN, Phase, next_turn};
use super::table::{Named, Table};
use crate::door::{AtomicU32, Level, Order, cohort, flaws, mutant, thread};
use crate::host::Generation;
use cohort_raw::{Outcome, Patience, Recursion};

flaws! {
    KEEP_READERS = "rw-object.keep-readers";
}

/// The writers' lock in the same object; and whether its holder writes.
pub trait Writers {
    /// Blocks until the lock is held.
    fn acquire(&self);

    /// Takes the lock if it is free; never blocks.
    fn try_acquire(&self) -> bool;

    /// Blocks until the lock is held or patience runs out; false after a timeout.
    fn acquire_within(&self, patience: &Patience) -> bool;

    /// Releases the lock.
    ///
    /// # Safety
    /// The caller holds it.
    unsafe fn release(&self);

    /// Forgets all acquisitions: in a forked child, which has no thread of the parent's writer.
    ///
    /// # Safety
    /// No thread of this process is inside.
    unsafe fn forget(&self);

    /// Forgets all waiters beside a holder that keeps the lock: in a forked child of a writer. For
    /// locks that do not notice the fork themselves.
    ///
    /// # Safety
    /// The lock is held to write, and no other thread of this process is inside.
    unsafe fn forget_waiters(&self) {}

    /// Whether a waiter will acquire the lock. A false "no" is allowed, a false "yes" never.
    fn has_waiters(&self) -> bool;

    /// Marks the holder as writing.
    fn begin(&self);

    /// Clears that mark.
    fn end(&self);

    /// Whether a holder writes.
    fn has_begun(&self) -> bool;
}

/// A count whose word's lowest seven bits serve other purposes.
pub type Owed = Count<OWED_WANTED>;
const OWED_WANTED: u32 = 0x80;

/// In the phase's word, between its own bits: how many writers in a row found the lock closed.
const TURN_BITS: u32 = 0xff00;
const TURN: u32 = 1 << 8;

/// So many writers follow each other before one checks whether readers are owed entry.
const TURNS: u32 = 32;

/// The words of a lock, for one call.
#[derive(Debug)]
pub struct Object<'a, W, const ROWS: usize, const SLOTS: usize> {
    /// The counts of readers of all such locks.
    pub table: &'a Table<ROWS, SLOTS>,
    /// The count of readers outside the table.
    pub readers: &'a Count,
    /// The lock's name in the table.
    pub name: &'a AtomicU32,
    /// The count of readers owed entry, outside the table.
    pub owed: &'a Owed,
    /// Whether readers are admitted.
    pub phase: &'a AtomicU32,
    /// The process of the last writer.
    pub generation: &'a Generation,
    /// The writers' lock.
    pub writers: W,
    /// Whether neither side is preferred; otherwise writers are, for up to five milliseconds.
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

    /// Takes the lock to read if readers are admitted, for a caller that may hold no read lock.
    #[inline(always)]
    pub fn read_at_once(&self) -> bool {
        let readers = self.readers();
        self.phase(&readers)
            .read_at_once(cohort(Level::CacheGroup))
            .is_some()
    }

    /// Acquires the lock to read, unless patience runs out first.
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

    /// Takes the lock to read unless a writer holds it or waits ahead of the caller; never blocks.
    pub fn try_read(&self, recursion: Recursion) -> bool {
        self.settle();
        let readers = self.readers();
        let phase = self.phase(&readers);
        phase
            .try_read(cohort(Level::CacheGroup), recursion)
            .is_some()
    }

    /// Acquires the lock to write, unless patience runs out first.
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

    /// Takes the lock to write if it is free and no thread waits ahead of the caller; never blocks.
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

    /// Releases the caller's lock, read or write; false if the lock was free.
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
        // While the caller still excludes all others.
        self.settle();
        self.writers.end();
        // The waiting writer finds the lock closed.
        let stays_closed = self.writers.has_waiters() && self.passes_on();
        let readers = self.readers();
        let phase = self.phase(&readers);
        if !stays_closed {
            phase.leave();
        }
        // SAFETY: the caller's.
        unsafe { self.writers.release() };
        // From here on another holder may end the lock and free its memory.
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

    /// Whether the lock was held a moment ago.
    pub fn is_locked(&self) -> bool {
        self.is_write_locked() || !self.readers().is_idle(Order::RELAXED)
    }

    /// Whether a writer held the lock a moment ago.
    pub fn is_write_locked(&self) -> bool {
        self.phase(&self.readers()).is_writing()
    }

    /// Called before a writer does anything, and before a reader waits.
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
            // SAFETY: held to write by a thread of this process; the others inside are the parent's.
            unsafe { self.writers.forget_waiters() };
        } else {
            self.readers.want_no_more();
            self.phase.store(OPEN, Order::RELAXED);
            // SAFETY: a thread that was inside is one of the parent process.
            unsafe { self.writers.forget() };
        }
    }
}
