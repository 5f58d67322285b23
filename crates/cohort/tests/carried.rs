//! State that a lock passes to the next holder must not outlive that acquisition, and a
//! wrapped-around number must not match its former value.

#[cfg(target_arch = "x86_64")]
#[path = "support/step.rs"]
mod step;

use cohort::abortable::{AClh, McsTry};
use cohort::basic::{Clh, Mcs, Ticket};
use cohort::compose::stacked::{Stacked, Unsaid};
use cohort::compose::{AClof, Bound, Clof, Composed, Everybody, Place, Plan};
use cohort::numa::HmcsT1;
use cohort::recipe::{Basic, Level};
use cohort::{Inherit, Mutex, RawLock, RawTry, ThreadOblivious};
use std::cell::Cell;
use std::mem::forget;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;
use std::thread::{scope, sleep, spawn, yield_now};
use std::time::Duration;

/// A composition of these two locks, built at run time.
fn stacked(locks: &[Basic], bound: Option<Bound>) -> Stacked<Unsaid> {
    Stacked::planned(&Plan {
        locks,
        levels: &[Level::Numa],
        bound,
    })
}

/// A cohort with a ticket lock that could not count all its hand-offs is reused below a lock without a
/// count; the old hand-offs must not count there.
#[test]
fn a_cohort_that_is_used_again_has_passed_nothing_on() {
    // More than a ticket counts, with a reserve for moments without waiters.
    const TURNS: usize = 3_000;
    {
        let endless = Some(Bound::hand_offs(u32::MAX));
        let lock = stacked(&[Basic::Ticket, Basic::Mcs], endless);
        scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let context = Default::default();
                    for _ in 0..TURNS {
                        // SAFETY: the context serves one acquisition at a time; it and the lock
                        // stay until the release.
                        unsafe {
                            lock.acquire(&context);
                            // Let the others arrive and wait.
                            yield_now();
                            lock.release(&context);
                        }
                    }
                });
            }
        });
    }
    let lock = stacked(&[Basic::Hemlock, Basic::Mcs], None);
    let context = Default::default();
    // SAFETY: the context serves this acquisition only; it and the lock stay until the release.
    unsafe {
        lock.acquire(&context);
        assert!(lock.top().is_locked(), "held without the top lock");
        lock.release(&context);
    }
}

/// A lock disappears while a forgotten guard holds it; its cohorts, reused by another lock, are
/// free.
#[test]
fn a_cohort_that_is_used_again_is_free() {
    for low in [Basic::Ticket, Basic::Mcs, Basic::Clh, Basic::Hemlock] {
        let locks = [low, Basic::Mcs];
        let gone = Mutex::from_raw(stacked(&locks, None), 1);
        forget(gone.lock());
        drop(gone);
        let total = Mutex::from_raw(stacked(&locks, None), 2);
        assert_eq!(total.try_lock().as_deref(), Some(&2), "{low:?}");
    }
}

thread_local! {
    /// The cohort of this thread.
    static COHORT: Cell<usize> = const { Cell::new(0) };
}

/// The cohort is the value of [`COHORT`].
#[derive(Debug, Default)]
struct Said;

impl Place for Said {
    const SHARES_CODE: bool = false;

    fn cohort(&self) -> usize {
        COHORT.get()
    }

    fn at(_level: Level) -> Self {
        Self
    }
}

/// A middle lock is handed over to a cohort without its thread in a forked child; the cohort's
/// context must not affect its next acquisition.
#[test]
fn a_forked_child_has_been_passed_nothing() {
    type Middle = Clof<Clh, Ticket, Everybody, 128, 1>;
    type Lock = Clof<Ticket, Middle, Said, 128, 2>;
    let lock = Arc::new(Lock::default());
    let context = Default::default();
    // SAFETY: the context serves this acquisition only; it and the lock stay until the release.
    unsafe { lock.acquire(&context) };
    let (theirs, waits) = (Arc::clone(&lock), Arc::new(AtomicU32::new(0)));
    let announced = Arc::clone(&waits);
    let other = spawn(move || {
        COHORT.set(1);
        // Leaked, since this thread never releases.
        let context = Box::leak(Box::new(<Lock as RawLock>::Context::default()));
        announced.store(1, SeqCst);
        // SAFETY: as above; there is no release.
        unsafe { theirs.acquire(context) };
    });
    while waits.load(SeqCst) == 0 {
        yield_now();
    }
    // The other thread may not wait yet; the delay makes that unlikely, which strengthens the test.
    std::thread::sleep(std::time::Duration::from_millis(100));
    // SAFETY: acquired above, with this context.
    unsafe { lock.release(&context) };
    other.join().unwrap();
    // SAFETY: the other thread has ended, as in a forked child.
    unsafe { lock.inherit(None) };
    COHORT.set(1);
    let context = Default::default();
    // SAFETY: as above.
    unsafe {
        assert!(lock.try_acquire(&context), "it is free");
        assert!(lock.top().is_locked(), "held without the top lock");
        lock.release(&context);
    }
}

