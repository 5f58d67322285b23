//! A signal handler, which comes in the middle of what a thread does with what is its alone.
//!
//! What threads share changes in single steps, each of which may be the last before a handler
//! as it may be before another thread's; what a thread keeps for itself has no steps, and says
//! where a handler may find it: at each of its [interruption]s.
//!
//! A handler that waits for the thread that it interrupts waits for ever.  So a model of one thread shows
//! whether it does: it comes after each [step](interrupted_at_step) in turn, up to the thread's first wait.

use super::std;
use core::cell::{Cell, RefCell};
use std::boxed::Box;

/// What a handler may come after.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Moment {
    Interruption,
    Step,
}

struct Handler {
    /// Moments that pass before it comes.
    left: u32,
    /// Of that kind.
    after: Moment,
    run: Box<dyn FnOnce()>,
}

std::thread_local! {
    /// The one that is to come; the threads of a model run on one.
    static HANDLER: RefCell<Option<Handler>> = const { RefCell::new(None) };

    /// Whether the last one came because the thread began to wait.
    static LATE: Cell<bool> = const { Cell::new(false) };
}

/// Where the handler may come.
pub(crate) fn interruption() {
    passes(Moment::Interruption);
}

/// The same: a step has been taken.
pub(super) fn stepped() {
    passes(Moment::Step);
}

fn passes(moment: Moment) {
    let due = HANDLER.with_borrow_mut(|handler| match handler {
        Some(known) if known.after != moment => None,
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

/// The thread is about to wait: a handler that was to come after a later step comes now.
pub(super) fn waits() {
    let due =
        HANDLER.with_borrow_mut(|handler| handler.take_if(|known| known.after == Moment::Step));
    if let Some(handler) = due {
        LATE.set(true);
        (handler.run)();
    }
}

/// Does `it`, interrupted once by `handler` after so many interruptions; false if there are
/// fewer.  For a model of one thread.
pub fn interrupted_after(left: u32, handler: impl FnOnce() + 'static, it: impl FnOnce()) -> bool {
    interrupted(left, Moment::Interruption, Box::new(handler), it)
}

/// The same, after so many steps; false if there are fewer before it is done or waits, and then the
/// handler comes just before the wait.
pub fn interrupted_at_step(left: u32, handler: impl FnOnce() + 'static, it: impl FnOnce()) -> bool {
    interrupted(left, Moment::Step, Box::new(handler), it)
}

fn interrupted(left: u32, after: Moment, run: Box<dyn FnOnce()>, it: impl FnOnce()) -> bool {
    LATE.set(false);
    HANDLER.set(Some(Handler { left, after, run }));
    it();
    HANDLER.take().is_none() && !LATE.get()
}
