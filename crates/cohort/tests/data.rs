//! Data behind locks of every sort.

use cohort::basic::{Bo, Clh, Mcs, Ticket};
use cohort::compose::{CTktMcs, Gated};
use cohort::{
    Condvar, Deadline, FairMutex, MappedMutexGuard, Mutex, MutexGuard, Patience, RawLock,
    ReadGuard, ReentrantMutex, RwLock, ThreadOblivious, UpgradableGuard, WriteGuard,
};
use std::mem::forget;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{scope, sleep};
use std::time::Duration;

/// More threads than any test machine has CPUs.
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
fn a_try_never_waits() {
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
fn a_thread_without_time_left_gives_up() {
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

/// Another thread may drop a guard of a thread-oblivious lock.
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

/// Counts by guards, with contexts in pool blocks, and by a condition.
fn counts_by_guards<L: RawLock + ThreadOblivious + 'static>(name: &str) {
    let total: Mutex<u64, L> = Mutex::from(0);
    let changed = Condvar::new();
    scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..50 {
                    *total.lock() += 1;
                    changed.notify_one();
                }
            });
        }
        let mut total = total.lock();
        changed.wait_while(&mut total, |total| *total < 150);
        assert_eq!(*total, 150, "{name}");
    });
    assert!(!total.is_locked(), "{name}");
}

#[test]
fn every_lock_has_guards() {
    macro_rules! all {
        ($($name:ident, $lock:ty, $storage:ident, $alias:tt, $about:literal, $source:literal,
           $capabilities:tt;)+) => {
            $(counts_by_guards::<$lock>(stringify!($name));)+
        };
    }
    cohort::for_each_lock!(all);
    counts_by_guards::<Gated<CTktMcs>>("gated");
}

/// The lock keeps no pointer into the frame of the thread that forgot the guard.
#[test]
fn a_forgotten_guard_leaves_the_mutex_locked() {
    fn forgets<L: RawLock + ThreadOblivious + cohort::RawTry>() {
        let data: Mutex<u32, L> = Mutex::from(1);
        std::mem::forget(data.lock());
        assert!(data.is_locked());
        scope(|scope| {
            scope.spawn(|| assert!(data.try_lock().is_none()));
        });
        assert!(format!("{data:?}").contains("<locked>"));
    }
    forgets::<Mcs>();
    forgets::<Clh>();
    forgets::<Gated<CTktMcs>>();
}

