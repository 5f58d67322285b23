//! Builds whose locks report to no recorder: under the checkers, and without the feature.

use super::{CallSite, Recorder};

/// Whether the process has a recorder: no.
#[inline(always)]
#[must_use]
pub const fn may_be_observed() -> bool {
    false
}

/// The process's recorder: none.
#[inline(always)]
#[must_use]
pub const fn recorder() -> Option<&'static Recorder> {
    None
}

/// The caller's place: unknown.
#[inline(always)]
#[must_use]
pub const fn call_site() -> CallSite {
    CallSite {
        returns_to: 0,
        stack: 0,
        frame: 0,
    }
}
