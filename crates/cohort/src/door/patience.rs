//! Waits that end within a [`Patience`].
//!
//! A panic in a program's [`Cancellation`](cohort_raw::Cancellation) would leave a lock in the
//! middle of a wait, and ends the process. The public functions [heed](crate::support::heed) the panic
//! before.

use super::{AtomicU32, Slept, expired, now, sleep_on, to_its_end, unless_starved};
use cohort_raw::{Deadline, Patience};
use core::ptr;

/// Whether patience has run out.
#[must_use]
#[cold]
#[inline(never)]
pub fn runs_out(patience: &Patience) -> bool {
    patience.deadline().is_some_and(expired)
        || to_its_end(patience.is_cancellable(), || patience.is_cancelled())
}

/// That patience, cut to so many nanoseconds, whichever clock its own deadline uses: each deadline
/// is compared with its own clock.
#[must_use]
#[cold]
#[inline(never)]
pub fn at_most<'a>(patience: &Patience<'a>, nanoseconds: u64) -> Patience<'a> {
    let ends_sooner = |deadline: &&Deadline| expired(&deadline.earlier(nanoseconds));
    match patience.deadline().filter(ends_sooner) {
        Some(_) => *patience,
        None => patience.ending(Deadline::monotonic(now().saturating_add(nanoseconds))),
    }
}

/// [`sleep_on`] until patience runs out at the latest: the sleep has timed out then.
#[must_use]
#[inline(never)]
pub fn sleep_within(word: &AtomicU32, expected: u32, bits: u32, patience: &Patience) -> Slept {
    sleep_by(word, expected, bits, patience.deadline(), patience)
}

/// The same, but for at most so many nanoseconds where the awaited thread may have no CPU; returns
/// whether they passed before patience ran out.
#[must_use]
#[inline(never)]
pub fn sleep_unless_starved(
    word: &AtomicU32,
    expected: u32,
    bits: u32,
    nanoseconds: u64,
    patience: &Patience,
) -> (Slept, bool) {
    // On whichever clock.
    let ends_sooner = |own: &Deadline| expired(&own.earlier(nanoseconds));
    let bound = if patience.deadline().is_some_and(ends_sooner) {
        None
    } else {
        unless_starved(nanoseconds)
    };
    let deadline = bound.as_ref().or(patience.deadline());
    let ended = sleep_by(word, expected, bits, deadline, patience);
    let starved = ended == Slept::TimedOut && bound.is_some() && !runs_out(patience);
    (ended, starved)
}

/// The same with another deadline than the patience's.
fn sleep_by(
    word: &AtomicU32,
    expected: u32,
    bits: u32,
    deadline: Option<&Deadline>,
    patience: &Patience,
) -> Slept {
    if !patience.is_cancellable() {
        return sleep_on(word, expected, bits, deadline);
    }
    let mut slept = Slept::TimedOut;
    to_its_end(true, || {
        patience.sleep(ptr::from_ref(word).addr(), &mut || {
            slept = sleep_on(word, expected, bits, deadline);
        });
    });
    slept
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use cohort_raw::Clock;
    use std::time::{SystemTime, UNIX_EPOCH};

    const SECOND: u64 = 1_000_000_000;

    /// So many seconds from here on.
    fn on(clock: Clock, seconds: u64) -> Deadline {
        let now = match clock {
            Clock::Monotonic => now(),
            Clock::Realtime => {
                let since = SystemTime::now().duration_since(UNIX_EPOCH);
                since.expect("it is later than 1970").as_nanos() as u64
            }
        };
        let at = Deadline::monotonic(now + seconds * SECOND);
        Deadline { clock, ..at }
    }

    #[test]
    fn the_sooner_deadline_stays_whichever_clock_it_is_read_on() {
        for clock in [Clock::Monotonic, Clock::Realtime] {
            let patience = Patience::until(on(clock, 1_000));
            let own = at_most(&patience, 2_000 * SECOND);
            assert_eq!(own.deadline(), patience.deadline());
            let limited = at_most(&patience, 500 * SECOND);
            let limit = limited.deadline().expect("there is one");
            assert!(expired(&limit.earlier(500 * SECOND)) && !expired(limit));
        }
        assert!(at_most(&Patience::ENDLESS, SECOND).deadline().is_some());
    }
}
