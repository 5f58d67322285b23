//! Extensions of time slices are the native backend's: elsewhere there are none.

use super::is_long_quiet;

/// Whether holders of contended locks make requests: no.
#[inline(always)]
pub(crate) const fn extends_slices() -> bool {
    false
}

/// Requests an extension for the holder of the lock at that address.
#[inline(always)]
pub(crate) const fn request_extension(_lock: usize) {}

/// Whether the calling thread's request is for the lock at that address: there is none.
#[inline(always)]
pub(crate) const fn ends_extension(_lock: usize) -> bool {
    false
}

/// Clears a request that was for a lock just released.
#[inline(always)]
pub(crate) const fn return_extension() {}

/// Counts a release of the calling thread; whether it begins a quick mode.
#[inline(always)]
pub(crate) fn is_special_release() -> bool {
    is_long_quiet()
}

/// After a special release: whether the calling thread's releases have long been uncontended.
#[inline(always)]
pub(crate) const fn is_quiet_time() -> bool {
    true
}
