//! A panic of a program's [`Cancellation`] in the midst of a wait.
//!
//! The wait ends as if the word had been given, so that the lock stays whole and the caller's guard
//! holds what it stands for.  Then the panic goes on.

use crate::door::{Panic, caught, panic_on};
use cohort_raw::{Cancellation, Patience};
use core::cell::Cell;

/// The words of a patience, whose first panic is kept.
struct Heeded<'a> {
    patience: &'a Patience<'a>,
    panic: Cell<Option<Panic>>,
}

// SAFETY: a wait calls it in the thread that waits alone, in whose frame it is.
unsafe impl Sync for Heeded<'_> {}

impl Heeded<'_> {
    /// Runs that unless one has panicked before; none if so, or if it panics.
    fn attempt<R>(&self, body: impl FnOnce() -> R) -> Option<R> {
        let before = self.panic.take();
        if before.is_some() {
            self.panic.set(before);
            return None;
        }
        match caught(body) {
            Ok(result) => Some(result),
            Err(panic) => {
                self.panic.set(Some(panic));
                None
            }
        }
    }
}

impl Cancellation for Heeded<'_> {
    fn is_cancelled(&self) -> bool {
        self.attempt(|| self.patience.is_cancelled())
            .unwrap_or(true)
    }

    fn sleep(&self, word: usize, sleep: &mut dyn FnMut()) {
        let _ = self.attempt(|| self.patience.sleep(word, sleep));
    }
}

/// Has `wait` wait with that patience.  If a word of it panics, so does this once `wait` has returned; what
/// that returned is dropped.
#[inline]
pub(crate) fn heeding<R>(patience: &Patience, wait: impl FnOnce(&Patience) -> R) -> R {
    let heeded = Heeded {
        patience,
        panic: Cell::new(None),
    };
    let within;
    let result = wait(if patience.is_cancellable() {
        within = patience.unless_only(&heeded);
        &within
    } else {
        patience
    });
    match heeded.panic.take() {
        None => result,
        Some(panic) => {
            drop(result);
            panic_on(panic)
        }
    }
}
