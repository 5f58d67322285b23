//! A forked child continues with an rwlock that it holds.
// Not on the portable backend: a fork is not detected there.
#![cfg(not(feature = "portable"))]

use cohort::{RwLock, UpgradableGuard};
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{scope, sleep, yield_now};
use std::time::Duration;

/// Seconds, more than any machine needs.
const LIMIT: u32 = 60;

/// Enough for a thread to fall asleep; a shorter time weakens the test, but never fails it.
const SETTLED: Duration = Duration::from_millis(50);

/// Runs `child` in a forked child, and waits for its success.
fn in_child(child: impl FnOnce()) {
    // SAFETY: the child uses locks, threads and memory, which this C library permits.
    unsafe {
        let id = libc::fork();
        assert!(id >= 0, "fork fails");
        if id == 0 {
            libc::alarm(LIMIT);
            child();
            process::exit(0);
        }
        let mut status = -1;
        assert_eq!(libc::waitpid(id, &raw mut status, 0), id);
        assert_eq!(status, 0, "the child hangs or fails");
    }
}

/// A thread that first notices the fork during an upgrade keeps the upgrade's mark.
#[test]
fn an_upgrade_is_woken_in_a_child() {
    let lock = RwLock::new(0);
    let reads = AtomicBool::new(false);
    let seen = lock.upgradable_read();
    in_child(|| {
        scope(|scope| {
            let reader = scope.spawn(|| {
                let guard = lock.read();
                reads.store(true, Ordering::Relaxed);
                while !lock.raw().keeps_readers_out() {
                    yield_now();
                }
                sleep(SETTLED);
                drop(lock.try_read_for(Duration::from_micros(100)));
                drop(guard);
            });
            while !reads.load(Ordering::Relaxed) {
                yield_now();
            }
            *UpgradableGuard::upgrade(seen) += 1;
            reader.join().expect("the reader does not panic");
        });
        assert_eq!(*lock.read(), 1);
    });
}

/// The child's tries ignore the parent's waiters.
#[test]
fn no_waiter_of_the_parent_refuses_a_try() {
    let lock = RwLock::new(0);
    scope(|scope| {
        let guard = lock.read();
        scope.spawn(|| *lock.write() += 1);
        while !lock.raw().keeps_readers_out() {
            yield_now();
        }
        // By then the waiting writer also prevents tries to write.
        sleep(SETTLED);
        in_child(|| {
            // SAFETY: the child's copy of the lock has the copied guard.
            unsafe { lock.force_unlock_read() };
            assert!(lock.try_write().is_some(), "a free lock refuses");
            assert!(lock.try_read().is_some(), "a free lock refuses");
        });
        drop(guard);
    });
    assert_eq!(*lock.read(), 1);
}
