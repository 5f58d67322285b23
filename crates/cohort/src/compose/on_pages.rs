//! `OnPages<L>`: a low lock at the start of a page.  A composition's cohorts then share no page,
//! and each can be placed on its own NUMA node (Dice et al. 2015 §7).
//!
//! [`Clof`](super::Clof) does that with such low locks: the first thread of a cohort that acquires
//! the high lock moves the cohort's pages to its node.  The kernel may refuse; then they stay in
//! place.
//!
//! **Not for** many small locks: each cohort takes two pages.  Nor for programs under `cohort run`,
//! where inflated locks are kept small; compositions built at run time keep the cohorts of a NUMA
//! node on pages of that node, together with those of other locks.

use super::Composed;
use super::forward::composed;
use cohort_raw::{RawLock, TwoForms, forwards};

/// The lock, at the start of a page.
///
/// ```
/// use cohort::basic::{Mcs, Ticket};
/// use cohort::{Mutex, compose::{Clof, Numa, OnPages}};
///
/// // With two NUMA nodes: their locks take two pages each.
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
