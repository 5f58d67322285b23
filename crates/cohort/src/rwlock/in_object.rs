//! [`Object`] in one piece: its words on one line, as in a program's rwlock, a writers' lock with a
//! context, and a table to itself. For benchmarks and checkers: a Rust program has room for
//! [`CohortRw`](super::CohortRw).

use super::count::Count;
use super::object::{Object, Owed, Writers};
use super::table::Table;
use crate::basic::Ticket;
use crate::basic::futex::NAP_NANOSECONDS;
use crate::door::{Advice, AtomicU32, Order, Spinner, nap, runs_out};
use crate::host::Generation;
use cohort_raw::{
    AbortableShared, DetectsWaiters, Inherit, Outcome, Patience, RawLock, RawShared, RawTry,
    Recursion,
};
use core::fmt;

/// A lock's words, and whether the writers' lock's holder writes.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Words {
    readers: Count,
    name: AtomicU32,
    phase: AtomicU32,
    owed: Owed,
    generation: Generation,
    begun: AtomicU32,
}

impl Words {
    /// The words of a lock whose readers are in its table from the beginning, under that name.
    #[must_use]
    pub fn named(name: u32) -> Self {
        Self {
            name: AtomicU32::new(name),
            ..Self::default()
        }
    }

    /// The lock with that table and that writers' lock, for one call.
    #[inline]
    pub const fn object<'a, W, const ROWS: usize, const SLOTS: usize>(
        &'a self,
        table: &'a Table<ROWS, SLOTS>,
        writers: W,
        is_neutral: bool,
    ) -> Object<'a, W, ROWS, SLOTS> {
        Object {
            table,
            readers: &self.readers,
            name: &self.name,
            owed: &self.owed,
            phase: &self.phase,
            generation: &self.generation,
            writers,
            is_neutral,
        }
    }

    /// For [`Writers`] that record here whether their holder writes.
    #[inline]
    pub fn set_begun(&self, begun: bool) {
        self.begun.store(u32::from(begun), Order::RELAXED);
    }

    /// The last value set.
    #[inline]
    pub fn has_begun(&self) -> bool {
        self.begun.load(Order::RELAXED) != 0
    }
}

/// An rwlock of one object; see [`super::object`] for its words.
///
/// ```
/// use cohort::basic::Ticket;
/// use cohort::{RwLock, rwlock::InObject};
///
/// let total: RwLock<u64, InObject<Ticket>> = RwLock::from(1);
/// total.writing(|total| *total += 1);
/// assert_eq!(total.reading(|total| *total), 2);
/// ```
#[derive(Default)]
#[repr(C, align(64))]
pub struct InObject<
    Writers = Ticket,
    const NEUTRAL: bool = true,
    const ROWS: usize = 32,
    const SLOTS: usize = 8,
> {
    words: Words,
    lock: Writers,
    table: Table<ROWS, SLOTS>,
}

impl<W, const NEUTRAL: bool, const ROWS: usize, const SLOTS: usize> fmt::Debug
    for InObject<W, NEUTRAL, ROWS, SLOTS>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InObject").finish_non_exhaustive()
    }
}

/// The writers' lock with that context, used as [`by`](InObject::by) says.
struct Held<'a, W: RawLock> {
    lock: &'a W,
    context: &'a W::Context,
    words: &'a Words,
}

impl<W: RawTry + DetectsWaiters + Inherit> Writers for Held<'_, W> {
    #[inline]
    fn acquire(&self) {
        // SAFETY: the caller of `by` has promised it.
        unsafe { self.lock.acquire(self.context) };
    }

    #[inline]
    fn try_acquire(&self) -> bool {
        // SAFETY: the caller of `by` has promised it.
        unsafe { self.lock.try_acquire(self.context) }
    }

    fn acquire_within(&self, patience: &Patience) -> bool {
        let mut spinner = Spinner::new();
        while !self.try_acquire() {
            if runs_out(patience) {
                return false;
            }
            if spinner.step() == Advice::Sleep {
                nap(NAP_NANOSECONDS);
            }
        }
        true
    }

    #[inline]
    unsafe fn release(&self) {
        // SAFETY: the caller's.
        unsafe { self.lock.release(self.context) };
    }

    unsafe fn forget(&self) {
        // SAFETY: the caller's.
        unsafe { self.lock.inherit(None) };
    }

    #[inline]
    fn has_waiters(&self) -> bool {
        // SAFETY: the caller, a writer, holds the lock by that context.
        unsafe { self.lock.has_waiters(self.context) }
    }

    #[inline]
    fn begin(&self) {
        self.words.set_begun(true);
    }

    #[inline]
    fn end(&self) {
        self.words.set_begun(false);
    }

    #[inline]
    fn has_begun(&self) -> bool {
        self.words.has_begun()
    }
}

