//! Far more threads than CPUs, waiting without ever sleeping: each of them gets its
//! acquisitions all the same, under every lock.
//!
//! Counts alone decide; a test that hangs has a lock that needs its waiters to run.

#[path = "support/cpus.rs"]
mod cpus;
mod support;

use cohort::RawLock;
use cohort::door::{Cell, WaitPolicy, set_policy};
use cpus::{allowed, stay_on};
use std::sync::Barrier;
use std::thread::yield_now;
use support::within_limit;

/// As many as the promise names.
const THREADS: usize = 64;

/// Acquisitions of each thread.
const ROUNDS: u64 = 20;

/// Lets a crowd take turns on one CPU, each thread its rounds.
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
                    // SAFETY: the context is used for this acquisition alone; it and the lock stay for the
                    // release; and the lock guards the count.
                    unsafe {
                        lock.acquire(&context);
                        // Let all the others come and wait.
                        yield_now();
                        count.with_mut(|count| *count += 1);
                        lock.release(&context);
                    }
                }
            });
        }
    });
    // SAFETY: nobody else is left.
    let entered = count.with(|count| unsafe { *count });
    assert_eq!(entered, THREADS as u64 * ROUNDS, "two were in at once");
}

macro_rules! crowds {
    ($($name:ident, $lock:ty, $storage:ident, [$($alias:literal),*], $about:literal,
       $source:literal, [$($capability:ident),*];)+) => {
        $(#[test]
        fn $name() {
            within_limit("somebody starves", take_turns::<$lock>);
        })+
    };
}
cohort::for_each_lock!(crowds);
