//! Short-lived threads leave nothing behind.

use cohort_service::gls::{self, address};
use std::thread;

/// That many threads at once, that many times.
const AT_ONCE: usize = 50;
const TIMES: usize = 200;

/// A key that all of them use, and the first of their own keys.
const SHARED: usize = 1 << 20;

/// Bytes of a lock and its key.
const LOCK_BYTES: usize = 64;

fn use_once(key: usize) {
    assert_eq!(address::lock(key), Ok(()));
    // SAFETY: locked just now, by no guard.
    assert_eq!(unsafe { address::unlock(key) }, Ok(()));
}

#[test]
fn ten_thousand_threads_leave_nothing_behind() {
    let before = gls::bytes();
    for _ in 0..TIMES {
        thread::scope(|scope| {
            for number in 1..=AT_ONCE {
                scope.spawn(move || {
                    let own = SHARED + 8 * number;
                    use_once(SHARED);
                    use_once(own);
                    assert_eq!(address::free(own), Ok(()));
                });
            }
        });
    }
    assert_eq!(gls::keys(), 1, "the shared one");
    // Each thread had cached a lock of its own key: those locks are reused.
    let more = gls::bytes() - before;
    let most = AT_ONCE * TIMES * LOCK_BYTES / 8;
    assert!(more < most, "{more} bytes more");
}
