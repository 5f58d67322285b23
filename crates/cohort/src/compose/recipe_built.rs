//! `RecipeBuilt`: a compiled composition that always uses the same recipe, for hosts, which make
//! locks without arguments.

use super::stacked::Text;
use super::{Composed, Plan, Shareable};
use cohort_raw::{Hosted, Hosting, RawLock, forwards};
use core::fmt;
use core::marker::PhantomData;

/// `L`, made by the recipe of `T`, which lists the locks of `L`.
#[repr(transparent)]
pub struct RecipeBuilt<L, T> {
    lock: L,
    text: PhantomData<fn() -> T>,
}

impl<L: fmt::Debug, T> fmt::Debug for RecipeBuilt<L, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lock.fmt(f)
    }
}

impl<L: Composed, T: Text> Default for RecipeBuilt<L, T> {
    #[inline]
    fn default() -> Self {
        Self {
            lock: L::planned(&Plan::from(&T::recipe())),
            text: PhantomData,
        }
    }
}

// SAFETY: every call goes to the one lock.
unsafe impl<L: Shareable, T: Text> RawLock for RecipeBuilt<L, T> {
    type Context = L::Context;

    #[inline]
    unsafe fn acquire(&self, cx: &L::Context) {
        // SAFETY: the caller's.
        unsafe { self.lock.acquire(cx) };
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
    [L: Shareable, T: Text] RecipeBuilt<L, T>: L in lock;
    RawTry: inner,
    Abortable: inner,
    BoundedAbort: inner,
    ThreadOblivious: inner,
    DetectsWaiters: inner,
    HandsOver: none,
    Fair: inner,
    Inherit: inner,
    Adapts: none,
    Hosted: own,
    QuickRelease: none,
    LowLock: none,
    HighLock: none,
    Resumable: none,
}

// SAFETY: as the one lock.
unsafe impl<L: Shareable, T: Text> Hosted for RecipeBuilt<L, T> {
    const HOSTING: Hosting = L::HOSTING;

    unsafe fn make_at(place: *mut Self) {
        // SAFETY: the caller's; the lock is the only field with a size.
        unsafe { L::plan_at(&raw mut (*place).lock, &Plan::from(&T::recipe())) };
    }

    fn turn(&self) -> u32 {
        self.lock.turn()
    }
}
