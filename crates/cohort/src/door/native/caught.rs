//! Panics on their way from the thread that ran into one to the thread that it concerns.
//!
//! Only the standard library can catch a panic: without the feature `std`, a panic in a delegated
//! section ends the process there.

#[cfg(feature = "std")]
mod by_std {
    extern crate std;

    use core::panic::AssertUnwindSafe;

    /// A panic's payload.
    pub type Panic = std::boxed::Box<dyn core::any::Any + Send>;

    /// Runs `body`; returns its panic, if any.
    ///
    /// # Errors
    /// The panic.
    #[inline]
    pub fn caught<R>(body: impl FnOnce() -> R) -> Result<R, Panic> {
        std::panic::catch_unwind(AssertUnwindSafe(body))
    }

    /// Resumes a panic.
    pub fn panic_on(panic: Panic) -> ! {
        std::panic::resume_unwind(panic)
    }
}

/// Ends the process during a panic, by a second one with this message.
struct Last(&'static str);

impl Drop for Last {
    fn drop(&mut self) {
        panic!("{}", self.0);
    }
}

/// Runs `wait`, and ends the process if it panics while there `is_something` in the caller's frame
/// that other threads may know of: a panic would leave them a dangling pointer. Locks do not panic;
/// a program's own level or cancellation may.
#[inline(always)]
pub fn to_its_end<R>(is_something: bool, wait: impl FnOnce() -> R) -> R {
    if !is_something {
        return wait();
    }
    let last = Last("a lock panicked while a context of it was in use");
    let result = wait();
    core::mem::forget(last);
    result
}

#[cfg(not(feature = "std"))]
mod by_nobody {
    use super::Last;

    /// No payload.
    pub type Panic = core::convert::Infallible;

    /// Runs `body`.
    ///
    /// # Errors
    /// None.
    #[inline]
    pub fn caught<R>(body: impl FnOnce() -> R) -> Result<R, Panic> {
        let last = Last("a section panicked that another thread had brought");
        let result = body();
        core::mem::forget(last);
        Ok(result)
    }

    /// Resumes a panic.
    pub const fn panic_on(panic: Panic) -> ! {
        match panic {}
    }
}

#[cfg(not(feature = "std"))]
pub use by_nobody::{Panic, caught, panic_on};
#[cfg(feature = "std")]
pub use by_std::{Panic, caught, panic_on};
