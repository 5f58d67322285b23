//! Many threads and many keys: no update is lost while the table grows and keys are freed.

use cohort_service::gls::{self, Refusal, address};
use std::cell::UnsafeCell;
use std::thread;
use std::time::Duration;

const THREADS: usize = 8;

/// The data behind one key's lock.
struct Guarded(UnsafeCell<u64>);

// SAFETY: read and written only under the lock of its address.
unsafe impl Sync for Guarded {}

impl Guarded {
    fn add(&self) {
        let _held = gls::lock(self);
        self.add_held();
    }

    fn add_held(&self) {
        // SAFETY: the caller holds the lock of this address.
        unsafe { *self.0.get() += 1 };
    }
}

fn guarded(count: usize) -> Vec<Guarded> {
    (0..count).map(|_| Guarded(UnsafeCell::new(0))).collect()
}

fn sum(of: Vec<Guarded>) -> u64 {
    of.into_iter().map(|guarded| guarded.0.into_inner()).sum()
}

/// Another thread's places, in another order.
fn place(thread: usize, turn: usize, count: usize) -> usize {
    (turn * (2 * thread + 1) + thread * 97) % count
}

#[test]
fn every_key_has_one_lock_while_the_table_grows() {
    const TURNS: usize = 60_000;
    let all = guarded(20_011);
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let all = &all;
            scope.spawn(move || {
                for turn in 0..TURNS {
                    all[place(thread, turn, all.len())].add();
                }
            });
        }
    });
    assert_eq!(sum(all), (THREADS * TURNS) as u64);
}

#[test]
fn keys_are_freed_while_others_use_them() {
    const TURNS: usize = 40_000;
    let all = guarded(13);
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let all = &all;
            scope.spawn(move || {
                for turn in 0..TURNS {
                    let one = &all[place(thread, turn, all.len())];
                    match turn % 4 {
                        0 => {
                            let refused = gls::free(one).err();
                            assert!(refused.is_none_or(|why| why == Refusal::Busy));
                            one.add();
                        }
                        1 => {
                            let held = gls::lock_for(one, Duration::from_secs(60));
                            assert!(held.is_some(), "holds are short");
                            one.add_held();
                        }
                        2 => match gls::try_lock(one) {
                            Some(_held) => one.add_held(),
                            None => one.add(),
                        },
                        _ => {
                            let key = std::ptr::from_ref(one).addr();
                            assert_eq!(address::lock(key), Ok(()));
                            one.add_held();
                            // SAFETY: locked above.
                            assert_eq!(unsafe { address::unlock(key) }, Ok(()));
                        }
                    }
                }
            });
        }
    });
    assert_eq!(sum(all), (THREADS * TURNS) as u64);
}

fn unlock(key: usize) -> Result<(), Refusal> {
    // SAFETY: the callers hold the key's lock, without a guard; or it is free, and the key is not
    // freed meanwhile.
    unsafe { address::unlock(key) }
}

#[test]
fn any_value_but_null_is_a_key() {
    let keys = [
        1,
        2,
        3,
        1 << 32,
        1 << 48,
        1 << 63,
        usize::MAX - 1,
        usize::MAX,
        1.0_f64.to_bits() as usize,
        2.0_f64.to_bits() as usize,
    ];
    // All at once: each has its own lock.
    for key in keys {
        assert_eq!(address::lock(key), Ok(()), "{key:x}");
    }
    for key in keys {
        assert_eq!(address::try_lock(key), Err(Refusal::Busy), "{key:x}");
    }
    thread::scope(|scope| {
        scope.spawn(|| keys.map(|key| assert_eq!(unlock(key), Ok(()), "{key:x}")));
    });
    for key in keys {
        assert_eq!(unlock(key), Err(Refusal::NotHeld), "{key:x}");
        assert_eq!(address::try_lock(key), Ok(()), "{key:x}");
        assert_eq!(unlock(key), Ok(()), "{key:x}");
        assert_eq!(address::free(key), Ok(()), "{key:x}");
        assert_eq!(unlock(key), Err(Refusal::NotHeld), "{key:x}");
    }
}

/// A thread remembers its last lock, which meanwhile goes to another key and is held.
#[test]
fn what_a_thread_remembers_may_be_another_key_s() {
    const ITS: usize = 0x5_0008;
    const OTHER: usize = 0x5_0010;
    assert_eq!(address::lock(ITS), Ok(()));
    assert_eq!(unlock(ITS), Ok(()));
    thread::scope(|scope| {
        scope.spawn(|| {
            assert_eq!(address::free(ITS), Ok(()));
            // A thread reuses its freed entry.
            assert_eq!(address::lock(OTHER), Ok(()));
        });
    });
    assert_eq!(address::try_lock(ITS), Ok(()));
    assert_eq!(address::try_lock(OTHER), Err(Refusal::Busy));
    for key in [ITS, OTHER] {
        assert_eq!(unlock(key), Ok(()));
        assert_eq!(address::free(key), Ok(()));
    }
}

#[test]
fn what_cannot_be_done_is_refused() {
    assert_eq!(address::lock(0), Err(Refusal::NoKey));
    assert_eq!(address::try_lock(0), Err(Refusal::NoKey));
    assert_eq!(address::free(0), Err(Refusal::NoKey));
    const UNKNOWN: usize = usize::MAX / 3;
    for (key, why) in [(0, Refusal::NoKey), (UNKNOWN, Refusal::NotHeld)] {
        // SAFETY: refused.
        let refused = unsafe { address::unlock(key) };
        assert_eq!(refused, Err(why));
    }
    assert_eq!(address::free(UNKNOWN), Ok(()));
    let one = Guarded(UnsafeCell::new(0));
    let held = gls::lock(&one);
    assert!(gls::try_lock(&one).is_none());
    assert!(gls::lock_for(&one, Duration::from_millis(1)).is_none());
    assert_eq!(gls::free(&one), Err(Refusal::Busy));
    thread::scope(|scope| {
        scope.spawn(|| drop(held));
    });
    assert!(gls::try_lock(&one).is_some());
    assert_eq!(gls::free(&one), Ok(()));
}
