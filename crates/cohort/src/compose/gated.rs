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
//!
//! A waiter with a deadline stands beside the queue, where it can leave, by a
//! [`Claim`](crate::host::Claim) in the gate's word: it takes the lock when that comes free, and once
//! it has waited for half a millisecond, or for half of its time, the next holder hands over to it what
//! it holds.  That holder must have nothing in its frame that belongs to the lock: so this is for locks
//! without contexts.

use crate::basic::{K42, Ticket};
use crate::door::constructor;
use crate::fairly::ReleaseFairly;
use crate::host::Gate;
use crate::wait::Parking;
use cohort_raw::{
    Abortable, Fair, HighLock, Inherit, Outcome, Patience, RawLock, RawTry, ThreadOblivious,
    forwards,
};

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
        unsafe {
            if !self.lock.try_acquire(cx) {
                // In the queue also where there is one place: a fair release is to one that waits there.
                let passed = self.gate.enter(None);
                self.lock.acquire(cx);
                self.gate.leave(passed);
            }
        }
    }

    #[inline]
    unsafe fn release(&self, cx: &L::Context) {
        if size_of::<L::Context>() > 0 {
            self.gate.pass_on();
        } else if self.gate.hand_over() {
            return;
        }
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
    Abortable: own,
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
    Resumable: none,
}

// SAFETY: every release goes to the first that has passed the gate.
unsafe impl<L: RawTry + Fair + ThreadOblivious> ReleaseFairly for Gated<L> {
    #[inline]
    unsafe fn release_fairly(&self, cx: &L::Context) {
        // SAFETY: the caller's.
        unsafe { self.release(cx) };
    }

    fn is_waited_for(&self, _cx: &L::Context) -> bool {
        true
    }
}

impl<L: RawTry<Context = ()> + Fair> Gated<L> {
    /// Blocks until the lock is held, or is handed over, or patience runs out.
    ///
    /// # Safety
    /// As [`Abortable::acquire_within`].
    unsafe fn acquire_in_time(&self, patience: &Patience) -> Outcome {
        // SAFETY: the caller's, whichever attempt it is that acquires.
        let attempt = || unsafe { self.lock.try_acquire(&()) };
        if patience.is_endless() {
            // SAFETY: the caller's.
            unsafe { self.acquire(&()) };
        } else if !attempt() && !self.gate.claim.wait(patience, &attempt) {
            return Outcome::GaveUp;
        }
        Outcome::Acquired
    }
}

// SAFETY: what is handed over is an acquisition, which ends no sooner than its new holder releases;
// any thread may release the lock inside.
unsafe impl<P: Parking, const UNIT: u64> Abortable for Gated<Ticket<P, UNIT>> {
    #[inline]
    unsafe fn acquire_within(&self, (): &(), patience: &Patience) -> Outcome {
        // SAFETY: the caller's.
        unsafe { self.acquire_in_time(patience) }
    }
}

// SAFETY: as above.
unsafe impl Abortable for Gated<K42> {
    #[inline]
    unsafe fn acquire_within(&self, (): &(), patience: &Patience) -> Outcome {
        // SAFETY: the caller's.
        unsafe { self.acquire_in_time(patience) }
    }
}

// SAFETY: an acquisition is one of the lock inside.
unsafe impl<L: RawTry + Fair + HighLock> HighLock for Gated<L> {
    #[inline]
    unsafe fn acquire_at_cached_place(&self, cx: &L::Context) {
        // SAFETY: the caller's.
        unsafe {
            if !self.lock.try_acquire(cx) {
                let passed = self.gate.enter(None);
                self.lock.acquire_at_cached_place(cx);
                self.gate.leave(passed);
            }
        }
    }

    #[inline(always)]
    unsafe fn forget_cached_place(cx: &L::Context) {
        // SAFETY: the caller's.
        unsafe { L::forget_cached_place(cx) };
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
