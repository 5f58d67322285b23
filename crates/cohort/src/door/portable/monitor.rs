//! Natively, the CPU may watch a word for a waiter. Here waiters pause between looks.

use super::super::Monitor;
use super::AtomicU32;

/// How waiters let the CPU watch a word: not at all.
#[inline(always)]
#[must_use]
pub const fn monitor() -> Monitor {
    Monitor::Missing
}

/// The CPU's instructions: not looked up.
#[must_use]
pub const fn offered_monitor() -> Monitor {
    Monitor::Missing
}

/// Passes a little time of a wait.
#[inline(always)]
pub(super) fn wait(_word: &AtomicU32, _seen: u32, _nanoseconds: u64) {
    core::hint::spin_loop();
}
