//! `OnPages<L>`: a low lock that begins a page of memory, so that a composition's cohorts
//! share none, and each can be put into its own NUMA node's memory (Dice et al. 2015 §7).
//!
//! [`Clof`](super::Clof) does that where its low locks are such: the first of a cohort's
//! threads that comes for the high lock has the cohort's pages moved to where it runs.
//! The kernel may refuse; then they stay where they are.
//!
//! **Not for** many small locks: each cohort takes two pages.  Nor for what a program under
//! `cohort run` takes, whose fat locks are kept small; those that are built at run time have
//! the nodes of each NUMA node in pages of its own, many locks' together.

use super::Composed;
use super::forward::composed;
use cohort_raw::{RawLock, TwoForms, forwards};

/// The lock, at the beginning of a page.
///
/// ```
/// use cohort::basic::{Mcs, Ticket};
/// use cohort::{Mutex, compose::{Clof, Numa, OnPages}};
///
/// // Of two NUMA nodes: their locks take two pages each.
/// let total: Mutex<u64, Clof<OnPages<Mcs>, Ticket, Numa, 128, 2>> = Mutex::from(1);
/// *total.lock() += 1;
/// ```
#[derive(Debug, Default)]
#[repr(C, align(4096))]
pub struct OnPages<L>(L);

// SAFETY: passed on to a lock that excludes.
unsafe impl<L: RawLock> RawLock for OnPages<L> {
    type Context = L::Context;

    #[inline]
    unsafe fn acquire(&self, cx: &L::Context) {
        // SAFETY: the caller's.
        unsafe { self.0.acquire(cx) };
    }

    #[inline]
    unsafe fn release(&self, cx: &L::Context) {
        // SAFETY: the caller's.
        unsafe { self.0.release(cx) };
    }

    fn is_locked(&self) -> bool {
        self.0.is_locked()
    }
}

forwards! {
    [L: RawLock] OnPages<L>: L in 0;
    RawTry: inner,
    Abortable: inner,
    BoundedAbort: inner,
    ThreadOblivious: inner,
    DetectsWaiters: inner,
    HandsOver: inner,
    Fair: inner,
    Inherit: inner,
    Adapts: inner,
    Hosted: inner,
    QuickRelease: inner,
    LowLock: inner,
    HighLock: inner,
    Resumable: inner,
}

// SAFETY: the top is that of the lock inside.
unsafe impl<L: Composed> Composed for OnPages<L> {
    composed!(L in 0);
}

impl<L: TwoForms> TwoForms for OnPages<L> {
    type Spinning = OnPages<L::Spinning>;
}
