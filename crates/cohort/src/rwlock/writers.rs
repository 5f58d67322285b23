//! What writers of [`CohortRw`](super::CohortRw) queue in, and how one waits there that has a
//! deadline.
//!
//! A lock that can tell whether somebody waits, as its bound asks, is mostly one that no waiter
//! can leave: then a writer with a deadline looks for the lock now and then instead of queueing
//! for it, and others come first.  [`Abandoning`] is for locks that waiters can leave: it counts
//! those that stay, and the others stand in the queue too.

use crate::basic::futex::NAP_NANOSECONDS;
use crate::door::{Advice, AtomicU32, Order, Spinner, flaws, mutant, nap, runs_out};
use cohort_raw::{Abortable, DetectsWaiters, Outcome, Patience, RawLock, RawTry};

flaws! {
    /// A writer that may give up counts as one that will hold the lock.
    COUNT_HURRIED = "rw-writers.count-hurried";
}

/// A lock that writers take.
///
/// # Safety
/// A context with which [`write_within`](Self::write_within) acquired holds the lock, and one
/// with which it gave up does not.
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

    /// Whether a thread waits that will hold the lock.  A false "no" is allowed, a false "yes" never.
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

/// A lock that waiters can leave, as an rwlock's writers take it: one with a deadline stands
/// in the queue, and leaves it when its time is over.
///
/// Those without one are counted before they wait, and no more once they have the lock: that
/// a thread waits that may leave does not say that the lock will be held.
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

// SAFETY: as the lock inside says; those alone are counted that will hold it.
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