impl<W, const NEUTRAL: bool, const ROWS: usize, const SLOTS: usize>
    InObject<W, NEUTRAL, ROWS, SLOTS>
where
    W: RawTry + DetectsWaiters + Inherit,
{
    /// A lock whose readers are in the table from the beginning, under that name.
    #[must_use]
    pub fn named(name: u32) -> Self {
        Self {
            words: Words::named(name),
            ..Self::default()
        }
    }

    /// The table, to share with other locks.
    pub const fn table(&self) -> &Table<ROWS, SLOTS> {
        &self.table
    }

    /// The words, for one call by that context.
    ///
    /// # Safety
    /// If it acquires the writers' lock: as [`RawLock::acquire`] requires of that lock and this
    /// context.
    #[inline]
    pub unsafe fn by<'a>(
        &'a self,
        context: &'a W::Context,
    ) -> Object<'a, impl Writers + 'a, ROWS, SLOTS> {
        let writers = Held {
            lock: &self.lock,
            context,
            words: &self.words,
        };
        self.words.object(&self.table, writers, NEUTRAL)
    }
}

// SAFETY: the object's methods of the same names, which share and exclude.
unsafe impl<W, const NEUTRAL: bool, const ROWS: usize, const SLOTS: usize> RawShared
    for InObject<W, NEUTRAL, ROWS, SLOTS>
where
    W: RawTry + DetectsWaiters + Inherit,
{
    type Context = W::Context;

    #[inline]
    unsafe fn read(&self, cx: &W::Context, recursion: Recursion) {
        // SAFETY: the caller's.
        let _ = unsafe { self.by(cx).read(recursion, &Patience::ENDLESS) };
    }

    #[inline]
    unsafe fn try_read(&self, cx: &W::Context, recursion: Recursion) -> bool {
        // SAFETY: the caller's.
        unsafe { self.by(cx).try_read(recursion) }
    }

    #[inline]
    unsafe fn release_read(&self, cx: &W::Context) {
        // SAFETY: the caller's.
        let held = unsafe { self.by(cx).release() };
        debug_assert!(held, "nobody reads");
    }

    #[inline]
    unsafe fn write(&self, cx: &W::Context) {
        // SAFETY: the caller's.
        let _ = unsafe { self.by(cx).write(&Patience::ENDLESS) };
    }

    #[inline]
    unsafe fn try_write(&self, cx: &W::Context) -> bool {
        // SAFETY: the caller's.
        unsafe { self.by(cx).try_write() }
    }

    #[inline]
    unsafe fn release_write(&self, cx: &W::Context) {
        // SAFETY: the caller's.
        let held = unsafe { self.by(cx).release() };
        debug_assert!(held, "nobody writes");
    }

    fn is_locked(&self) -> bool {
        // SAFETY: nothing is acquired.
        unsafe { self.by(&W::Context::default()).is_locked() }
    }

    fn is_write_locked(&self) -> bool {
        // SAFETY: nothing is acquired.
        unsafe { self.by(&W::Context::default()).is_write_locked() }
    }
}

// SAFETY: as above.
unsafe impl<W, const NEUTRAL: bool, const ROWS: usize, const SLOTS: usize> AbortableShared
    for InObject<W, NEUTRAL, ROWS, SLOTS>
where
    W: RawTry + DetectsWaiters + Inherit,
{
    unsafe fn read_within(
        &self,
        cx: &W::Context,
        recursion: Recursion,
        patience: &Patience,
    ) -> Outcome {
        // SAFETY: the caller's.
        unsafe { self.by(cx).read(recursion, patience) }
    }

    unsafe fn write_within(&self, cx: &W::Context, patience: &Patience) -> Outcome {
        // SAFETY: the caller's.
        unsafe { self.by(cx).write(patience) }
    }
}
