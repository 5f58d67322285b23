//! An asymmetric pair of fences, one of them free natively.
//!
//! Both are fences here. That promises less than the kernel's barrier, which also orders threads
//! that do not pass the cheap side. Loom's sequentially consistent fences order more than the
//! language's: a model with these fences may miss a race, so the other models have none.

use super::super::Order;
use super::execution::with;
use super::{fence, std};

/// The cheap side.
#[track_caller]
pub fn fence_here(agreement: Order) {
    fence(agreement);
}

/// The expensive side.
#[track_caller]
pub fn fence_everywhere(agreement: Order) {
    fence(agreement);
}

/// The same: it never fails here.
#[track_caller]
pub fn fence_everywhere_for_certain(agreement: Order) {
    fence(agreement);
}

/// Whether that is available.
#[must_use]
pub const fn has_barrier() -> bool {
    true
}

/// Whether the model's locks have long been quiet.
#[must_use]
pub fn is_long_quiet() -> bool {
    !std::thread::panicking() && with(|execution| execution.settings.quiet)
}