/// A mutex that is moved while a forgotten guard holds it stays locked, also for a new cohort. A
/// node at the old place leads no thread to the object there now.
fn stays_locked_where_it_goes<L>()
where
    L: RawTry + ThreadOblivious + 'static,
{
    let places: &'static mut [Option<Mutex<u32, L>>; 2] = Box::leak(Box::new([None, None]));
    let mut mutex = Mutex::from(1);
    // A free mutex may be moved anywhere.
    for cohort in [0, 1] {
        COHORT.set(cohort);
        *mutex.lock() += 1;
        places[0] = Some(mutex);
        *places[0].as_ref().expect("just put there").lock() += 1;
        mutex = places[0].take().expect("just put there");
    }
    assert_eq!(mutex.try_lock().as_deref(), Some(&5));
    COHORT.set(0);
    places[0] = Some(mutex);
    forget(places[0].as_ref().map(Mutex::lock));
    places[1] = places[0].take();
    places[0] = Some(Mutex::from(1));
    let [Some(other), Some(moved)] = places else {
        unreachable!("both were put there");
    };
    let (other, moved): (&'static Mutex<u32, L>, &'static Mutex<u32, L>) = (other, moved);
    let guard = other.lock();
    let came = Arc::new(AtomicU32::new(0));
    let comes = Arc::clone(&came);
    // Never returns; the test does not join it.
    spawn(move || {
        COHORT.set(1);
        assert!(moved.try_lock().is_none());
        comes.store(1, SeqCst);
        drop(moved.lock());
        comes.store(2, SeqCst);
    });
    while came.load(SeqCst) == 0 {
        yield_now();
    }
    sleep(Duration::from_millis(100));
    drop(guard);
    sleep(Duration::from_millis(100));
    assert_eq!(came.load(SeqCst), 1, "two have the mutex");
    assert_eq!(other.try_lock().as_deref(), Some(&1));
}

#[test]
fn what_is_moved_while_it_is_held_stays_locked() {
    stays_locked_where_it_goes::<Clof<Ticket, Mcs, Said, 128, 2>>();
    stays_locked_where_it_goes::<Clof<Ticket, Clof<Mcs, Mcs, Everybody, 128, 1>, Said, 128, 2>>();
    stays_locked_where_it_goes::<AClof<AClh, McsTry, Said, 100, 2>>();
    stays_locked_where_it_goes::<HmcsT1>();
}

/// A try is preempted while all the lock's numbers are used, and the lock is held again when it
/// resumes. It must not enter beside the holder.
#[cfg(target_arch = "x86_64")]
#[test]
fn a_number_is_not_taken_for_the_one_a_round_ago() {
    use std::sync::atomic::AtomicBool;
    use step::{can_step, stopped_after};

    /// The quantity of the lock's numbers.
    const NUMBERS: u32 = 1 << 22;
    /// Only stops before the exchange matter.
    const STEPS: u32 = 12;
    static STOPPED: AtomicBool = AtomicBool::new(false);
    static ROUND: AtomicBool = AtomicBool::new(false);
    static INSIDE: AtomicBool = AtomicBool::new(false);

    fn stop() {
        STOPPED.store(true, SeqCst);
        while !ROUND.load(SeqCst) {
            yield_now();
        }
    }

    if !can_step() {
        eprintln!("skip: this process may not be stepped");
        return;
    }
    for steps in 1..=STEPS {
        let lock = Ticket::<cohort::wait::MayPark>::default();
        for flag in [&STOPPED, &ROUND, &INSIDE] {
            flag.store(false, SeqCst);
        }
        scope(|scope| {
            scope.spawn(|| {
                while !STOPPED.load(SeqCst) {
                    yield_now();
                }
                // A try that already holds the lock is past the exchange.
                let goes_round = !lock.is_locked();
                // SAFETY: the lock has no contexts, and stays until the releases; also below.
                unsafe {
                    for _ in 1..if goes_round { NUMBERS } else { 1 } {
                        lock.acquire(&());
                        lock.release(&());
                    }
                    if goes_round {
                        lock.acquire(&());
                        INSIDE.store(true, SeqCst);
                    }
                    ROUND.store(true, SeqCst);
                    if goes_round {
                        std::thread::sleep(Duration::from_millis(20));
                        INSIDE.store(false, SeqCst);
                        lock.release(&());
                    }
                }
            });
            let mut together = false;
            // SAFETY: as above.
            stopped_after(steps, stop, || unsafe {
                if lock.try_acquire(&()) {
                    together = INSIDE.load(SeqCst);
                    lock.release(&());
                }
            });
            // If the try was not stopped, this lets the other thread finish.
            STOPPED.store(true, SeqCst);
            assert!(!together, "two are inside after step {steps}");
        });
    }
}
