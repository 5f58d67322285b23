//! Panics on their way from the thread that ran into one to the thread that it concerns.

use super::execution::Abandoned;
use super::std;
use core::panic::AssertUnwindSafe;
use std::panic::{catch_unwind, resume_unwind};

/// A panic's payload.
pub type Panic = std::boxed::Box<dyn core::any::Any + Send>;

/// Runs `body`; returns its panic, if any. An abandoned execution stays abandoned.
///
/// # Errors
/// The panic.
pub fn caught<R>(body: impl FnOnce() -> R) -> Result<R, Panic> {
    match catch_unwind(AssertUnwindSafe(body)) {
        Err(reason) if reason.is::<Abandoned>() => resume_unwind(reason),
        result => result,
    }
}

/// Resumes a panic.
pub fn panic_on(panic: Panic) -> ! {
    resume_unwind(panic)
}
