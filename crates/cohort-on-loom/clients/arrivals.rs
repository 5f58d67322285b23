//! A thread arrives at an inflated lock while another thread, or its own signal handler, releases
//! it.

use crate::clients::host::Host;
use crate::locks::RawTry;
use crate::locks::door::yield_now;
use crate::locks::host::{Claim, Fat, FatPool, Gate, Holding, Inflated, Pooled, Served};
use crate::world::{nodes, together};
use std::rc::Rc;
use std::sync::Arc;

/// A thread arrives at a lock that it holds. At each step of the arrival in turn, a signal handler
/// releases the lock, acquires it and releases it again. The handler must never need the
/// interrupted thread to proceed. `interrupted(moment, handler, arrival)` runs the arrival with the
/// handler at that step; it returns whether the arrival has so many steps before its first wait.
///
/// Not for FIFO locks: in a queue, the handler would wait behind its own thread.
pub fn is_arrived_at<H: Host>(
    make: impl Fn() -> H,
    interrupted: impl Fn(u32, Box<dyn FnOnce()>, Box<dyn FnOnce() + '_>) -> bool,
) {
    let mut moment = 0;
    loop {
        let host = Rc::new(make());
        host.lock();
        let of_handler = Rc::clone(&host);
        let handler = move || {
            assert!(of_handler.unlock(), "what was locked is not");
            of_handler.lock();
            assert!(of_handler.unlock(), "the handler does not hold it");
        };
        let came = interrupted(moment, Box::new(handler), Box::new(|| host.lock()));
        assert!(host.unlock(), "the thread does not hold it");
        assert!(!host.is_busy(), "the object is not at rest");
        if !came {
            break;
        }
        moment += 1;
    }
    assert!(moment > 6, "{moment} steps were interrupted");
}

/// A lock behind an admission gate that initially seems to have parked threads; an admitted thread
/// tries there.
struct Behind<L> {
    gate: Gate,
    lock: L,
}

/// Hosts the lock, which has no contexts, behind such a gate.
pub fn before_sleepers<L>() -> impl Host
where
    L: RawTry<Context = ()> + Default + Send + Sync + 'static,
{
    let gate = Gate::new();
    gate.expect_sleepers();
    Behind {
        gate,
        lock: L::default(),
    }
}

impl<L> Host for Behind<L>
where
    L: RawTry<Context = ()> + Send + Sync + 'static,
{
    fn lock(&self) {
        // SAFETY: the lock has no contexts, and does not move until it is free; also below.
        unsafe { self.gate.acquire(&self.lock, &()) };
    }
    fn try_lock(&self) -> bool {
        // SAFETY: as above.
        unsafe { self.lock.try_acquire(&()) }
    }
    fn unlock(&self) -> bool {
        self.gate.pass_on();
        // SAFETY: as above, and clients unlock only what they locked.
        unsafe { self.lock.release(&()) };
        true
    }
    fn is_busy(&self) -> bool {
        self.lock.is_locked()
    }
}

/// Another thread arrives `times` times at a held lock. The holder releases it, holds it again for
/// about the duration of the first arrival, and releases it again.
pub fn is_left_and_held_again<H: Host>(host: H, times: u32) {
    host.lock();
    let host = Arc::new(host);
    let theirs = Arc::clone(&host);
    let ended = together(2, move |thread| {
        if thread == 1 {
            assert!(theirs.unlock(), "what was locked is not");
            theirs.lock();
            yield_now();
            assert!(theirs.unlock(), "the holder does not hold it");
            return;
        }
        for _ in 0..times {
            theirs.lock();
            assert!(theirs.unlock(), "the comer does not hold it");
        }
    });
    if ended.is_some() {
        assert!(!host.is_busy(), "the object is not at rest");
    }
}

/// A thread arrives at a lock while its holder releases it and then takes an inflated lock for
/// another object.
pub fn is_left_for_another<L: Served>() {
    let shared = Arc::new((
        Inflated::default(),
        Claim::new(),
        Pooled::<L, _, _>::new(nodes::<Holding<L::Context>>(2), nodes::<Fat<L>>(3)),
    ));
    shared.0.lock(&shared.1, &shared.2);
    let theirs = Arc::clone(&shared);
    let ended = together(2, move |thread| {
        let (object, claim, fat_pool) = &*theirs;
        if thread == 0 {
            object.lock(claim, fat_pool);
        }
        // SAFETY: the first thread has just locked it; the second holds the earlier acquisition.
        let held = unsafe { object.unlock(claim, fat_pool) };
        assert!(held, "another thread has unlocked it");
        if thread == 1 {
            let fat_pool: &dyn FatPool = fat_pool;
            let fat = fat_pool.take(object);
            // SAFETY: taken just now, and never named by an object since.
            unsafe { fat_pool.put_back(fat) };
        }
    });
    if ended.is_some() {
        assert!(!shared.0.is_locked(), "the object is not at rest");
    }
}
