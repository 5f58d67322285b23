//! Time, by the program's platform. It has one clock: deadlines on the realtime clock are read by it too.

use super::calls;
use cohort_raw::Deadline;

pub use super::calls::now;

const NANOSECONDS: u64 = 1_000_000_000;

/// Whether `deadline` has passed.
#[must_use]
pub fn expired(deadline: &Deadline) -> bool {
    let Ok(seconds) = u64::try_from(deadline.seconds) else {
        return true;
    };
    let at = seconds
        .saturating_mul(NANOSECONDS)
        .saturating_add(deadline.nanoseconds.into());
    now() >= at
}

/// A deadline that many nanoseconds ahead.
#[must_use]
pub fn unless_starved(nanoseconds: u64) -> Option<Deadline> {
    Some(Deadline::monotonic(now().saturating_add(nanoseconds)))
}

/// Yields once: a clock that stands still would never end a nap.
pub fn nap(_nanoseconds: u64) {
    calls::yield_now();
}

/// Runnable threads and CPUs: unknown.
#[must_use]
pub const fn workload() -> Option<(i64, i64)> {
    None
}
