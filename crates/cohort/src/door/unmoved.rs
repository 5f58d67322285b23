//! Checks of the native backend alone: no checker's client moves a lock, and a client's panic ends
//! its run.

use cohort_raw::Patience;

/// Natively, checks whether a lock is at its former address.
#[derive(Debug, Default)]
pub struct Home;

impl Home {
    /// The state of an unused lock.
    #[must_use]
    pub const fn new() -> Self {
        Self
    }

    /// Returns that it is.
    #[inline(always)]
    pub fn is_here(&self, _is_held: impl Fn() -> bool) -> bool {
        true
    }

    /// The same.
    #[inline(always)]
    pub fn is_here_within(&self, _patience: &Patience, _is_held: impl Fn() -> bool) -> bool {
        true
    }
}

/// Natively, ends the process if this panics where `_is_something` is in the caller's frame.
#[inline(always)]
pub fn to_its_end<R>(_is_something: bool, wait: impl FnOnce() -> R) -> R {
    wait()
}