#[test]
fn a_guard_of_a_queue_goes_to_another_thread() {
    fn takes<L: RawLock>(guard: MutexGuard<'_, (u32, u32), L>)
    where
        for<'a> MappedMutexGuard<'a, u32, L>: Send,
        for<'a> MutexGuard<'a, (u32, u32), L>: Send,
    {
        scope(|scope| {
            scope.spawn(move || {
                let mut second = MutexGuard::map(guard, |pair| &mut pair.1);
                *second += 1;
                scope.spawn(move || drop(MappedMutexGuard::map(second, |second| second)));
            });
        });
    }
    let data: Mutex<(u32, u32), Mcs> = Mutex::from((1, 1));
    takes(data.lock());
    let data_of_clh: Mutex<(u32, u32), Clh> = Mutex::from((1, 1));
    takes(data_of_clh.lock());
    assert_eq!(data.try_lock().map(|pair| *pair), Some((1, 2)));
    assert_eq!(data_of_clh.into_inner(), (1, 2));
}

/// A panic in a pause propagates with the mutex locked, and the guard releases it.
#[test]
fn a_pause_that_panics_locks_again() {
    let data: Mutex<u32, Mcs> = Mutex::from(1);
    let thrown = catch_unwind(AssertUnwindSafe(|| {
        let mut guard = data.lock();
        MutexGuard::unlocked(&mut guard, || {
            assert!(!data.is_locked());
            panic!("thrown on purpose");
        })
    }));
    assert!(thrown.is_err());
    assert_eq!(data.try_lock().map(|data| *data), Some(1));
}

#[test]
fn data_need_not_have_a_size() {
    let data: Box<Mutex<[u32], Ticket>> = Box::new(Mutex::from([1, 2]));
    data.lock()[1] += 1;
    assert_eq!(format!("{data:?}"), "Mutex { data: [1, 3] }");
    let table: Box<RwLock<dyn std::fmt::Debug + Send + Sync>> = Box::new(RwLock::new(1));
    let guard = table.read();
    assert_eq!(format!("{guard:?} {table:?}"), "1 RwLock { data: 1 }");
}

/// The last guard unlocks, whatever the order of the drops.
#[test]
fn a_thread_locks_again_what_it_has_locked() {
    let data: ReentrantMutex<u32, Clh> = ReentrantMutex::from(1);
    let elsewhere = || {
        scope(|scope| {
            let looks = scope.spawn(|| {
                assert!(!data.is_owned_by_current_thread());
                (data.try_lock().is_some(), format!("{data:?}"))
            });
            looks.join().unwrap()
        })
    };
    let first = data.lock();
    let second = data.try_lock();
    assert!(data.is_owned_by_current_thread() && second.as_deref() == Some(&1));
    drop(first);
    assert_eq!(
        elsewhere(),
        (false, "ReentrantMutex { <locked> }".to_owned())
    );
    drop(second);
    assert_eq!(elsewhere(), (true, "ReentrantMutex { data: 1 }".to_owned()));
}

#[test]
fn a_fair_mutex_is_a_mutex() {
    static TOTAL: FairMutex<u64> = FairMutex::new(0);
    scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..ROUNDS {
                    *TOTAL.lock() += 1;
                }
            });
        }
    });
    let guard = TOTAL.lock();
    assert_eq!(
        (*guard, TOTAL.try_lock().is_some()),
        (THREADS * ROUNDS, false)
    );
    assert_eq!(format!("{TOTAL:?}"), "Mutex { <locked> }");
    drop(guard);
    let mut total = FairMutex::from(1);
    *total.get_mut() += 1;
    assert_eq!(total.into_inner(), 2);
}

/// A waiter with a deadline times out, and otherwise acquires beside the FIFO waiters.
#[test]
fn waiters_of_a_fair_mutex_may_give_up() {
    const LATE: Duration = Duration::from_secs(600);
    let total = FairMutex::new(0);
    let guard = total.lock();
    scope(|scope| {
        scope.spawn(|| assert!(total.try_lock_for(Duration::from_millis(1)).is_none()));
    });
    drop(guard);
    scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for round in 0..ROUNDS {
                    let guard = match round % 10 {
                        0 => total.try_lock_for(LATE),
                        _ => Some(total.lock()),
                    };
                    *guard.expect("all are served in ten minutes") += 1;
                }
            });
        }
    });
    assert_eq!(total.into_inner(), 4 * ROUNDS);
}

/// An upgradable reader becomes a writer, and a writer a reader.
#[test]
fn holds_of_a_rwlock_change() {
    let total = RwLock::new(0);
    scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..50 {
                    let seen = total.upgradable_read();
                    let before = *seen;
                    let mut writes = UpgradableGuard::upgrade(seen);
                    assert_eq!(*writes, before, "no write in between");
                    *writes += 1;
                    let reads = WriteGuard::downgrade(writes);
                    assert_eq!(*reads, before + 1, "no write in between");
                    drop(reads);
                    drop(total.read());
                }
            });
        }
    });
    assert_eq!(total.into_inner(), THREADS * 50);
}

#[test]
fn an_upgrade_gives_up() {
    let total = RwLock::new(0);
    let reader = total.read();
    let soon = Duration::from_millis(1);
    let seen = total.upgradable_read();
    let seen = UpgradableGuard::try_upgrade_for(seen, soon).expect_err("there is another reader");
    assert!(total.try_read().is_some(), "no mark is left");
    assert!(total.try_upgradable_read_for(soon).is_none());
    drop(reader);
    *UpgradableGuard::try_upgrade(seen).expect("it is alone") += 1;
    assert_eq!(total.try_write().as_deref(), Some(&1));
}

