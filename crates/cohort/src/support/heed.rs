//! A panic of a program's [`Cancellation`] during a wait.
//!
//! The wait ends as if cancelled, so the lock stays consistent and the caller's guard stays valid.
//! Then the panic resumes.

use crate::door::{Panic, caught, panic_on};
use cohort_raw::{Cancellation, Patience};
use core::cell::Cell;

/// The cancellations of a patience, with their first panic.
struct Heeded<'a> {
    patience: &'a Patience<'a>,
    panic: Cell<Option<Panic>>,
}

// SAFETY: only the waiting thread calls it, and it is in that thread's frame.
unsafe impl Sync for Heeded<'_> {}

impl Heeded<'_> {
    /// Runs `body` unless a panic is already kept; none if so, or if it panics.
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

/// Calls `wait` with that patience. If a cancellation panics, this function drops the result of
/// `wait` and resumes the panic.
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
