//! A thread that changes its cohort at each query. Its next acquisition is in another cohort, and
//! so is an acquisition that it makes on another thread's behalf. Also a thread that yields before
//! it releases.
//!
//! For backends that can move a thread in the middle of a model.

use crate::clients::add_one;
use crate::locks::door::{Cell, wander, yield_now};
use crate::locks::host::{Claim, Fat, FatPool, Holding, Inflated, Pooled, Served};
use crate::locks::{DetectsWaiters, RawLock, forwards, standalone};
use crate::world::{nodes, together};
use std::sync::Arc;

/// A lock that yields before each release; a bound on preemptions does not count this.
#[derive(Default)]
pub struct Hesitant<L>(L);

// SAFETY: the inner lock excludes; other threads run only while it is still held.
unsafe impl<L: RawLock> RawLock for Hesitant<L> {
    type Context = L::Context;

    unsafe fn acquire(&self, cx: &L::Context) {
        // SAFETY: the caller's.
        unsafe { self.0.acquire(cx) };
    }

    unsafe fn release(&self, cx: &L::Context) {
        yield_now();
        // SAFETY: the caller holds it with this context, which went to the inner lock.
        unsafe { self.0.release(cx) };
    }

    fn is_locked(&self) -> bool {
        self.0.is_locked()
    }
}

forwards! {
    [L: RawLock] Hesitant<L>: L in 0;
    RawTry: inner,
    Abortable: none,
    BoundedAbort: none,
    ThreadOblivious: inner,
    DetectsWaiters: inner,
    HandsOver: none,
    Fair: none,
    Inherit: inner,
    Adapts: none,
    Hosted: inner,
    QuickRelease: none,
    LowLock: own,
    HighLock: inner,
    Resumable: none,
}

standalone!([L: DetectsWaiters] Hesitant<L>: LowLock);

/// The first thread, which changes cohorts, releases an inflated object while the other may not
/// have left. Then it takes the lock prepared for the next object, with a call of `between` in
/// between.
pub fn looks_ahead<L: Served + Send + Sync>(between: fn()) {
    let fat_pool = Pooled::<L, _, _>::new(nodes::<Holding<L::Context>>(2), nodes::<Fat<L>>(3));
    let shared = Arc::new((Inflated::default(), Claim::new(), fat_pool, Cell::new(0)));
    together(2, move |thread| {
        let (object, claim, fat_pool, count) = &*shared;
        let fat_pool: &dyn FatPool = fat_pool;
        if thread == 0 {
            wander();
        }
        object.lock(claim, fat_pool);
        add_one(count);
        if thread == 1 {
            // Let the first thread arrive and wait.
            yield_now();
        }
        // SAFETY: locked above.
        let held = unsafe { object.unlock(claim, fat_pool) };
        assert!(held, "the holder does not hold it");
        if thread > 0 {
            return;
        }
        between();
        // In each of two cohorts.
        for _ in 0..2 {
            let fat = fat_pool.take(object);
            // SAFETY: taken just now, and not published.
            unsafe { fat_pool.put_back(fat) };
        }
    });
}
