//! A thread arrives at an inflated lock that another one leaves meanwhile, or a signal handler of its own.

use crate::clients::host::Host;
use crate::locks::RawTry;
use crate::locks::door::yield_now;
use crate::locks::host::{Claim, Fat, FatPool, Gate, Holding, Inflated, Pooled, Served};
use crate::world::{nodes, together};
use std::rc::Rc;
use std::sync::Arc;

/// A thread arrives at a lock that it holds, and at each step of that in turn a signal handler comes,
/// which releases the lock, takes it and releases it again: nothing that it waits for is left to the
/// interrupted thread.  `interrupted` does the third, stopped by the second after so many steps, and says
/// whether there are as many before its first wait.
///
/// For a lock without an order: in a queue the handler would stand behind its own thread.
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

/// A lock behind a gate, at which others seem to sleep at first: where a thread tries that has come past
/// it.
struct Behind<L> {
    gate: Gate,
    lock: L,
}

/// The lock, which has no contexts, behind such a gate.
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
        // SAFETY: the lock has no contexts, and stays where it is until it is free; so below.
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

/// A thread comes so often to a lock that another one holds, which releases it, holds it once more for as
/// long as it takes the first to come, and releases it again.
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

/// A thread comes to a lock that another one holds, which releases it, and then takes a fat lock for
/// something else.
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
        // SAFETY: the first thread has just locked it, and holds what was locked before for the second.
        let held = unsafe { object.unlock(claim, fat_pool) };
        assert!(held, "somebody else has unlocked it");
        if thread == 1 {
            let fat_pool: &dyn FatPool = fat_pool;
            let fat = fat_pool.take(object);
            // SAFETY: no object has ever named it since.
            unsafe { fat_pool.put_back(fat) };
        }
    });
    if ended.is_some() {
        assert!(!shared.0.is_locked(), "the object is not at rest");
    }
}
