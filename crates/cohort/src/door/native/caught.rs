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

/// Ends the process in the midst of a panic, by another one, which says this.
struct Last(&'static str);

impl Drop for Last {
    fn drop(&mut self) {
        panic!("{}", self.0);
    }
}

/// Runs `wait`, in which other threads, if there `is_something`, may come to know where that is in the
/// caller's frame: a panic that left that frame would leave them with it, and ends the process.  Locks
/// do not panic; what programs bring to them may, such as a level of theirs or a word that ends a
/// wait.
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

    /// There is none.
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

    /// Goes on with a panic.
    pub const fn panic_on(panic: Panic) -> ! {
        match panic {}
    }
}

#[cfg(not(feature = "std"))]
pub use by_nobody::{Panic, caught, panic_on};
#[cfg(feature = "std")]
pub use by_std::{Panic, caught, panic_on};
