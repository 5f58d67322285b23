//! A lock that can count few hand-offs.

use crate::clients::passes_on;
use crate::locks::{DetectsWaiters, LowLock, RawLock, ThreadOblivious};

/// The inner lock, with counts up to `MOST`.
#[derive(Default)]
pub struct Little<L, const MOST: u32>(L);

passes_on!(Little<L: RawLock, const MOST>);

// SAFETY: releases are the inner lock's.
unsafe impl<L: ThreadOblivious, const MOST: u32> ThreadOblivious for Little<L, MOST> {}

// SAFETY: answered by the inner lock.
unsafe impl<L: DetectsWaiters, const MOST: u32> DetectsWaiters for Little<L, MOST> {
    unsafe fn has_waiters(&self, cx: &L::Context) -> bool {
        // SAFETY: the caller's.
        unsafe { self.0.has_waiters(cx) }
    }
}

// SAFETY: the inner lock carries the counts, which are within its limit.
unsafe impl<L: LowLock, const MOST: u32> LowLock for Little<L, MOST> {
    fn hand_off_limit(&self) -> u32 {
        MOST.min(self.0.hand_off_limit())
    }

    unsafe fn hand_offs(&self, cx: &L::Context) -> u32 {
        // SAFETY: the caller's.
        unsafe { self.0.hand_offs(cx) }
    }

    unsafe fn acquire_counted(&self, cx: &L::Context) -> u32 {
        // SAFETY: the caller's.
        unsafe { self.0.acquire_counted(cx) }
    }

    unsafe fn release_counted(&self, cx: &L::Context, number: u32) {
        assert!(number <= MOST, "{number} is not carried");
        // SAFETY: the caller's; the inner lock's limit is no smaller.
        unsafe { self.0.release_counted(cx, number) };
    }
}
