//! Panics that go from the thread that ran into one to the thread that it concerns.

use super::std;
use core::panic::AssertUnwindSafe;

/// What a panic was about.
pub type Panic = std::boxed::Box<dyn core::any::Any + Send>;

/// Runs `body`; what it panicked with, if it did.
///
/// # Errors
/// The panic.
pub fn caught<R>(body: impl FnOnce() -> R) -> Result<R, Panic> {
    std::panic::catch_unwind(AssertUnwindSafe(body))
}

/// Goes on with a panic.
pub fn panic_on(panic: Panic) -> ! {
    std::panic::resume_unwind(panic)
}
