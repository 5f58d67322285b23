//! A signal handler comes in the middle of its thread's arrival at a lock.

use crate::clients::host::Host;
use crate::locks::RawTry;
use crate::locks::host::Gate;
use std::rc::Rc;

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
