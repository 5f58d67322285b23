//! What the native world knows of locks that are moved: no client of a checker moves one.

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
