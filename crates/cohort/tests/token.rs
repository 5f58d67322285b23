//! Waits ended by another thread, on this machine.

use cohort::abortable::AMcs;
use cohort::basic::{Bo, Futex, Ttas};
use cohort::compose::AClof;
use cohort::delegation::{Qd, Sanl};
use cohort::numa::{FutexHmcs, HmcsT2};
use cohort::rwlock::{Abandoning, CRwNp, RawRwLock, Recursion};
use cohort::{
    Abortable, AbortableDelegate, AnyOf, Cancellation, Condvar, Deadline, Delegated, Mutex,
    Patience, RwLock, ThreadOblivious, Token,
};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::thread;
use std::time::Duration;

/// A delay after which a waiter usually sleeps; nothing depends on it.
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
                assert!(told.load(Ordering::Relaxed), "the wait was not ended");
                // A cancelled token stays cancelled.
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

/// The deadline or the token ends the wait, whichever is earlier; an uncancelled token has no
/// effect.
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

/// Any of several tokens ends the wait and wakes its thread.
#[test]
fn any_of_several_tokens_ends_a_wait() {
    let (mutex, guard_of) = (Mutex::new(0), Mutex::new(0));
    let _guard = mutex.lock();
    for cancelled in 0..6 {
        let tokens: [Token; 6] = Default::default();
        let others: [&dyn Cancellation; 3] = [&tokens[3], &tokens[4], &tokens[5]];
        let others = AnyOf(&others);
        let patience = (Patience::ENDLESS.unless(&tokens[0]).unless(&tokens[1]))
            .unless(&tokens[2])
            .unless(&others);
        let condition = Condvar::new();
        thread::scope(|scope| {
            scope.spawn(|| assert!(mutex.lock_within(&patience).is_none()));
            scope.spawn(|| {
                let waited = condition.wait_within(&mut guard_of.lock(), &patience);
                assert!(waited.timed_out());
            });
            thread::sleep(LONG_ENOUGH);
            assert!(!patience.is_cancelled());
            tokens[cancelled].cancel();
        });
        assert!(patience.is_cancelled());
        // Every list is empty.
        tokens.iter().for_each(Token::cancel);
    }
}

#[test]
#[should_panic(expected = "AnyOf")]
fn a_word_too_many_is_refused() {
    let token = Token::new();
    let four = (Patience::ENDLESS.unless(&token).unless(&token))
        .unless(&token)
        .unless(&token);
    let _ = four.unless(&token);
}

/// One token serves nested waits, each with an entry of its own.
#[test]
fn a_sleep_within_a_sleep_leaves_no_entry() {
    let token = Arc::new(Token::new());
    let mut innermost = false;
    token.sleep(1, &mut || token.sleep(2, &mut || innermost = true));
    assert!(innermost);
    assert_ends(move || token.cancel());
}

/// A cancelled token neither accesses nor awaits an ended thread.
#[test]
fn a_sleep_that_panics_leaves_no_entry() {
    let token = Arc::new(Token::new());
    let theirs = Arc::clone(&token);
    let sleeps = move || theirs.sleep(1, &mut || panic!("thrown on purpose"));
    assert!(thread::spawn(sleeps).join().is_err());
    assert_ends(move || token.cancel());
}

/// Fails if `body` does not return.
fn assert_ends(body: impl FnOnce() + Send + 'static) {
    const WATCHDOG: Duration = Duration::from_secs(60);
    let (ends, has_ended) = mpsc::channel();
    thread::spawn(move || {
        body();
        ends.send(()).expect("the receiver lives");
    });
    has_ended.recv_timeout(WATCHDOG).expect("it does not end");
}

/// The point at which a word panics.
#[derive(Clone, Copy, Debug)]
enum Panics {
    Asked,
    Asleep,
    /// At the look of that number.
    Later(u32),
}

/// A word that never changes, and panics when used.
struct Faulty {
    panics: Panics,
    asked: AtomicU32,
    has_panicked: AtomicBool,
}

impl Faulty {
    fn new(panics: Panics) -> Self {
        Self {
            panics,
            asked: AtomicU32::new(0),
            has_panicked: AtomicBool::new(false),
        }
    }

    fn panic(&self) -> ! {
        self.has_panicked.store(true, Ordering::Relaxed);
        panic!("thrown on purpose");
    }
}

impl Cancellation for Faulty {
    fn is_cancelled(&self) -> bool {
        let asked = self.asked.fetch_add(1, Ordering::Relaxed);
        match self.panics {
            Panics::Asked => self.panic(),
            Panics::Later(look) if asked == look => self.panic(),
            _ => false,
        }
    }

    fn sleep(&self, _word: usize, sleep: &mut dyn FnMut()) {
        match self.panics {
            Panics::Asleep => self.panic(),
            _ => sleep(),
        }
    }
}

/// Runs `wait` with each panicking word; the panic propagates.
fn panics_in(wait: impl Fn(&Patience)) {
    for panics in [
        Panics::Asked,
        Panics::Asleep,
        Panics::Later(1),
        Panics::Later(2),
    ] {
        let word = Faulty::new(panics);
        // A wait that calls the word less often ends by the deadline.
        let soon = Patience::until(Deadline::monotonic(cohort::door::now() + 200_000_000));
        let patience = soon.unless(&word);
        let ended = catch_unwind(AssertUnwindSafe(|| wait(&patience)));
        let has_panicked = word.has_panicked.load(Ordering::Relaxed);
        assert_eq!(ended.is_err(), has_panicked, "{panics:?}");
    }
}

