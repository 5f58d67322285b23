//! The place of a recorded call.

use cohort::records::RecordedSite;
use std::sync::atomic::Ordering::Relaxed;

/// Where a call came from, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Site {
    /// Where the call returns.
    pub returns_to: u64,
    /// The stack pointer there.
    pub stack: u64,
    /// The frame pointer there.
    pub frame: u64,
}

impl Site {
    /// A recorded place.
    pub fn of(place: &RecordedSite) -> Self {
        Self {
            returns_to: place.returns_to.load(Relaxed),
            stack: place.stack.load(Relaxed),
            frame: place.frame.load(Relaxed),
        }
    }
}
