//! A signal handler, which comes in the middle of what a thread does with what is its alone.
//!
//! What threads share changes in single steps, each of which may be the last before a handler
//! as it may be before another thread's; what a thread keeps for itself has no steps, and says
//! where a handler may find it: at each of its [interruption]s.

use super::std;
use core::cell::RefCell;
use std::boxed::Box;

struct Handler {
    /// Interruptions that pass before it comes.
    left: u32,
    run: Box<dyn FnOnce()>,
}

std::thread_local! {
    /// The one that is to come; the threads of a model run on one.
    static HANDLER: RefCell<Option<Handler>> = const { RefCell::new(None) };
}

/// Where the handler may come.
pub(crate) fn interruption() {
    let due = HANDLER.with_borrow_mut(|handler| match handler {
        Some(Handler { left: 0, .. }) => handler.take(),
        Some(handler) => {
            handler.left -= 1;
            None
        }
        None => None,
    });
    if let Some(handler) = due {
        (handler.run)();
    }
}

/// Does `it`, interrupted once by `handler` after so many interruptions; false if there are
/// fewer.  For a model of one thread.
pub fn interrupted_after(left: u32, handler: impl FnOnce() + 'static, it: impl FnOnce()) -> bool {
    let run = Box::new(handler);
    HANDLER.set(Some(Handler { left, run }));
    it();
    HANDLER.take().is_none()
}
