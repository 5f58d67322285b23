//! Panics on their way from the thread that ran into one to the thread that it concerns.

use super::std;
use core::panic::AssertUnwindSafe;

/// A panic's payload.
pub type Panic = std::boxed::Box<dyn core::any::Any + Send>;

/// Runs `body`; returns its panic, if any.
///
/// # Errors
/// The panic.
pub fn caught<R>(body: impl FnOnce() -> R) -> Result<R, Panic> {
    std::panic::catch_unwind(AssertUnwindSafe(body))
}

/// Resumes a panic.
pub fn panic_on(panic: Panic) -> ! {
    std::panic::resume_unwind(panic)
}
