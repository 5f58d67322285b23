//! A pair of fences of which one is free natively.
//!
//! Both are fences here.  That promises less than the kernel's barrier does, which
//! would also order threads that do not come by the cheap side.  Loom's sequentially
//! consistent fences order more than the language's do: models in which they are
//! met may miss a race, so the others meet none.

use super::super::Order;
use super::execution::with;
use super::{fence, std};

/// The cheap side.
#[track_caller]
pub fn fence_here(agreement: Order) {
    fence(agreement);
}

/// The dear side.
#[track_caller]
pub fn fence_everywhere(agreement: Order) {
    fence(agreement);
}

/// Whether the model is one of a lock that has long been quiet.
#[must_use]
pub fn is_long_quiet() -> bool {
    !std::thread::panicking() && with(|execution| execution.settings.quiet)
}
