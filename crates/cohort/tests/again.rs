//! An arena's thread is stopped after each instruction of a take and a give, while its signal
//! handler takes and gives nodes, too.
// Not on the portable backend: a signal handler takes no locks there.
#![cfg(all(target_arch = "x86_64", not(feature = "portable")))]

#[path = "../../cohort-on-loom/clients/again.rs"]
mod again;
#[path = "support/step.rs"]
mod step;

/// The build of the locks that the client uses.
use cohort as locks;
use std::cell::RefCell;
use step::{can_step, stopped_after};

thread_local! {
    /// The pending handler.
    static HANDLER: RefCell<Option<Box<dyn FnOnce()>>> = const { RefCell::new(None) };
}

fn handle() {
    let handler = HANDLER.with_borrow_mut(Option::take);
    if let Some(handler) = handler {
        handler();
    }
}

#[test]
fn a_handler_takes_and_gives_in_the_middle_of_it() {
    if !can_step() {
        eprintln!("skip: another process traces this one");
        return;
    }
    again::is_entered_again(|moment, handler, it| {
        HANDLER.set(Some(handler));
        let came = stopped_after(moment + 1, handle, it);
        drop(HANDLER.take());
        came
    });
}
