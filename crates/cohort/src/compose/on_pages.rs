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
use super::forward::forwards;
use cohort_raw::{DetectsWaiters, Fair, Inherit, RawLock, RawTry, ThreadOblivious, TwoForms};

/// The lock, at the beginning of a page.
#[derive(Debug, Default)]
#[repr(C, align(4096))]
pub struct OnPages<L>(L);

// SAFETY: passed on to a lock that excludes.
unsafe impl<L: RawLock> RawLock for OnPages<L> {
    type Context = L::Context;

    const STRICT: bool = L::STRICT;

    const NODE_BYTES: usize = L::NODE_BYTES;

    forwards!(memory of L in 0);

    forwards!(release of L in 0);

    #[inline]
    fn acquire(&self, cx: &L::Context) {
        self.0.acquire(cx);
    }

    #[inline(always)]
    fn acquire_at_cached_place(&self, cx: &L::Context) {
        self.0.acquire_at_cached_place(cx);
    }

    #[inline(always)]
    fn forget_cached_place(cx: &L::Context) {
        L::forget_cached_place(cx);
    }

    fn is_locked(&self) -> bool {
        self.0.is_locked()
    }
}

// SAFETY: passed on.
unsafe impl<L: RawTry> RawTry for OnPages<L> {
    #[inline]
    fn try_acquire(&self, cx: &L::Context) -> bool {
        self.0.try_acquire(cx)
    }
}

// SAFETY: release is the lock's own.
unsafe impl<L: ThreadOblivious> ThreadOblivious for OnPages<L> {}

impl<L: Fair> Fair for OnPages<L> {}

// SAFETY: the lock's own answers, from wherever its memory lies.
unsafe impl<L: DetectsWaiters> DetectsWaiters for OnPages<L> {
    #[inline]
    fn has_waiters(&self, cx: &L::Context) -> bool {
        self.0.has_waiters(cx)
    }

    #[inline(always)]
    fn hand_off_limit(&self) -> u32 {
        self.0.hand_off_limit()
    }

    #[inline(always)]
    fn hand_offs(&self, cx: &L::Context) -> u32 {
        self.0.hand_offs(cx)
    }

    #[inline(always)]
    fn acquire_counted(&self, cx: &L::Context) -> u32 {
        self.0.acquire_counted(cx)
    }

    #[inline]
    unsafe fn release_counted(&self, cx: &L::Context, number: u32) {
        // SAFETY: passed on.
        unsafe { self.0.release_counted(cx, number) };
    }
}

// SAFETY: passed on.
unsafe impl<L: Inherit> Inherit for OnPages<L> {
    forwards!(grants of L in 0);

    unsafe fn inherit(&self, holder: Option<&L::Context>) {
        // SAFETY: passed on.
        unsafe { self.0.inherit(holder) };
    }
}

impl<L: Composed> Composed for OnPages<L> {
    forwards!(composition of L in 0);
}

impl<L: TwoForms> TwoForms for OnPages<L> {
    type Spinning = OnPages<L::Spinning>;
}
