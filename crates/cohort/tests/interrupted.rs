//! A release stopped after each of its instructions, and a wait after many of them, while
//! another thread does all that it can: nothing is lost, and nobody sleeps for ever.
//!
//! The processor's own single step stops them, so no moment is left out: a quick release
//! between its store and its second look, and a waiter between its mark and its sleep.
#![cfg(target_arch = "x86_64")]

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

/// More than the quiet releases after which a lock is released quickly.
const QUIET: u32 = 8_200;

/// What comes after so many instructions is not looked into.
const MOST_STEPS: u32 = 1_000;

/// Every how many of a wait's first instructions the quick tier looks at, and fewer of the later ones;
/// the full one looks at all, until a wait becomes a loop.
const STRIDE: u32 = 6;

/// For how long the stepped thread is stopped if the other neither gets on nor sleeps: it
/// may be waiting for the rest of a step, as a release does whose successor is not linked.
const PATIENCE: Duration = Duration::from_millis(2);

/// The stepped thread has stopped: the other may begin.
static BEGUN: AtomicBool = AtomicBool::new(false);

/// The other thread has done all that it can without the stepped one.
static DONE: AtomicBool = AtomicBool::new(false);

/// The other thread, if it may fall asleep instead.
static SLEEPER: AtomicI32 = AtomicI32::new(0);

/// What the stepped thread does where it is stopped.
fn stop() {
    BEGUN.store(true, SeqCst);
    let began = Instant::now();
    while !DONE.load(SeqCst) && !sleeps(SLEEPER.load(SeqCst)) && began.elapsed() < PATIENCE {
        yield_now();
    }
}

/// Whether that thread of this process sleeps in the kernel.  Takes no memory from the
/// allocator and no lock, as a signal handler must not.
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
    // The kernel knows no number that begins with a zero.
    let zeroes = path[16..25]
        .iter()
        .take_while(|digit| **digit == b'0')
        .count();
    path.copy_within(16 + zeroes.., 16);
    let mut text = [0u8; 64];
    // SAFETY: the path is ended by zero, and the text is as long as said.
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

/// One thread's turn, from its acquisition to its release.
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

    /// Makes the lock one that has long been quiet.
    fn calm(&self) {
        for _ in 0..QUIET {
            let context = L::Context::default();
            // SAFETY: the context is used for this turn alone; it and the lock stay for its end.  So for all
            // below.
            unsafe { self.enter(&context) };
            self.leave(&context);
        }
    }
}

/// The release is stopped after each of its instructions while another thread comes for
/// the lock; how many there were.
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
                // SAFETY: asks for this thread's number.
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

/// The wait is stopped after its instructions, and later after some of them, while the lock
/// is released; how many there were at least.
fn interrupted_wait<L: RawLock>() -> u32 {
    let (lock, inside) = (L::default(), AtomicU32::new(0));
    let turn = &Turn {
        lock: &lock,
        inside: &inside,
    };
    // A wait is a loop for its greater part; and each instruction is a trap for each look at a later one.
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
            // A waiter that sleeps before its last step wants to be woken.
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

/// Runs both.
fn all_moments<L: RawLock>(name: &str) {
    if !can_step() {
        eprintln!("skip: {name}: somebody else traces this process");
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
                within_limit("somebody sleeps for ever", || all_moments::<$lock>(name));
            }
        })+
    };
}
cohort::for_each_lock!(moments);

#[test]
fn what_is_left_to_the_full_tier() {
    tell_what_is_left("and at least five of six instructions of a wait");
}
