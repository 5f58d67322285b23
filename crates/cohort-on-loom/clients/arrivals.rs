//! A signal handler comes in the middle of its thread's arrival at a lock.

use crate::clients::host::Host;
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
    assert!(moment > 10, "hardly anything was interrupted");
}
