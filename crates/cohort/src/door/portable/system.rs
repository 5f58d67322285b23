//! Time.

use super::std;
use cohort_raw::{Clock, Deadline};
use core::time::Duration;
use std::sync::OnceLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The clock's reading at its first use, in seconds: a moment before that has a reading too, and
/// none is zero.
const ORIGIN_SECONDS: u64 = 1 << 20;

/// Nanoseconds on the monotonic clock.
#[inline]
#[must_use]
pub fn now() -> u64 {
    read(Clock::Monotonic).as_nanos() as u64
}

/// The time on that clock.
fn read(clock: Clock) -> Duration {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    match clock {
        Clock::Monotonic => {
            let since = ORIGIN.get_or_init(Instant::now).elapsed();
            since + Duration::from_secs(ORIGIN_SECONDS)
        }
        // Before 1970, every deadline is ahead.
        Clock::Realtime => SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default(),
    }
}

/// Whether `deadline` has passed.
#[must_use]
pub fn expired(deadline: &Deadline) -> bool {
    left(deadline).is_zero()
}

/// The time left until then.
pub(super) fn left(deadline: &Deadline) -> Duration {
    let seconds = u64::try_from(deadline.seconds);
    let at = seconds.map_or(Duration::ZERO, |seconds| {
        Duration::new(seconds, deadline.nanoseconds)
    });
    at.saturating_sub(read(deadline.clock))
}

/// A deadline that many nanoseconds ahead, for a sleep that a thread without a CPU could prolong
/// for ever.
#[must_use]
pub fn unless_starved(nanoseconds: u64) -> Option<Deadline> {
    Some(Deadline::monotonic(now() + nanoseconds))
}

/// Sleeps for that many nanoseconds.
pub fn nap(nanoseconds: u64) {
    std::thread::sleep(Duration::from_nanos(nanoseconds));
}

/// Runnable tasks of the machine, and its CPUs: the standard library knows none.
#[must_use]
pub const fn workload() -> Option<(i64, i64)> {
    None
}
