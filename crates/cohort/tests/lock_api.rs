//! Locks under the types of the crate `lock_api` 0.5.

#![cfg(feature = "lock_api_05")]

use cohort::basic::{Clh, Mcs, Tas};
use cohort::compose::{ACBoClh, CTktMcs, CacheGroup, Clof, Gated, Numa};
use cohort::lock_api_05::{Held, RawCondvar};
use cohort::numa::{FutexHmcs, HmcsT2};
use cohort::{RawLock, catalogue, for_each_lock};
use lock_api_05::{
    Condvar, Mutex, RawMutex, RawMutexFair, RawMutexTimed, RwLock, RwLockUpgradableReadGuard,
};
use std::time::{Duration, Instant};

const ROUNDS: u32 = 2_000;
const SHORT: Duration = Duration::from_millis(1);

/// Threads add by guards and by tries, and none is lost.
fn excludes<L: RawMutex<Guard: Send> + Send + Sync + 'static>() {
    moves_its_guard::<L>();
    let total: Mutex<L, (u32, u32)> = Mutex::new((0, 0));
    let add = |total: &mut (u32, u32)| {
        total.0 += 1;
        total.1 += 1;
        assert_eq!(total.0, total.1);
    };
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for round in 0..ROUNDS {
                    match total.try_lock() {
                        Some(mut total) if round % 2 == 0 => add(&mut total),
                        other => {
                            drop(other);
                            add(&mut total.lock());
                        }
                    }
                }
            });
        }
    });
    assert_eq!(total.into_inner().0, 3 * ROUNDS);
}

/// A guard may move to another thread.
fn moves_its_guard<L: RawMutex<Guard: Send> + Sync>() {
    let total: Mutex<L, u32> = Mutex::new(1);
    let guard = total.lock();
    std::thread::scope(|scope| {
        scope.spawn(|| drop(guard));
    });
    assert!(!total.is_locked());
}

/// A state that safe code drops leaves the lock held, and its context untouched by later acquisitions.
fn a_dropped_state_is_kept<L: RawMutex>() {
    let raw = L::INIT;
    drop(raw.lock());
    assert!(raw.is_locked() && raw.try_lock().is_none());
    let moved = raw;
    assert!(moved.is_locked());
    let other = L::INIT;
    let state = other.lock();
    // SAFETY: locked above.
    unsafe { other.unlock(state) };
    assert!(moved.is_locked() && !other.is_locked());
}

/// Threads pass a turn on by a condition; the mutex stays held by its guard after each wait, so that no
/// turn is lost and every notification reaches a waiter.
fn waits_at_a_condition<L>()
where
    L: RawMutex<Guard = Held<L>> + RawLock + Send + Sync + 'static,
    L::Guard: Send,
{
    const TURNS: u32 = 60;
    let turn: Mutex<L, u32> = Mutex::new(0);
    let passed = Condvar::<RawCondvar<L>>::new();
    assert!(!passed.notify_one() && passed.notify_all() == 0);
    std::thread::scope(|scope| {
        for me in 0..3 {
            let (turn, passed) = (&turn, &passed);
            scope.spawn(move || {
                for round in 0..TURNS {
                    let mut guard = turn.lock();
                    passed.wait_while(&mut guard, |turn| *turn != 3 * round + me);
                    assert!(turn.is_locked());
                    *guard += 1;
                    passed.notify_all();
                }
            });
        }
    });
    assert!(!turn.is_locked());
    assert_eq!(turn.into_inner(), 3 * TURNS);
}

macro_rules! all {
    ($($name:ident, $lock:ty, $storage:ident, [$($alias:literal),*], $about:literal, $source:literal,
        [$($trait:ident),*];)+) => {
        fn all() -> Vec<(&'static str, [fn(); 3])> {
            vec![$((stringify!($name), [
                excludes::<$lock>,
                a_dropped_state_is_kept::<$lock>,
                waits_at_a_condition::<$lock>,
            ])),+]
        }
    };
}

for_each_lock!(all);

#[test]
fn every_lock_excludes_under_its_mutex() {
    let all = all();
    assert_eq!(all.len(), catalogue::LOCKS.len());
    for (name, checks) in all {
        println!("{name}");
        checks.into_iter().for_each(|check| check());
    }
}

#[test]
fn compositions_stand_in_statics() {
    type Tree = Clof<Mcs, Clof<Clh, Gated<Mcs>, Numa>, CacheGroup>;
    static TREE: Mutex<Tree, u32> = Mutex::new(1);
    static NODES: Mutex<CTktMcs, u32> = Mutex::new(2);
    let guard = TREE.lock();
    assert!(TREE.try_lock().is_none());
    assert_eq!(*guard + *NODES.lock(), 3);
    excludes::<Gated<CTktMcs>>();
}

#[test]
fn waiters_give_up() {
    fn gives_up<L: RawMutexTimed<Duration = Duration>>() {
        let total: Mutex<L, u32> = Mutex::new(1);
        let guard = total.lock();
        assert!(total.try_lock_for(SHORT).is_none());
        drop(guard);
        assert!(total.try_lock_for(SHORT).is_some());
        assert!(!total.is_locked());
    }
    gives_up::<FutexHmcs>();
    gives_up::<Tas>();
    gives_up::<HmcsT2>();
    gives_up::<ACBoClh>();
}

#[test]
fn a_wait_at_a_condition_times_out() {
    fn times_out<L>()
    where
        L: RawMutexTimed<Guard = Held<L>, Duration = Duration, Instant = Instant>
            + RawLock
            + 'static,
    {
        let mutex: Mutex<L, u32> = Mutex::new(1);
        let changed = Condvar::<RawCondvar<L>>::new();
        let mut guard = mutex.lock();
        let before = Instant::now();
        assert!(changed.wait_for(&mut guard, SHORT).timed_out());
        assert!(before.elapsed() >= SHORT && mutex.is_locked());
        assert!(changed.wait_until(&mut guard, before).timed_out());
        assert!(!changed.notify_one() && mutex.is_locked());
        drop(guard);
        assert!(!mutex.is_locked());
    }
    times_out::<FutexHmcs>();
    times_out::<Tas>();
    times_out::<HmcsT2>();
    times_out::<ACBoClh>();
}

#[test]
fn a_fair_release_is_a_release() {
    fn releases<L: RawMutexFair>() {
        let total: Mutex<L, u32> = Mutex::new(1);
        let mut guard = total.lock();
        lock_api_05::MutexGuard::bump(&mut guard);
        *guard += 1;
        lock_api_05::MutexGuard::unlock_fair(guard);
        assert!(!total.is_locked());
        assert_eq!(total.into_inner(), 2);
    }
    releases::<FutexHmcs>();
    releases::<Mcs>();
    releases::<CTktMcs>();
}

#[test]
fn the_rwlock_has_its_three_guards() {
    let data: RwLock<cohort::rwlock::RawRwLock, u32> = RwLock::new(1);
    let (one, two) = (data.read(), data.read());
    assert!(data.try_write().is_none() && data.try_write_for(SHORT).is_none());
    assert_eq!(*one + *two, 2);
    drop((one, two));
    let upgradable = data.upgradable_read();
    assert!(data.try_upgradable_read().is_none());
    let mut writer = RwLockUpgradableReadGuard::upgrade(upgradable);
    *writer = 3;
    assert!(data.try_read().is_none());
    let reader = lock_api_05::RwLockWriteGuard::downgrade(writer);
    assert_eq!((*reader, data.try_read().map(|data| *data)), (3, Some(3)));
}
