//! How many releases make a lock quick.  In a program of its own: others revoke quick times.

use cohort::door::{Order, is_long_quiet, revocations};

/// Releases where quick times are revoked, and where none is.
const SELDOM: u32 = 8192;
const SOON: u32 = 256;

/// How many releases the next quick time takes; none where the kernel has no barrier.
fn releases() -> Option<u32> {
    (1..=4 * SELDOM).find(|_| is_long_quiet())
}

/// With thousands of mutexes, 8192 releases for each would take hours.
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
    // The thread learns of it when its next quick time begins.
    assert_eq!(releases(), Some(SOON));
    assert_eq!(releases(), Some(SELDOM));
    assert_eq!(releases(), Some(SOON));
}
