//! Timeouts of waits.

use crate::libc::{CLOCK_MONOTONIC, CLOCK_REALTIME, EINVAL, timespec};
use cohort::door::now;
use cohort::{Clock, Deadline, Patience};
use core::ffi::c_int;

/// Patience until that time on one of the two clocks that locks support.
///
/// # Errors
/// `EINVAL` for an invalid time or another clock.
///
/// # Safety
/// `at` is null or readable.
pub unsafe fn until(clock: c_int, at: *const timespec) -> Result<Patience<'static>, c_int> {
    // SAFETY: the caller's.
    let at = unsafe { at.as_ref() }.ok_or(EINVAL)?;
    let nanoseconds = u32::try_from(at.nanoseconds).map_err(|_| EINVAL)?;
    if nanoseconds >= 1_000_000_000 {
        return Err(EINVAL);
    }
    Ok(Patience::until(Deadline {
        clock: match clock {
            CLOCK_REALTIME => Clock::Realtime,
            CLOCK_MONOTONIC => Clock::Monotonic,
            _ => return Err(EINVAL),
        },
        seconds: at.seconds,
        nanoseconds,
    }))
}

/// An acquisition's result with that patience, or the error of [`until`].
///
/// # Safety
/// As [`until`].
#[inline]
pub unsafe fn by(
    clock: c_int,
    at: *const timespec,
    acquire: impl FnOnce(&Patience<'_>) -> c_int,
) -> c_int {
    // SAFETY: the caller's.
    match unsafe { until(clock, at) } {
        Ok(patience) => acquire(&patience),
        Err(error) => error,
    }
}

/// Patience for that many nanoseconds; endless if beyond the clock's range.
pub fn during(nanoseconds: u64) -> Patience<'static> {
    let end = now().checked_add(nanoseconds);
    end.map_or(Patience::ENDLESS, |end| {
        Patience::until(Deadline::monotonic(end))
    })
}
