//! The number of releases until plain-store releases. In a program of its own, since other tests
//! end the plain-store mode.

use cohort::door::{Order, is_long_quiet, revocations};

/// The number when the mode is ended by waiters, and when it is not.
const SELDOM: u32 = 8192;
const SOON: u32 = 256;

/// Releases until the next plain-store mode; none if the kernel has no barrier.
fn releases() -> Option<u32> {
    (1..=4 * SELDOM).find(|_| is_long_quiet())
}

/// With thousands of mutexes, 8192 releases each would take hours.
#[test]
fn quick_times_begin_soon_until_one_is_revoked() {
    let Some(first) = releases() else {
        return;
    };
    assert_eq!(first, SELDOM);
    for _ in 0..3 {
        assert_eq!(releases(), Some(SOON));
    }
    revocations().fetch_add(1, Order::RELAXED);
    // The thread notices when its next mode begins.
    assert_eq!(releases(), Some(SOON));
    assert_eq!(releases(), Some(SELDOM));
    assert_eq!(releases(), Some(SOON));
}
