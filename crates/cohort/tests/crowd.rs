//! Far more threads than CPUs, spinning without sleep: each completes its acquisitions under every
//! lock.
//!
//! Only counts decide. A test that hangs shows a lock that needs running waiters for progress.

#[path = "support/cpus.rs"]
mod cpus;
mod support;

use cohort::RawLock;
use cohort::door::{Cell, WaitPolicy, set_policy};
use cpus::{allowed, stay_on};
use std::sync::Barrier;
use std::thread::yield_now;
use support::within_limit;

/// The number of threads that the documentation promises.
const THREADS: usize = 64;

/// Acquisitions of each thread.
const ROUNDS: u64 = 20;

/// Runs all threads on one CPU, each for its rounds.
fn take_turns<L: RawLock<Context: 'static> + 'static>() {
    set_policy(WaitPolicy::Spin);
    stay_on(allowed()[0]);
    let (lock, count) = (&L::default(), &Cell::new(0));
    let start = &Barrier::new(THREADS);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(move || {
                start.wait();
                for _ in 0..ROUNDS {
                    let context = L::Context::default();
                    // SAFETY: the context serves this acquisition only; it and the lock stay until
                    // the release, and the lock guards the count.
                    unsafe {
                        lock.acquire(&context);
                        // Let the others arrive and wait.
                        yield_now();
                        count.with_mut(|count| *count += 1);
                        lock.release(&context);
                    }
                }
            });
        }
    });
    // SAFETY: all threads have ended.
    let entered = count.with(|count| unsafe { *count });
    assert_eq!(entered, THREADS as u64 * ROUNDS, "two were in at once");
}

macro_rules! crowds {
    ($($name:ident, $lock:ty, $storage:ident, [$($alias:literal),*], $about:literal,
       $source:literal, [$($capability:ident),*];)+) => {
        $(#[test]
        fn $name() {
            within_limit("a thread starves", take_turns::<$lock>);
        })+
    };
}
cohort::for_each_lock!(crowds);
