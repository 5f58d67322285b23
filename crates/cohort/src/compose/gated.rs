//! `Gated<L>`: a FIFO lock behind a [`Gate`] (admission control).  The queue has no more waiters
//! than there are CPUs, except for those that the gate wakes now and then.  In a served program
//! every strict lock has a gate; this adds one to a type.
//!
//! **Not for** a part of a composition: the gate belongs before the whole.  Nor where threads never
//! exceed CPUs: there a waiter registers and unregisters for nothing.
//!
//! An arrival at a free lock acquires it ahead of parked waiters, so the order is no longer strict;
//! starvation is excluded ([`Gate`] says why).  Waiters park outside only under the policy that
//! parks. The lock must be [`Fair`]: under a lock that permits barging, more and more waiters woken
//! by the gate would queue.
//!
//! A waiter with a deadline waits beside the queue, where it can leave, by a
//! [`Claim`](crate::host::Claim) in the gate's word.  It acquires a free lock.  After half a
//! millisecond, or half of its time, the next holder hands its acquisition over to it.  That holder
//! must have nothing of the lock in its frame: so this is for locks without contexts.

use crate::basic::{K42, Ticket};
use crate::door::constructor;
use crate::host::Gate;
use crate::sync::fair_release::ReleaseFairly;
use crate::wait::Parking;
use cohort_raw::{
    Abortable, Fair, HighLock, Inherit, Outcome, Patience, RawLock, RawTry, ThreadOblivious,
    forwards,
};

/// The lock and its gate.
///
/// A lock without FIFO order is refused:
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
        /// That lock, behind a gate without waiters.
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
                // In the queue even if it has one slot: a fair release hands over to a waiter
                // there.
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

// The gate is thread-oblivious, and a `try_acquire` passes no gate.
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

// SAFETY: every release goes to the first waiter that has passed the gate.
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
    /// Blocks until the lock is held, by acquisition or hand-over, or patience runs out.
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

// SAFETY: what is handed over is an acquisition, which lasts until its new holder releases; any
// thread may release the lock inside.
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

// SAFETY: afterwards the gate has no waiter, and the lock inside is as the holder has it.
unsafe impl<L: RawTry + Fair + Inherit> Inherit for Gated<L> {
    unsafe fn inherit(&self, holder: Option<&L::Context>) {
        self.gate.reset();
        // SAFETY: the caller is alone, and holds the lock inside by its context.
        unsafe { self.lock.inherit(holder) };
    }
}
