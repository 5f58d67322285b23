//! A cohort's place in the level above is queried once, and again after its bound is used up.

use cohort::basic::{Mcs, Ticket};
use cohort::compose::{Clof, Place};
use cohort::door::Level;
use cohort::{DetectsWaiters, RawLock};
use std::cell::Cell;
use std::thread::{scope, yield_now};

thread_local! {
    /// The cohort at the lower level.
    static LOWER: Cell<usize> = const { Cell::new(0) };
    /// The number of queries at the upper level.
    static ASKED: Cell<usize> = const { Cell::new(0) };
}

#[derive(Debug, Default)]
struct Lower;

#[derive(Debug, Default)]
struct Upper;

impl Place for Lower {
    const SHARES_CODE: bool = false;

    fn cohort(&self) -> usize {
        LOWER.get()
    }

    fn at(_level: Level) -> Self {
        Self
    }
}

impl Place for Upper {
    const SHARES_CODE: bool = false;

    fn cohort(&self) -> usize {
        ASKED.set(ASKED.get() + 1);
        0
    }

    fn at(_level: Level) -> Self {
        Self
    }
}

/// Two cohorts below, two above; any waiter makes a cohort release the high lock.
type Three = Clof<Ticket, Clof<Mcs, Ticket, Upper, 128, 2>, Lower, 0, 2>;

/// The upper-level queries of one more acquisition by that lower cohort; calls `inside` while
/// holding the lock.
fn asks(lock: &Three, lower: usize, inside: impl FnOnce(&<Three as RawLock>::Context)) -> usize {
    LOWER.set(lower);
    ASKED.set(0);
    let context = Default::default();
    // SAFETY: the context serves this acquisition only; it and the lock stay until the release.
    unsafe {
        lock.acquire(&context);
        inside(&context);
        lock.release(&context);
    }
    ASKED.get()
}

#[test]
fn a_cohort_asks_once() {
    let lock = Three::default();
    assert_eq!(asks(&lock, 0, |_| ()), 1);
    assert_eq!(asks(&lock, 0, |_| ()), 0);
    assert_eq!(asks(&lock, 1, |_| ()), 1);
    assert_eq!(asks(&lock, 1, |_| ()), 0);
    assert_eq!(asks(&lock, 0, |_| ()), 0);
}

#[test]
fn a_cohort_asks_anew_when_its_bound_has_run_out() {
    let lock = Three::default();
    assert_eq!(asks(&lock, 0, |_| ()), 1);
    scope(|scope| {
        let mut waiter = None;
        asks(&lock, 0, |context| {
            waiter = Some(scope.spawn(|| asks(&lock, 0, |_| ())));
            // SAFETY: held, by that context.
            while !unsafe { lock.has_waiters(context) } {
                yield_now();
            }
        });
        assert_eq!(waiter.unwrap().join().unwrap(), 1);
    });
    assert_eq!(asks(&lock, 0, |_| ()), 0);
}
