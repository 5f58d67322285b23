//! A signal handler that interrupts a thread amid accesses to its own data.
//!
//! Shared data changes in single steps, and a handler may run after any of them. A thread's own
//! data has no steps; its code marks where a handler may run by an [interruption].
//!
//! A handler that waits for the interrupted thread waits for ever. To find that, a model of one
//! thread runs the handler after each [step](interrupted_at_step) in turn, up to the thread's first
//! wait.

use super::std;
use core::cell::{Cell, RefCell};
use std::boxed::Box;

/// The kind of point at which a handler runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Moment {
    Interruption,
    Step,
}

struct Handler {
    /// Points to pass before it runs.
    left: u32,
    /// Their kind.
    after: Moment,
    run: Box<dyn FnOnce()>,
}

std::thread_local! {
    /// The pending handler; a model's threads run on one system thread.
    static HANDLER: RefCell<Option<Handler>> = const { RefCell::new(None) };

    /// Whether the last handler ran because the thread began to wait.
    static LATE: Cell<bool> = const { Cell::new(false) };
}

/// A point where a handler may run.
pub(crate) fn interruption() {
    passes(Moment::Interruption);
}

/// The same, after a step.
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

/// Runs a handler meant for a later step, since the thread is about to wait.
pub(super) fn waits() {
    let due =
        HANDLER.with_borrow_mut(|handler| handler.take_if(|known| known.after == Moment::Step));
    if let Some(handler) = due {
        LATE.set(true);
        (handler.run)();
    }
}

/// Runs `it`, interrupted once by `handler` after `left` interruptions; false if there are fewer.
/// For a model of one thread.
pub fn interrupted_after(left: u32, handler: impl FnOnce() + 'static, it: impl FnOnce()) -> bool {
    interrupted(left, Moment::Interruption, Box::new(handler), it)
}

/// The same after `left` steps. False if there are fewer before it ends or waits; the handler then
/// runs just before the wait.
pub fn interrupted_at_step(left: u32, handler: impl FnOnce() + 'static, it: impl FnOnce()) -> bool {
    interrupted(left, Moment::Step, Box::new(handler), it)
}

fn interrupted(left: u32, after: Moment, run: Box<dyn FnOnce()>, it: impl FnOnce()) -> bool {
    LATE.set(false);
    HANDLER.set(Some(Handler { left, after, run }));
    it();
    HANDLER.take().is_none() && !LATE.get()
}
