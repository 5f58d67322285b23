//! Locks for the writers of [`CohortRw`](super::CohortRw), and how a writer with a deadline waits.
//!
//! Most locks that detect waiters, as the bound requires, have waiters that cannot leave. There, a
//! writer with a deadline polls the lock instead of queueing, and other writers pass it.
//! [`Abandoning`] is for abortable locks: it counts the waiters that stay, while the others stand
//! in the queue too.

use crate::basic::futex::NAP_NANOSECONDS;
use crate::door::{Advice, AtomicU32, Order, Spinner, flaws, mutant, nap, runs_out};
use cohort_raw::{Abortable, DetectsWaiters, Outcome, Patience, RawLock, RawTry};

flaws! {
    /// A writer that may time out counts as a future holder.
    COUNT_HURRIED = "rw-writers.count-hurried";
}

/// A lock for an rwlock's writers.
///
/// # Safety
/// A context holds the lock after [`write_within`](Self::write_within) acquired with it, and does
/// not after it gave up.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the lock of an rwlock's writers",
    note = "it has to tell whether somebody waits: `compose::Counted` makes any lock do so, and \
            `rwlock::Abandoning` one that waiters can leave"
)]
pub unsafe trait ForWriters: RawTry {
    /// Blocks until the lock is held or patience runs out.
    ///
    /// # Safety
    /// As [`RawLock::acquire`], and no longer than the call if that gives up.
    unsafe fn write_within(&self, cx: &Self::Context, patience: &Patience) -> Outcome;

    /// Whether a waiter will acquire the lock. A false "no" is allowed, a false "yes" never.
    ///
    /// # Safety
    /// The caller holds the lock, by that context.
    unsafe fn has_writers(&self, cx: &Self::Context) -> bool;
}

// SAFETY: it is held if an attempt was a success.
unsafe impl<L: RawTry + DetectsWaiters> ForWriters for L {
    unsafe fn write_within(&self, cx: &L::Context, patience: &Patience) -> Outcome {
        if patience.is_endless() {
            // SAFETY: the caller's.
            unsafe { self.acquire(cx) };
            return Outcome::Acquired;
        }
        let mut spinner = Spinner::new();
        // SAFETY: as above.
        while !unsafe { self.try_acquire(cx) } {
            if runs_out(patience) {
                return Outcome::GaveUp;
            }
            if spinner.step() == Advice::Sleep {
                nap(NAP_NANOSECONDS);
            }
        }
        Outcome::Acquired
    }

    #[inline]
    unsafe fn has_writers(&self, cx: &L::Context) -> bool {
        // SAFETY: the caller's.
        unsafe { self.has_waiters(cx) }
    }
}

/// An abortable lock for an rwlock's writers: a writer with a deadline queues, and leaves the queue
/// at the deadline.
///
/// Only writers without a deadline are counted while they wait: a waiter that may leave is no
/// promise that the lock will be held.
///
/// ```
/// use cohort::numa::HmcsT2;
/// use cohort::rwlock::{Abandoning, CRwNp};
///
/// let total: cohort::RwLock<u32, CRwNp<Abandoning<HmcsT2>>> = 1.into();
/// total.writing(|total| *total += 1);
/// assert_eq!(total.reading(|total| *total), 2);
/// ```
#[derive(Debug, Default)]
#[repr(C)]
pub struct Abandoning<L> {
    lock: L,
    waiters: AtomicU32,
}

impl<L> Abandoning<L> {
    #[inline]
    fn counted<R>(&self, wait: impl FnOnce() -> R) -> R {
        self.waiters.fetch_add(1, Order::RELAXED);
        let waited = wait();
        self.waiters.fetch_sub(1, Order::RELAXED);
        waited
    }
}

// SAFETY: every call goes to a lock that excludes.
unsafe impl<L: RawLock> RawLock for Abandoning<L> {
    type Context = L::Context;

    #[inline]
    unsafe fn acquire(&self, cx: &L::Context) {
        // SAFETY: the caller's.
        self.counted(|| unsafe { self.lock.acquire(cx) });
    }

    #[inline]
    unsafe fn release(&self, cx: &L::Context) {
        // SAFETY: the caller's.
        unsafe { self.lock.release(cx) };
    }

    fn is_locked(&self) -> bool {
        self.lock.is_locked()
    }
}

// SAFETY: an acquisition is one of the lock inside.
unsafe impl<L: RawTry> RawTry for Abandoning<L> {
    #[inline]
    unsafe fn try_acquire(&self, cx: &L::Context) -> bool {
        // SAFETY: the caller's.
        unsafe { self.lock.try_acquire(cx) }
    }
}

// SAFETY: as the lock inside says; only writers that will hold it are counted.
unsafe impl<L: RawTry + Abortable> ForWriters for Abandoning<L> {
    #[inline]
    unsafe fn write_within(&self, cx: &L::Context, patience: &Patience) -> Outcome {
        // SAFETY: the caller's.
        let wait = || unsafe { self.lock.acquire_within(cx, patience) };
        if patience.is_endless() || mutant(flaw::COUNT_HURRIED) {
            self.counted(wait)
        } else {
            wait()
        }
    }

    #[inline]
    unsafe fn has_writers(&self, _cx: &L::Context) -> bool {
        self.waiters.load(Order::RELAXED) != 0
    }
}
