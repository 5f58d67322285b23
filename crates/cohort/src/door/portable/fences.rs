//! Two full fences, where the native backend has a free one and the kernel's barrier.
//!
//! No lock begins what the barrier is for, releases by a plain store and biased readers. A full
//! fence on both sides is sound for any that would.

use super::super::{AtomicU32, Order};
use super::fence;

/// How often the quick mode was revoked in this process: never.
#[inline(always)]
#[must_use]
pub fn revocations() -> &'static AtomicU32 {
    static REVOCATIONS: AtomicU32 = AtomicU32::new(0);
    &REVOCATIONS
}

/// The side that is cheap natively.
#[inline(always)]
pub fn fence_here(agreement: Order) {
    fence(agreement);
}

/// The other side. Orders only threads that pass [`fence_here`].
pub fn fence_everywhere(agreement: Order) {
    fence(agreement);
}

/// The same: it never fails here.
pub fn fence_everywhere_for_certain(agreement: Order) {
    fence(agreement);
}

/// Whether a barrier in all threads is available: no.
#[must_use]
pub const fn has_barrier() -> bool {
    false
}

/// Whether the quick mode may pay: no.
#[inline(always)]
#[must_use]
pub const fn is_long_quiet() -> bool {
    false
}
