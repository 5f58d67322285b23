//! Yielding the CPU.

use super::allowed::{Beyond, is_allowed};
use super::kernel::{call, number};
use super::system::nap;

/// How long a thread sleeps that may not yield; without a sleep it would keep the CPU.
const IN_PLACE_OF_A_TURN_NANOSECONDS: u64 = 20_000;

/// Yields the CPU to another runnable thread, if there is one; sleeps briefly in a process that may
/// not yield.
#[inline(never)]
pub fn yield_now() {
    if !is_allowed(Beyond::Yield) {
        return nap(IN_PLACE_OF_A_TURN_NANOSECONDS);
    }
    // SAFETY: takes no arguments and touches no memory.
    unsafe { call(number::SCHED_YIELD, [0; 6]) };
}