/// A writer becomes a reader that may write again, without another write in between.
#[test]
fn a_writer_goes_on_as_one_that_may_write_again() {
    let total = RwLock::new(0);
    let mut writes = total.write();
    *writes += 1;
    let seen = WriteGuard::downgrade_to_upgradable(writes);
    let reader = total.read();
    assert!(total.try_write().is_none() && total.try_upgradable_read().is_none());
    let seen = UpgradableGuard::try_upgrade(seen).expect_err("there is another reader");
    drop(reader);
    let reader = UpgradableGuard::downgrade(seen);
    assert!(total.try_upgradable_read().is_some() && *reader == 1);
    drop(reader);
    scope(|scope| {
        for thread in 0..8_u64 {
            let total = &total;
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    if (thread + round).is_multiple_of(3) {
                        drop(total.read());
                        continue;
                    }
                    let mut writes = total.write();
                    *writes += 1;
                    let before = *writes;
                    let mut seen = WriteGuard::downgrade_to_upgradable(writes);
                    UpgradableGuard::with_upgraded(&mut seen, |total| *total += 1);
                    assert_eq!(*seen, before + 1, "another wrote in between");
                    let mut writes = UpgradableGuard::upgrade(seen);
                    *writes -= 1;
                    assert_eq!(*writes, before, "another wrote in between");
                }
            });
        }
    });
    let wrote = (0..8 * ROUNDS).filter(|n| !(n / ROUNDS + n % ROUNDS).is_multiple_of(3));
    assert_eq!(*total.read(), 1 + wrote.count() as u64);
    assert!(total.try_write().is_some(), "no mark is left");
}

/// A waiter at a rwlock acquires before a later arrival.
#[test]
fn a_fair_release_lets_a_waiter_in_first() {
    let total = RwLock::new(0);
    for round in 0..20 {
        let is_waited_for = || {
            while !total.raw().is_waited_for() {
                std::thread::yield_now();
            }
        };
        scope(|scope| {
            if round % 2 == 0 {
                let guard = total.write();
                scope.spawn(|| *total.write() += 1);
                is_waited_for();
                WriteGuard::unlock_fair(guard);
            } else {
                let guard = total.read();
                scope.spawn(|| *total.write() += 1);
                is_waited_for();
                ReadGuard::unlock_fair(guard);
            }
            assert_eq!(*total.write(), round + 1, "the waiter was passed");
        });
    }
    assert!(total.try_write().is_some(), "no mark is left");
}

/// A holder that bumps the lock admits other threads.
#[test]
fn others_come_while_a_holder_bumps() {
    let come = Mutex::new(false);
    scope(|scope| {
        let mut guard = come.lock();
        scope.spawn(|| *come.lock() = true);
        while !*guard {
            MutexGuard::bump(&mut guard);
        }
    });
    let come: Mutex<bool, Ticket> = Mutex::from(false);
    scope(|scope| {
        let mut guard = come.lock();
        scope.spawn(|| *come.lock() = true);
        while !*guard {
            MutexGuard::bump(&mut guard);
        }
    });
    let come = RwLock::new(false);
    scope(|scope| {
        let mut guard = come.write();
        scope.spawn(|| *come.write() = true);
        while !*guard {
            WriteGuard::bump(&mut guard);
        }
    });
}

/// A guard made for an existing hold ends it.
#[test]
fn guards_are_made_of_what_is_held() {
    let mutex: Mutex<u32, Ticket> = Mutex::from(1);
    let lock = RwLock::new(1);
    forget(mutex.lock());
    // SAFETY: forgotten just now; also below.
    drop(unsafe { mutex.make_guard_unchecked() });
    forget(lock.read());
    // SAFETY: as above.
    drop(unsafe { lock.make_read_guard_unchecked() });
    forget(lock.upgradable_read());
    // SAFETY: as above.
    drop(unsafe { lock.make_upgradable_guard_unchecked() });
    assert!(lock.try_upgradable_read().is_some());
    forget(lock.write());
    // SAFETY: as above.
    drop(unsafe { lock.make_write_guard_unchecked() });
    assert!(mutex.try_lock().is_some() && lock.try_write().is_some());
}

