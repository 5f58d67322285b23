//! `futex-hmcs` on several cache groups: the queues of its waiters belong to the process, and
//! survive the lock and releases by any thread.
// Not on the portable backend: there is one cohort of each level.
#![cfg(not(feature = "portable"))]

#[path = "support/cpus.rs"]
#[expect(dead_code, reason = "these threads run where they please")]
mod cpus;
mod support;

use cohort::catalogue::own_pool_bytes;
use cohort::door::set_cohorts;
use cohort::numa::FutexHmcs;
use cohort::{Abortable, Deadline, Outcome, Patience, RawLock, RawTry};
use cpus::allowed;
use std::cell::UnsafeCell;
use std::fmt::Write;
use std::hint::spin_loop;
use std::mem::MaybeUninit;
use std::sync::Barrier;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::mpsc::channel;
use std::thread::scope;
use support::within_limit;

const THREADS: usize = 8;
const ROUNDS: usize = 10_000;

/// Makes each CPU a cache group, and adds another, so that there are at least two.
fn groups() {
    let mut text = String::new();
    for cpu in allowed().into_iter().chain([1023]) {
        writeln!(text, "cache {cpu}").expect("texts grow");
    }
    set_cohorts(&text).expect("cohorts of one CPU each");
}

/// Spends time inside, so that other threads arrive.
fn linger() {
    (0..50).for_each(|_| spin_loop());
}

/// A lock, and a number that it guards.
#[derive(Default)]
struct Guarded {
    lock: FutexHmcs,
    number: UnsafeCell<usize>,
}

// SAFETY: only the lock's holder accesses the number.
unsafe impl Sync for Guarded {}

impl Guarded {
    fn acquire(&self) {
        // SAFETY: the lock has no contexts, and stays until its release, or is never released; it
        // guards the number.
        unsafe {
            self.lock.acquire(&());
            linger();
            *self.number.get() += 1;
        }
    }

    fn release(&self) {
        // SAFETY: each release follows an acquisition, perhaps by another thread.
        unsafe { self.lock.release(&()) };
    }

    fn number(self) -> usize {
        assert!(!self.lock.is_locked(), "the lock is left held");
        self.number.into_inner()
    }
}

#[test]
fn nobody_is_lost() {
    within_limit("a waiter is never passed the lock", || {
        groups();
        let before = own_pool_bytes();
        let guarded = Guarded::default();
        scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    for _ in 0..ROUNDS {
                        guarded.acquire();
                        guarded.release();
                    }
                });
            }
        });
        assert_eq!(guarded.number(), THREADS * ROUNDS);
        assert!(own_pool_bytes() > before, "no thread was queued");
    });
}

#[test]
fn waiters_with_deadlines_and_tries_get_in_beside_a_queue() {
    within_limit("a waiter is never passed the lock", || {
        groups();
        let (guarded, left) = (Guarded::default(), AtomicUsize::new(THREADS));
        let entered = scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    for _ in 0..ROUNDS {
                        guarded.acquire();
                        guarded.release();
                    }
                    left.fetch_sub(1, Relaxed);
                });
            }
            let mut entered = 0;
            while left.load(Relaxed) > 0 {
                let soon = Deadline::monotonic(cohort::door::now() + 5_000_000);
                let patience = Patience::until(soon);
                // SAFETY: the lock has no contexts, and stays until its release.
                let enters = unsafe {
                    guarded.lock.acquire_within(&(), &patience) == Outcome::Acquired
                        || guarded.lock.try_acquire(&())
                };
                if enters {
                    entered += 1;
                    guarded.release();
                }
            }
            entered
        });
        assert_eq!(guarded.number(), THREADS * ROUNDS);
        assert!(entered > 0, "no timed thread ever acquired the lock");
    });
}

#[test]
fn locks_are_released_in_any_order() {
    within_limit("a waiter is never passed the lock", || {
        groups();
        let locks: [Guarded; 6] = Default::default();
        scope(|scope| {
            for thread in 0..THREADS {
                let locks = &locks;
                scope.spawn(move || {
                    for round in 0..ROUNDS / 5 {
                        locks.iter().for_each(Guarded::acquire);
                        let first = thread + round;
                        (0..locks.len()).for_each(|next| locks[(first + next) % 6].release());
                    }
                });
            }
        });
        for guarded in locks {
            assert_eq!(guarded.number(), THREADS * ROUNDS / 5);
        }
    });
}

#[test]
fn another_thread_may_release() {
    within_limit("a waiter is never passed the lock", || {
        groups();
        let guarded = &Guarded::default();
        scope(|scope| {
            let (held, releases) = channel();
            for _ in 0..THREADS {
                let held = held.clone();
                scope.spawn(move || {
                    for round in 0..ROUNDS / 2 {
                        guarded.acquire();
                        if round % 2 == 0 {
                            held.send(()).expect("a thread releases");
                        } else {
                            guarded.release();
                        }
                    }
                });
            }
            drop(held);
            scope.spawn(move || releases.iter().for_each(|()| guarded.release()));
        });
        // SAFETY: all threads have ended.
        assert_eq!(THREADS * ROUNDS / 2, unsafe { *guarded.number.get() });
    });
}

/// Memory for one lock after another.
struct ReusedMemory(UnsafeCell<MaybeUninit<Guarded>>);

// SAFETY: a lock is created and destroyed there while there is one thread.
unsafe impl Sync for ReusedMemory {}

/// A held lock is dropped, is initialised again, or is left as it is.
#[test]
fn a_lock_may_end_while_it_is_held() {
    within_limit("what an ended lock left behind is in the way", || {
        groups();
        let place = ReusedMemory(UnsafeCell::new(MaybeUninit::uninit()));
        for round in 0..400 {
            // SAFETY: this thread is alone, and the former lock has ended.
            let guarded: &Guarded = unsafe { (*place.0.get()).write(Guarded::default()) };
            let (together, comes) = (Barrier::new(2), AtomicBool::new(false));
            scope(|scope| {
                for first in [true, false] {
                    let (together, comes) = (&together, &comes);
                    scope.spawn(move || {
                        // Both threads wait often, in the queue.
                        for _ in 0..100 {
                            guarded.acquire();
                            guarded.release();
                        }
                        together.wait();
                        if first {
                            guarded.acquire();
                            together.wait();
                            while !comes.load(Relaxed) {
                                spin_loop();
                            }
                            (0..20).for_each(|_| linger());
                            guarded.release();
                        } else {
                            together.wait();
                            comes.store(true, Relaxed);
                            // This acquisition has no release.
                            guarded.acquire();
                        }
                    });
                }
            });
            assert!(guarded.lock.is_locked());
            match round % 3 {
                // SAFETY: initialised above, and unused from here on.
                0 => unsafe { (*place.0.get()).assume_init_drop() },
                // SAFETY: as above; the lock ends.
                1 => unsafe { FutexHmcs::begin_at(&raw const guarded.lock) },
                // Like a forgotten guard of a lock that is moved afterwards.
                _ => {}
            }
        }
    });
}
