//! A lock that carries small numbers only.

use crate::locks::{DetectsWaiters, RawLock, ThreadOblivious};

/// The lock inside, which carries numbers up to `MOST`.
#[derive(Default)]
pub struct Little<L, const MOST: u32>(L);

// SAFETY: passed on.
unsafe impl<L: RawLock, const MOST: u32> RawLock for Little<L, MOST> {
    type Context = L::Context;

    fn acquire(&self, cx: &L::Context) {
        self.0.acquire(cx);
    }

    unsafe fn release(&self, cx: &L::Context) {
        // SAFETY: passed on.
        unsafe { self.0.release(cx) };
    }

    fn is_locked(&self) -> bool {
        self.0.is_locked()
    }
}

// SAFETY: release is the lock's own.
unsafe impl<L: ThreadOblivious, const MOST: u32> ThreadOblivious for Little<L, MOST> {}

// SAFETY: passed on; less is carried than could be.
unsafe impl<L: DetectsWaiters, const MOST: u32> DetectsWaiters for Little<L, MOST> {
    fn has_waiters(&self, cx: &L::Context) -> bool {
        self.0.has_waiters(cx)
    }

    fn carries(&self) -> u32 {
        MOST.min(self.0.carries())
    }

    fn carried(&self, cx: &L::Context) -> u32 {
        self.0.carried(cx)
    }

    fn acquire_carried(&self, cx: &L::Context) -> u32 {
        self.0.acquire_carried(cx)
    }

    unsafe fn release_carrying(&self, cx: &L::Context, number: u32) {
        assert!(number <= MOST, "{number} is not carried");
        // SAFETY: passed on.
        unsafe { self.0.release_carrying(cx, number) };
    }
}
