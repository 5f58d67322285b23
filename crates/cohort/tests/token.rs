//! Waits that another thread ends, on this machine.

use cohort::abortable::AMcs;
use cohort::basic::{Bo, Ttas};
use cohort::compose::AClof;
use cohort::numa::{FutexHmcs, HmcsT2};
use cohort::{Abortable, Condvar, Deadline, Mutex, Patience, RwLock, ThreadOblivious, Token};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// For so long a waiter is left alone, so that it sleeps as a rule; nothing depends on it.
const LONG_ENOUGH: Duration = Duration::from_millis(20);

fn ends_every_wait<L: Abortable + ThreadOblivious>() {
    const WAITERS: usize = 4;
    let (mutex, token) = (Mutex::<u32, L>::from(0), Token::new());
    let guard = mutex.lock();
    let told = AtomicBool::new(false);
    let here = Barrier::new(WAITERS + 1);
    thread::scope(|scope| {
        for _ in 0..WAITERS {
            scope.spawn(|| {
                here.wait();
                assert!(mutex.lock_unless(&token).is_none(), "the lock was held");
                assert!(told.load(Ordering::Relaxed), "nobody has ended the wait");
                // Over is over.
                assert!(mutex.lock_unless(&token).is_none());
            });
        }
        here.wait();
        thread::sleep(LONG_ENOUGH);
        told.store(true, Ordering::Relaxed);
        token.cancel();
        token.cancel();
    });
    drop(guard);
    assert!(token.is_cancelled());
    assert!(
        mutex.lock_unless(&token).is_some(),
        "a late wait is an attempt"
    );
    *mutex.lock() += 1;
}

#[test]
fn every_wait_ends_that_a_token_is_for() {
    ends_every_wait::<FutexHmcs>();
    ends_every_wait::<Bo>();
    ends_every_wait::<Ttas>();
    ends_every_wait::<HmcsT2>();
    ends_every_wait::<AClof<AMcs, Bo>>();
}

/// Whichever comes first ends the wait, and a token that is not cancelled nothing.
#[test]
fn a_deadline_and_a_token_end_the_same_wait() {
    let (mutex, token) = (Mutex::new(0), Token::new());
    let guard = mutex.lock();
    let past = Patience::until(Deadline::monotonic(1)).unless(&token);
    assert!(mutex.lock_within(&past).is_none());
    assert!(!token.is_cancelled());
    let far = Patience::until(Deadline::monotonic(u64::MAX)).unless(&token);
    thread::scope(|scope| {
        let waits = scope.spawn(|| mutex.lock_within(&far).is_none());
        thread::sleep(LONG_ENOUGH);
        token.cancel();
        assert!(waits.join().unwrap());
    });
    drop(guard);
}

#[test]
fn readers_writers_and_conditions_are_told_too() {
    let (lock, token) = (RwLock::new(0), Token::new());
    let (mutex, condition) = (Mutex::new(false), Condvar::new());
    let writes = lock.write();
    thread::scope(|scope| {
        scope.spawn(|| assert!(lock.read_unless(&token).is_none()));
        scope.spawn(|| assert!(lock.write_unless(&token).is_none()));
        scope.spawn(|| {
            let patience = Patience::ENDLESS.unless(&token);
            let waited = condition.wait_while_within(&mut mutex.lock(), |told| !*told, &patience);
            assert!(waited.timed_out());
        });
        thread::sleep(LONG_ENOUGH);
        token.cancel();
    });
    drop(writes);
    assert_eq!(lock.read_unless(&token).as_deref(), Some(&0));
}
