//! `RecipeBuilt`: a compiled composition whose locks are all made by the same recipe, for hosts,
//! which make locks without saying how.

use super::stacked::Text;
use super::{Composed, Plan, Shareable};
use cohort_raw::{Inherit, RawLock, RawTry, ThreadOblivious};
use core::fmt;
use core::marker::PhantomData;

/// `L`, made by the recipe of `T`, whose locks are `L`'s.
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

    const STRICT: bool = L::STRICT;

    const NODE_BYTES: usize = L::NODE_BYTES;

    const COHORT_BYTES: usize = L::COHORT_BYTES;

    unsafe fn make_at(place: *mut Self) {
        // SAFETY: the caller's; the lock is all there is.
        unsafe { L::plan_at(&raw mut (*place).lock, &Plan::from(&T::recipe())) };
    }

    #[inline]
    fn acquire(&self, cx: &L::Context) {
        self.lock.acquire(cx);
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

// SAFETY: as above.
unsafe impl<L: Shareable, T: Text> RawTry for RecipeBuilt<L, T> {
    #[inline]
    fn try_acquire(&self, cx: &L::Context) -> bool {
        self.lock.try_acquire(cx)
    }
}

// SAFETY: as above.
unsafe impl<L: Shareable, T: Text> ThreadOblivious for RecipeBuilt<L, T> {}

// SAFETY: as above.
unsafe impl<L: Shareable, T: Text> Inherit for RecipeBuilt<L, T> {
    unsafe fn inherit(&self, holder: Option<&L::Context>) {
        // SAFETY: the caller's.
        unsafe { self.lock.inherit(holder) };
    }
}
