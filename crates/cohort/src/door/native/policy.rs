//! The process's wait policy.

use super::super::WaitPolicy;
use super::atoms::{AtomicU8, Ordering};

static POLICY: AtomicU8 = AtomicU8::new(WaitPolicy::Park as u8);

/// Sets how every waiter of this process waits from here on.
pub fn set_policy(policy: WaitPolicy) {
    POLICY.store(policy as u8, Ordering::Relaxed);
}

/// The process's wait policy.
#[must_use]
#[inline]
pub fn policy() -> WaitPolicy {
    match POLICY.load(Ordering::Relaxed) {
        1 => WaitPolicy::Spin,
        2 => WaitPolicy::Yield,
        _ => WaitPolicy::Park,
    }
}
