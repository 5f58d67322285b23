//! Random bits.

use super::system::now;
use super::thread::thread;

/// Bits for a waiter that must not keep step with others: the clock and the thread, hashed. Not for
/// secrets.
#[inline]
#[must_use]
pub fn random() -> u64 {
    let mut bits = now().wrapping_add(core::ptr::from_ref(thread()) as u64);
    bits = (bits ^ (bits >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 29)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits ^ (bits >> 32)
}
