//! Recursive tries to read while a writer waits. In a program of its own: after the first refused
//! one, all its threads count their read locks.

use cohort::RwLock;
use std::thread::{scope, yield_now};
use std::time::{Duration, Instant};

/// As documented for users of `parking_lot`.
const DEFERENCE: Duration = Duration::from_millis(5);

/// Longer than any machine needs.
const AGES: Duration = Duration::from_secs(60);

#[test]
fn a_thread_that_tries_again_and_again_gets_in() {
    let lock = RwLock::new(0);
    let guard = lock.read();
    scope(|scope| {
        scope.spawn(|| *lock.write() += 1);
        while !lock.raw().keeps_readers_out() {
            yield_now();
        }
        let began = Instant::now();
        let soon = Duration::from_micros(100);
        let again = loop {
            let tried = lock.try_read().or_else(|| lock.try_read_for(soon));
            if let Some(again) = tried {
                break again;
            }
            assert!(began.elapsed() < AGES, "tries for ever");
        };
        assert!(began.elapsed() >= DEFERENCE, "passed a writer unasked");
        assert_eq!(*again, 0, "a writer beside a reader");
        // The thread now counts, and so passes without a refusal.
        assert!(lock.try_read().is_some());
        drop((again, guard));
    });
    assert_eq!(*lock.read(), 1);
}
