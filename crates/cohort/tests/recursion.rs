//! Recursive reads while a writer waits. In a program of its own: after the first blocked recursive
//! read, all its threads count their read locks.

use cohort::RwLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{scope, yield_now};
use std::time::{Duration, Instant};

/// As documented for users of `parking_lot`.
const DEFERENCE: Duration = Duration::from_millis(5);

/// Calls `reader` while this thread reads and a writer waits; returns the value written by then.
fn beside_a_writer(lock: &RwLock<u32>, reader: impl FnOnce()) -> u32 {
    let wrote = AtomicBool::new(false);
    let guard = lock.read();
    scope(|scope| {
        scope.spawn(|| {
            *lock.write() += 1;
            wrote.store(true, Ordering::Relaxed);
        });
        while !lock.raw().keeps_readers_out() {
            yield_now();
        }
        reader();
        assert!(!wrote.load(Ordering::Relaxed), "a writer beside a reader");
        drop(guard);
    });
    *lock.read()
}

#[test]
fn the_first_waits_and_others_pass() {
    let lock = RwLock::new(0);
    // Before threads count their read locks.
    let named = || {
        drop(lock.read_recursive());
        assert!(lock.try_read_recursive().is_some());
        assert!(
            lock.try_read().is_none(),
            "no thread counts its read locks yet"
        );
    };
    assert_eq!(beside_a_writer(&lock, named), 1);

    let first = || {
        let began = Instant::now();
        let again = lock.read();
        assert!(began.elapsed() >= DEFERENCE, "passed a writer unasked");
        // The thread now counts, and so passes at once.
        assert!(lock.try_read().is_some());
        drop(again);
    };
    assert_eq!(beside_a_writer(&lock, first), 2);

    let counted = || assert!(lock.try_read().is_some(), "reads already");
    assert_eq!(beside_a_writer(&lock, counted), 3);
    // Threads without a read lock do not pass.
    let other = || {
        scope(|scope| {
            scope.spawn(|| assert!(lock.try_read().is_none(), "reads nothing yet"));
        });
    };
    assert_eq!(beside_a_writer(&lock, other), 4);
}
