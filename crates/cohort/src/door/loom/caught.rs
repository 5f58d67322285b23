//! Panics that go from the thread that ran into one to the thread that it concerns.

use super::execution::Abandoned;
use super::std;
use core::panic::AssertUnwindSafe;
use std::panic::{catch_unwind, resume_unwind};

/// What a panic was about.
pub type Panic = std::boxed::Box<dyn core::any::Any + Send>;

/// Runs `body`; what it panicked with, if it did.  An execution that is abandoned goes on being so.
///
/// # Errors
/// The panic.
pub fn caught<R>(body: impl FnOnce() -> R) -> Result<R, Panic> {
    match catch_unwind(AssertUnwindSafe(body)) {
        Err(reason) if reason.is::<Abandoned>() => resume_unwind(reason),
        result => result,
    }
}

/// Goes on with a panic.
pub fn panic_on(panic: Panic) -> ! {
    resume_unwind(panic)
}
