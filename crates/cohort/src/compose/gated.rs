//! `Gated<L>`: a lock that serves in order of arrival, behind a [`Gate`]: no more waiters
//! queue than there are CPUs to run them, but for those that the gate wakes now and then.
//! Under a program every strict lock has one; this gives it to a type.
//!
//! **Not for** a part of a composition: the gate belongs before the whole.  Nor where
//! threads never exceed CPUs: there a waiter counts itself in and out for nothing.
//!
//! A thread that finds the lock free takes it past those outside, so the order is no longer
//! strict; nobody is passed over for ever ([`Gate`] says why).  Only under the policy that
//! parks does anybody wait outside.  The lock behind has to be [`Fair`]: under one that
//! newcomers take past its waiters, more and more that the gate has woken would wait there.

use crate::door::constructor;
use crate::host::Gate;
use cohort_raw::{Fair, HighLock, Inherit, RawLock, RawTry, forwards};

/// The lock and its gate.
///
/// A lock that serves in no order is refused:
///
/// ```compile_fail
/// use cohort::compose::Gated;
/// let data = cohort::Mutex::<u32, Gated<cohort::basic::Tas>>::from(0);
/// data.lock();
/// ```
#[derive(Debug, Default)]
#[repr(C)]
pub struct Gated<L> {
    gate: Gate,
    lock: L,
}

impl<L> Gated<L> {
    constructor! {
        /// That lock, behind a gate at which nobody waits.
        #[must_use]
        pub fn new(lock: L) -> Self {
            Self {
                gate: Gate::new(),
                lock,
            }
        }
    }
}

// SAFETY: every acquisition is one of a lock that excludes.
unsafe impl<L: RawTry + Fair> RawLock for Gated<L> {
    type Context = L::Context;

    #[inline]
    unsafe fn acquire(&self, cx: &L::Context) {
        // SAFETY: the caller's.
        unsafe { self.gate.acquire(&self.lock, cx) };
    }

    #[inline]
    unsafe fn release(&self, cx: &L::Context) {
        self.gate.pass_on();
        // SAFETY: the caller holds the lock inside, by that context.
        unsafe { self.lock.release(cx) };
    }

    fn is_locked(&self) -> bool {
        self.lock.is_locked()
    }
}

// The gate asks nothing of the thread that passes on, and a try passes no gate.
forwards! {
    [L: RawTry + Fair] Gated<L>: L in lock, beside gate;
    RawTry: inner,
    Abortable: none,
    BoundedAbort: none,
    ThreadOblivious: inner,
    DetectsWaiters: none,
    HandsOver: none,
    Fair: none,
    Inherit: own,
    Adapts: inner,
    Hosted: inner { strict: false },
    QuickRelease: none,
    LowLock: none,
    HighLock: own,
}

// SAFETY: an acquisition is one of the lock inside.
unsafe impl<L: RawTry + Fair + HighLock> HighLock for Gated<L> {
    #[inline]
    unsafe fn acquire_at_cached_place(&self, cx: &L::Context) {
        // SAFETY: the caller's.
        unsafe {
            if !self.lock.try_acquire(cx) {
                let passed = self.gate.enter();
                self.lock.acquire_at_cached_place(cx);
                self.gate.leave(passed);
            }
        }
    }

    #[inline(always)]
    fn forget_cached_place(cx: &L::Context) {
        L::forget_cached_place(cx);
    }
}

// SAFETY: afterwards nobody is at the gate, and the lock inside is as the holder has it.
unsafe impl<L: RawTry + Fair + Inherit> Inherit for Gated<L> {
    unsafe fn inherit(&self, holder: Option<&L::Context>) {
        self.gate.reset();
        // SAFETY: the caller is alone, and holds the lock inside by its context.
        unsafe { self.lock.inherit(holder) };
    }
}