/// A panic in a wait leaves the mutex usable; the next waiter acquires it.
fn a_mutex_outlasts_a_panic<L: Abortable + ThreadOblivious + 'static>() {
    let mutex = Mutex::<u32, L>::from(0);
    let guard = mutex.lock();
    panics_in(|patience| assert!(mutex.lock_within(patience).is_none()));
    panics_in(|patience| assert!(mutex.locking_within(patience, |_| ()).is_none()));
    drop(guard);
    assert!(!mutex.is_locked());
    // A panic together with an acquisition releases it.
    panics_in(|patience| drop(mutex.lock_within(patience)));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| *mutex.lock() += 1);
        }
    });
    assert_eq!(mutex.into_inner(), 2);
}

#[test]
fn a_mutex_is_whole_after_a_panic_in_a_wait() {
    a_mutex_outlasts_a_panic::<FutexHmcs>();
    a_mutex_outlasts_a_panic::<Bo>();
    a_mutex_outlasts_a_panic::<Ttas>();
    a_mutex_outlasts_a_panic::<HmcsT2>();
    a_mutex_outlasts_a_panic::<AClof<AMcs, Bo>>();
}

/// The guard of a wait that panics holds the mutex.
fn a_guard_outlasts_a_panic<L: Abortable + ThreadOblivious + 'static>() {
    let (mutex, condition) = (Mutex::<u32, L>::from(0), Condvar::new());
    let past = Patience::until(Deadline::monotonic(1));
    let mut guard = mutex.lock();
    for panics in [Panics::Asked, Panics::Asleep, Panics::Later(1)] {
        let word = Faulty::new(panics);
        let soon = Patience::until(Deadline::monotonic(cohort::door::now() + 200_000_000));
        let patience = soon.unless(&word);
        let waits = AssertUnwindSafe(|| condition.wait_within(&mut guard, &patience));
        let _ = catch_unwind(waits);
        *guard += 1;
        thread::scope(|scope| {
            scope.spawn(|| assert!(mutex.lock_within(&past).is_none(), "two guards at once"));
        });
    }
    drop(guard);
    condition.notify_all();
    assert_eq!(mutex.into_inner(), 3);
}

#[test]
fn a_guard_holds_its_mutex_after_a_panic_in_a_wait() {
    a_guard_outlasts_a_panic::<FutexHmcs>();
    a_guard_outlasts_a_panic::<HmcsT2>();
}

#[test]
fn readers_and_writers_are_whole_after_a_panic_in_a_wait() {
    let total: RwLock<u32, CRwNp<Abandoning<HmcsT2>>> = RwLock::from(1);
    total.writing(|_| {
        panics_in(|patience| assert!(total.reading_within(patience, |_| ()).is_none()));
        panics_in(|patience| assert!(total.writing_within(patience, |_| ()).is_none()));
    });
    panics_in(|patience| _ = total.writing_within(patience, |total| *total += 1));
    assert!(!total.is_locked());
    total.writing(|total| *total += 1);
}

fn a_delegate_outlasts_a_panic<L: AbortableDelegate>() {
    let total = Delegated::<u32, L>::from(0);
    panics_in(|patience| {
        let met = total.run_when_within(patience, |_| false, |total| *total += 1);
        assert_eq!(met, None);
    });
    let (inside, waits) = (Barrier::new(2), Barrier::new(2));
    thread::scope(|scope| {
        scope.spawn(|| {
            total.locking(|_| {
                inside.wait();
                waits.wait();
            });
        });
        inside.wait();
        panics_in(|patience| assert!(total.run_within(patience, |total| *total += 1).is_none()));
        waits.wait();
    });
    assert_eq!(total.run(|total| *total), 0);
}

#[test]
fn a_delegate_is_whole_after_a_panic_in_a_wait() {
    a_delegate_outlasts_a_panic::<Sanl>();
    a_delegate_outlasts_a_panic::<Qd<Futex>>();
    a_delegate_outlasts_a_panic::<Ttas>();
}

/// A raw lock has no guard to preserve, so its process ends.
#[test]
fn a_panic_in_a_wait_of_a_raw_lock_ends_the_process() {
    const CHILD: &str = "COHORT_TEST_PANICS_IN_A_RAW_LOCK";
    if std::env::var_os(CHILD).is_some() {
        let (lock, word) = (RawRwLock::new(), Faulty::new(Panics::Asked));
        assert!(lock.try_write());
        let _ = lock.read(Recursion::Allowed, &Patience::ENDLESS.unless(&word));
        return;
    }
    let this = std::env::current_exe().expect("a test knows where it is");
    let name = "a_panic_in_a_wait_of_a_raw_lock_ends_the_process";
    let output = Command::new(this)
        .args(["--exact", name])
        .env(CHILD, "1")
        .output()
        .expect("it runs again");
    assert_eq!(output.status.code(), None, "the panic was caught");
}
