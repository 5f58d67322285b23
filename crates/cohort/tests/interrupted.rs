//! A release is stopped after each of its instructions, and a wait after many of them, while
//! another thread runs as far as it can. No wake-up is lost, and no thread sleeps forever.
//!
//! The processor's single step stops them, so the critical moments are included: a plain-store
//! release between its store and its check for waiters, and a waiter between its mark and its sleep.
// Not on the portable backend: steps of the standard library's mutexes are not the locks'.
#![cfg(all(target_arch = "x86_64", not(feature = "portable")))]

#[path = "support/alike.rs"]
mod alike;
#[path = "support/step.rs"]
mod step;
mod support;

use alike::{full, is_like_another, tell_what_is_left};
use cohort::RawLock;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32};
use std::thread::{scope, yield_now};
use std::time::{Duration, Instant};
use step::{can_step, stopped_after};
use support::within_limit;

/// More uncontended releases than a lock needs to switch to plain-store releases.
const QUIET: u32 = 8_200;

/// Later instructions are not checked.
const MOST_STEPS: u32 = 1_000;

/// The quick tier stops at one of so many early instructions of a wait, and at fewer later ones;
/// the full tier stops at each until the wait loops.
const STRIDE: u32 = 6;

/// How long the stepped thread stays stopped if the other neither proceeds nor sleeps. The other
/// may depend on the rest of the step: a release waits for its successor's link.
const PATIENCE: Duration = Duration::from_millis(2);

/// The stepped thread has stopped; the other may begin.
static BEGUN: AtomicBool = AtomicBool::new(false);

/// The other thread has run as far as it can.
static DONE: AtomicBool = AtomicBool::new(false);

/// The other thread's number, if it may fall asleep instead.
static SLEEPER: AtomicI32 = AtomicI32::new(0);

/// Stops the stepped thread until the other has run.
fn stop() {
    BEGUN.store(true, SeqCst);
    let began = Instant::now();
    while !DONE.load(SeqCst) && !sleeps(SLEEPER.load(SeqCst)) && began.elapsed() < PATIENCE {
        yield_now();
    }
}

/// Whether that thread of this process sleeps in the kernel. Allocates nothing and takes no lock,
/// since it runs in a signal handler.
fn sleeps(thread: i32) -> bool {
    if thread == 0 {
        return false;
    }
    let mut path = *b"/proc/self/task/0000000000/stat\0";
    let mut rest = thread;
    for digit in path[16..26].iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    // The kernel's numbers have no leading zeros.
    let zeroes = path[16..25]
        .iter()
        .take_while(|digit| **digit == b'0')
        .count();
    path.copy_within(16 + zeroes.., 16);
    let mut text = [0u8; 64];
    // SAFETY: the path is terminated by zero; the length is the buffer's.
    let length = unsafe {
        let file = libc::open(path.as_ptr().cast(), libc::O_RDONLY);
        let length = libc::read(file, text.as_mut_ptr().cast(), text.len());
        libc::close(file);
        usize::try_from(length).unwrap_or(0)
    };
    // The state follows the name, which is in parentheses.
    let state = text[..length]
        .windows(3)
        .find(|three| three.starts_with(b") "));
    state.is_some_and(|three| three[2] == b'S')
}

fn forget() {
    BEGUN.store(false, SeqCst);
    DONE.store(false, SeqCst);
    SLEEPER.store(0, SeqCst);
}

fn await_begin() {
    while !BEGUN.load(SeqCst) {
        yield_now();
    }
}

/// One critical section of a thread, from acquisition to release.
struct Turn<'a, L: RawLock> {
    lock: &'a L,
    inside: &'a AtomicU32,
}

