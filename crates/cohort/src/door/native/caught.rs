//! Panics that go from the thread that ran into one to the thread that it concerns.
//!
//! Only the standard library can stop one: without the feature `std` it ends the process where
//! it comes to a section that another thread has brought.

#[cfg(feature = "std")]
mod by_std {
    extern crate std;

    use core::panic::AssertUnwindSafe;

    /// What a panic was about.
    pub type Panic = std::boxed::Box<dyn core::any::Any + Send>;

    /// Runs `body`; what it panicked with, if it did.
    ///
    /// # Errors
    /// The panic.
    #[inline]
    pub fn caught<R>(body: impl FnOnce() -> R) -> Result<R, Panic> {
        std::panic::catch_unwind(AssertUnwindSafe(body))
    }

    /// Goes on with a panic.
    pub fn panic_on(panic: Panic) -> ! {
        std::panic::resume_unwind(panic)
    }
}

#[cfg(not(feature = "std"))]
mod by_nobody {
    /// There is none.
    pub type Panic = core::convert::Infallible;

    /// Ends the process in the midst of a panic, by another one.
    struct Last;

    impl Drop for Last {
        fn drop(&mut self) {
            panic!("a section panicked that another thread had brought");
        }
    }

    /// Runs `body`.
    ///
    /// # Errors
    /// None.
    #[inline]
    pub fn caught<R>(body: impl FnOnce() -> R) -> Result<R, Panic> {
        let last = Last;
        let result = body();
        core::mem::forget(last);
        Ok(result)
    }

    /// Goes on with a panic.
    pub const fn panic_on(panic: Panic) -> ! {
        match panic {}
    }
}

#[cfg(not(feature = "std"))]
pub use by_nobody::{Panic, caught, panic_on};
#[cfg(feature = "std")]
pub use by_std::{Panic, caught, panic_on};
