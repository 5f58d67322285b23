//! Data behind locks of every sort.

use cohort::basic::{Bo, Clh, Mcs, Ticket};
use cohort::compose::{CTktMcs, Gated};
use cohort::{Deadline, Mutex, MutexGuard, Patience, RawLock};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::scope;

/// More threads than CPUs anywhere near.
const THREADS: u64 = 32;
const ROUNDS: u64 = 500;

fn counts<L: RawLock>() {
    let total: Mutex<u64, L> = Mutex::from(0);
    scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..ROUNDS {
                    total.locking(|total| *total += 1);
                }
            });
        }
    });
    assert_eq!(total.locking(|total| *total), THREADS * ROUNDS);
}

#[test]
fn any_lock_guards() {
    counts::<cohort::basic::Futex>();
    counts::<Gated<Mcs>>();
    counts::<Gated<Clh>>();
    counts::<Gated<CTktMcs>>();
}

#[test]
fn a_panic_releases() {
    fn panics<L: RawLock>() {
        let data: Mutex<u32, L> = Mutex::from(1);
        let thrown = catch_unwind(AssertUnwindSafe(|| {
            data.locking(|data| {
                *data = 2;
                panic!("thrown on purpose");
            })
        }));
        assert!(thrown.is_err());
        assert_eq!(data.locking(|data| *data), 2);
    }
    panics::<Mcs>();
    panics::<CTktMcs>();
    panics::<Gated<Ticket>>();
}

#[test]
fn who_tries_never_waits() {
    let data: Mutex<u32, Mcs> = Mutex::from(1);
    data.locking(|_| {
        scope(|scope| {
            let tried = scope.spawn(|| data.try_locking(|data| *data));
            assert_eq!(tried.join().unwrap(), None);
        });
    });
    assert_eq!(data.try_locking(|data| *data), Some(1));
}

#[test]
fn who_has_no_time_left_gives_up() {
    let data: Mutex<u32, Bo> = Mutex::from(1);
    let long_ago = Patience::until(Deadline::monotonic(1));
    let guard = data.lock();
    scope(|scope| {
        let tried = scope.spawn(|| {
            (
                data.locking_within(&long_ago, |data| *data),
                data.lock_within(&long_ago).is_some(),
            )
        });
        assert_eq!(tried.join().unwrap(), (None, false));
    });
    drop(guard);
    assert_eq!(data.locking_within(&long_ago, |data| *data), Some(1));
}

/// A guard may be dropped by another thread, of a lock that does not mind which.
#[test]
fn a_guard_goes_to_another_thread() {
    fn takes<L: RawLock<Context = ()>>(guard: MutexGuard<'_, u32, L>)
    where
        for<'a> MutexGuard<'a, u32, L>: Send,
    {
        scope(|scope| {
            scope.spawn(move || drop(guard));
        });
    }
    let data: Mutex<u32, Gated<Ticket>> = Mutex::from(1);
    takes(data.lock());
    assert_eq!(data.try_lock().map(|data| *data), Some(1));
}