/// The data lives as long as a guard, which may move to another thread.
#[test]
fn guards_keep_what_they_lock() {
    let mutex: Arc<Mutex<u32, Mcs>> = Arc::new(Mutex::from(1));
    let guard = mutex.lock_arc();
    assert!(mutex.try_lock_arc().is_none());
    drop(mutex);
    std::thread::spawn(move || assert_eq!(*guard, 1))
        .join()
        .unwrap();
    let lock = Arc::new(RwLock::new(1));
    let reads = lock.read_arc();
    assert!(lock.try_read_arc().is_some() && lock.try_write_arc().is_none());
    drop(reads);
    let mut writes = lock.write_arc();
    drop(lock);
    *writes += 1;
    assert_eq!(*writes, 2);
}

/// All countable read locks are held. A guard that unlocked temporarily waits until a reader
/// leaves, and never resumes without its read lock.
#[test]
fn a_guard_that_unlocks_itself_reads_again_in_the_end() {
    const MOST: usize = 1 << 19;
    let lock = RwLock::new(1);
    (1..MOST).for_each(|_| forget(lock.read()));
    let mut guard = lock.read();
    let leaves = || {
        sleep(Duration::from_millis(20));
        // SAFETY: one of the forgotten read locks.
        unsafe { lock.force_unlock_read() };
    };
    scope(|scope| {
        ReadGuard::unlocked(&mut guard, || {
            forget(lock.read());
            assert!(lock.try_read().is_none(), "no other can be counted");
            scope.spawn(leaves);
        });
    });
    drop(guard);
    // SAFETY: the remaining forgotten read locks.
    (1..MOST).for_each(|_| unsafe { lock.force_unlock_read() });
    assert!(lock.try_write().is_some(), "the guard was one of them");
}

/// An upgradable reader that wrote temporarily is an upgradable reader again, even after a panic.
#[test]
fn a_reader_that_wrote_for_a_while_reads_on_upgradably() {
    let total = RwLock::new(0);
    let mut seen = total.upgradable_read();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        UpgradableGuard::with_upgraded(&mut seen, |total| {
            *total += 1;
            panic!("thrown on purpose");
        })
    }));
    assert!(panicked.is_err() && *seen == 1);
    assert!(total.try_read().is_some() && total.try_upgradable_read().is_none());
    drop(seen);
    scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for round in 0..ROUNDS {
                    if round % 2 == 0 {
                        *total.write() += 1;
                        continue;
                    }
                    let mut seen = total.upgradable_read();
                    let before = *seen;
                    UpgradableGuard::with_upgraded(&mut seen, |total| *total += 1);
                    assert_eq!(*seen, before + 1, "another wrote in between");
                }
            });
        }
    });
    assert_eq!(total.into_inner(), 4 * ROUNDS + 1);
}

/// An ended thread keeps the hold of its forgotten guard: the next thread, with its stack at the
/// same address, is not the owner.
#[test]
fn a_reentrant_mutex_stays_with_a_thread_that_has_ended() {
    let data = ReentrantMutex::new(1);
    let places: Vec<usize> = (0..8)
        .map(|turn| {
            let next = || {
                let here = 0;
                let guard = data.try_lock();
                assert_eq!(guard.is_some(), turn == 0, "thread {turn}");
                forget(guard);
                std::ptr::from_ref(&here).addr()
            };
            scope(|scope| scope.spawn(next).join()).unwrap()
        })
        .collect();
    let again = places.iter().filter(|place| **place == places[0]).count();
    // With other C libraries, stacks may not be reused, and nothing was checked.
    assert!(again > 1 || cfg!(not(target_env = "gnu")), "{places:?}");
}