impl<L: RawLock> Turn<'_, L> {
    /// # Safety
    /// As [`RawLock::acquire`].
    unsafe fn enter(&self, context: &L::Context) {
        // SAFETY: the caller's.
        unsafe { self.lock.acquire(context) };
        assert_eq!(self.inside.fetch_add(1, SeqCst), 0, "two are in at once");
    }

    fn leave(&self, context: &L::Context) {
        self.inside.store(0, SeqCst);
        // SAFETY: acquired with this context, by this thread.
        unsafe { self.lock.release(context) };
    }

    /// Makes the lock long uncontended.
    fn calm(&self) {
        for _ in 0..QUIET {
            let context = L::Context::default();
            // SAFETY: the context serves this acquisition only; it and the lock stay until the
            // release. Also below.
            unsafe { self.enter(&context) };
            self.leave(&context);
        }
    }
}

/// Stops the release after each of its instructions while another thread acquires the lock; returns
/// the number of instructions.
fn interrupted_release<L: RawLock>() -> u32 {
    let (lock, inside) = (L::default(), AtomicU32::new(0));
    let turn = &Turn {
        lock: &lock,
        inside: &inside,
    };
    for steps in 1..MOST_STEPS {
        turn.calm();
        forget();
        let went_on = scope(|scope| {
            scope.spawn(|| {
                let context = L::Context::default();
                await_begin();
                // SAFETY: `gettid` has no preconditions.
                SLEEPER.store(unsafe { libc::gettid() }, SeqCst);
                // SAFETY: as above.
                unsafe { turn.enter(&context) };
                DONE.store(true, SeqCst);
                turn.leave(&context);
            });
            let context = L::Context::default();
            // SAFETY: as above.
            unsafe { turn.enter(&context) };
            let went_on = stopped_after(steps, stop, || turn.leave(&context));
            BEGUN.store(true, SeqCst);
            went_on
        });
        if !went_on {
            return steps - 1;
        }
    }
    MOST_STEPS
}

/// Stops the wait after early instructions and some later ones while the lock is released; returns
/// a lower bound on the number of instructions.
fn interrupted_wait<L: RawLock>() -> u32 {
    let (lock, inside) = (L::default(), AtomicU32::new(0));
    let turn = &Turn {
        lock: &lock,
        inside: &inside,
    };
    // Most of a wait is a loop, and each instruction costs a trap for each later stop.
    let (every, thins) = if full() { (1, 32) } else { (STRIDE, 8) };
    let mut steps = 0;
    while steps < MOST_STEPS {
        steps += every + steps / thins;
        turn.calm();
        forget();
        let went_on = scope(|scope| {
            let held = L::Context::default();
            // SAFETY: as above.
            unsafe { turn.enter(&held) };
            let waiter = scope.spawn(|| {
                let context = L::Context::default();
                // SAFETY: as above.
                let went_on = stopped_after(steps, stop, || unsafe { turn.enter(&context) });
                turn.leave(&context);
                went_on
            });
            // A waiter that sleeps before its last step needs a wake-up.
            let began = Instant::now();
            while !BEGUN.load(SeqCst) && began.elapsed() < Duration::from_millis(20) {
                yield_now();
            }
            turn.leave(&held);
            DONE.store(true, SeqCst);
            waiter.join().expect("the waiter comes to its end")
        });
        if !went_on {
            return steps - 1;
        }
    }
    MOST_STEPS
}

/// Stops both operations.
fn all_moments<L: RawLock>(name: &str) {
    if !can_step() {
        eprintln!("skip: {name}: another process traces this one");
        return;
    }
    let (release, wait) = (interrupted_release::<L>(), interrupted_wait::<L>());
    println!("{name}: a release has {release} instructions, a wait {wait}");
    assert!(release > 5 && wait > 5, "nothing was stopped");
}

macro_rules! moments {
    ($($name:ident, $lock:ty, $storage:ident, [$($alias:literal),*], $about:literal,
       $source:literal, [$($capability:ident),*];)+) => {
        $(#[test]
        fn $name() {
            let name = stringify!($name);
            if full() || !is_like_another(name) {
                within_limit("a thread sleeps for ever", || all_moments::<$lock>(name));
            }
        })+
    };
}
cohort::for_each_lock!(moments);

#[test]
fn what_is_left_to_the_full_tier() {
    tell_what_is_left("and at least five of six instructions of a wait");
}
