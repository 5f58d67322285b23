//! `Counted<L>`: any lock, with a count of its waiters, so that its holder can detect them (Chehab
//! et al. 2021 §4.1.2: `inc_waiters`, `dec_waiters`, `has_waiters`).
//!
//! **Not for** locks that detect waiters themselves: the count costs two read-modify-writes an
//! acquisition, the second of them in the critical section.
//!
//! A waiter raises `waiters` first and lowers it once it holds the lock.  The accesses are relaxed:
//! a holder sees what every earlier holder did, so it counts none of those; it may miss some
//! waiters.

use super::Composed;
use super::forward::composed;
use crate::door::{AtomicU32, Order, constructor};
use cohort_raw::{DetectsWaiters, HighLock, Inherit, RawLock, TwoForms, forwards};

/// The lock and its count.
///
/// ```
/// use cohort::basic::{Bo, Ticket};
/// use cohort::{Mutex, compose::{Clof, Counted}};
///
/// let total: Mutex<u64, Clof<Counted<Bo>, Ticket>> = Mutex::from(1);
/// *total.lock() += 1;
/// ```
#[derive(Debug, Default)]
#[repr(C)]
pub struct Counted<L> {
    lock: L,
    waiters: AtomicU32,
}

impl<L> Counted<L> {
    constructor! {
        /// That lock, without waiters.
        #[must_use]
        pub fn new(lock: L) -> Self {
            Self {
                lock,
                waiters: AtomicU32::new(0),
            }
        }
    }
}

// SAFETY: every call goes to a lock that excludes.
unsafe impl<L: RawLock> RawLock for Counted<L> {
    type Context = L::Context;

    #[inline]
    unsafe fn acquire(&self, cx: &L::Context) {
        self.waiters.fetch_add(1, Order::RELAXED);
        // SAFETY: the caller's.
        unsafe { self.lock.acquire(cx) };
        self.waiters.fetch_sub(1, Order::RELAXED);
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

forwards! {
    [L: RawLock] Counted<L>: L in lock, beside waiters;
    RawTry: inner,
    Abortable: none,
    BoundedAbort: none,
    ThreadOblivious: inner,
    DetectsWaiters: own,
    HandsOver: none,
    Fair: inner,
    Inherit: own,
    Adapts: inner,
    Hosted: inner,
    QuickRelease: inner,
    LowLock: usual,
    HighLock: own,
    Resumable: none,
}

// SAFETY: an acquisition is one of the lock inside.
unsafe impl<L: HighLock> HighLock for Counted<L> {
    #[inline]
    unsafe fn acquire_at_cached_place(&self, cx: &L::Context) {
        self.waiters.fetch_add(1, Order::RELAXED);
        // SAFETY: the caller's.
        unsafe { self.lock.acquire_at_cached_place(cx) };
        self.waiters.fetch_sub(1, Order::RELAXED);
    }

    #[inline(always)]
    unsafe fn forget_cached_place(cx: &L::Context) {
        // SAFETY: the caller's.
        unsafe { L::forget_cached_place(cx) };
    }
}

// SAFETY: a counted thread is about to acquire and does not hold the lock.
unsafe impl<L: RawLock> DetectsWaiters for Counted<L> {
    #[inline]
    unsafe fn has_waiters(&self, _cx: &L::Context) -> bool {
        self.waiters.load(Order::RELAXED) != 0
    }
}

// SAFETY: the lock's own; there is no waiter.
unsafe impl<L: Inherit> Inherit for Counted<L> {
    unsafe fn inherit(&self, holder: Option<&L::Context>) {
        self.waiters.store(0, Order::RELAXED);
        // SAFETY: passed on.
        unsafe { self.lock.inherit(holder) };
    }
}

// SAFETY: the top is that of the lock inside.
unsafe impl<L: Composed> Composed for Counted<L> {
    composed!(L in lock, beside waiters);
}

impl<L: TwoForms> TwoForms for Counted<L> {
    type Spinning = Counted<L::Spinning>;
}
