//! Deadlines of pthread calls.

use crate::libc::{CLOCK_MONOTONIC, CLOCK_REALTIME, EINVAL, Timespec};
use cohort::{Clock, Deadline, Patience};
use core::ffi::c_int;

/// The clock of that number.
///
/// # Errors
/// `EINVAL` for another clock than the two that locks support.
pub fn clock(number: c_int) -> Result<Clock, c_int> {
    match number {
        CLOCK_REALTIME => Ok(Clock::Realtime),
        CLOCK_MONOTONIC => Ok(Clock::Monotonic),
        _ => Err(EINVAL),
    }
}

/// Patience until that time.
///
/// # Errors
/// `EINVAL` if the nanoseconds are out of range.
///
/// # Safety
/// `at` is readable.
pub unsafe fn until(clock: Clock, at: *const Timespec) -> Result<Patience<'static>, c_int> {
    // SAFETY: the caller's.
    let at = unsafe { *at };
    match u32::try_from(at.nanoseconds) {
        Ok(nanoseconds) if nanoseconds < 1_000_000_000 => Ok(Patience::until(Deadline {
            clock,
            seconds: at.seconds,
            nanoseconds,
        })),
        _ => Err(EINVAL),
    }
}
