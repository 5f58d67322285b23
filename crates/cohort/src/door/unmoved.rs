//! What the native world alone looks after: no client of a checker moves a lock, and where one
//! panics, its run is over.

use cohort_raw::Patience;

/// Natively, whether a lock is where it was.
#[derive(Debug, Default)]
pub struct Home;

impl Home {
    /// Of a lock that nobody has used.
    #[must_use]
    pub const fn new() -> Self {
        Self
    }

    /// It is where it was.
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
