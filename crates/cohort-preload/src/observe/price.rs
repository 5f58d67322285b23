//! What counting takes, as it is measured now and then.
//!
//! By itself an acquisition that is counted takes a few nanoseconds longer, which no clock around it would tell: the
//! processor finishes all that comes before a read of the clock, and begins what comes behind later, which it does not do among
//! the program's instructions; and the code that reads it is seldom at hand.  So a mutex that nobody else wants is taken and
//! released many times between two reads, with records and without.
//!
//! It is taken as the program takes its own, by the same instructions, but the records are those of a thread
//! that does not exist, outside the process's file.
//!
//! Where a thread takes ever other locks, it has to wait for the counts of others: that takes so long that it can be measured
//! one by one.

use super::entries;
use super::own::{Own, in_another, open_sample};
use super::profile::{put, watch_of};
use crate::layout::Mutex;
use crate::mutex;
use cohort::door::now;
use cohort::records::{AT_HAND, AtHand, Drawn, SAMPLES, Thread, TurnOver};
use core::cell::UnsafeCell;
use core::ffi::c_int;
use core::mem::{MaybeUninit, transmute};
use core::ptr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicU32};

/// It is measured behind each of so many samples of a process, and then behind one of so many.
const FIRST: u32 = 16;

/// Of so many times that a thread counts a lock in the place of others one is measured, and at the beginning more.
const TURN_OVERS: u64 = 1024;

/// A mutex and a record; zeroes are a plain mutex that is free, and the record of a thread that holds nothing.
struct Bench {
    mutex: UnsafeCell<MaybeUninit<Mutex>>,
    thread: MaybeUninit<Thread>,
}

// SAFETY: only the thread that has set `BUSY` uses it.
unsafe impl Sync for Bench {}

static BENCH: Bench = Bench {
    mutex: UnsafeCell::new(MaybeUninit::zeroed()),
    thread: MaybeUninit::zeroed(),
};

/// Whether a thread measures.
static BUSY: AtomicBool = AtomicBool::new(false);

/// Samples of the process so far.
static SAMPLED: AtomicU32 = AtomicU32::new(0);

unsafe extern "C" {
    fn pthread_sigmask(how: c_int, set: *const Signals, before: *mut Signals) -> c_int;
}

/// The C library's set of signals.
type Signals = [u64; 16];

/// Whether the thread has few samples that nobody has taken: the places that are left are for others.
fn has_room(own: &Own) -> bool {
    own.thread.samples.waiting() < SAMPLES as u32 / 4
}

/// Measures, if it is time to.  An acquisition of the calling thread's that was sampled has just ended.
#[cold]
#[inline(never)]
pub fn measure(own: &Own) {
    let number = SAMPLED.fetch_add(1, Relaxed);
    let is_time = number < FIRST || number.is_multiple_of(FIRST);
    if !is_time || !has_room(own) || BUSY.swap(true, Acquire) {
        return;
    }
    let mut at_hand = None;
    // What a handler does is not to be written into the other record, nor may it leave by a jump.
    without_signals(|| at_hand = Some(measured(own)));
    BUSY.store(false, Release);
    if let Some(at_hand) = at_hand {
        let _ = put(own, Drawn::AtHand(at_hand));
    }
}

fn without_signals(run: impl FnOnce()) {
    const SIG_SETMASK: c_int = 2;
    let mut before: Signals = [0; 16];
    let all: Signals = [u64::MAX; 16];
    // SAFETY: both are sets of signals.
    if unsafe { pthread_sigmask(SIG_SETMASK, &raw const all, &raw mut before) } != 0 {
        return;
    }
    run();
    // SAFETY: as above.
    unsafe { pthread_sigmask(SIG_SETMASK, &raw const before, ptr::null_mut()) };
}

fn measured(own: &Own) -> AtHand {
    let mutex = BENCH.mutex.get().cast::<Mutex>();
    // SAFETY: all its bytes are atoms and cells, for which zeroes will do.
    let thread = unsafe { BENCH.thread.assume_init_ref() };
    let kept = open_sample().set_aside();
    open_sample().go_far();
    let mut counted = 0;
    in_another(thread, own.watch, || {
        counted = timed(|| {
            for _ in 0..AT_HAND {
                pair(mutex);
            }
        });
    });
    open_sample().go_on(&kept);
    let plain = timed(|| {
        for _ in 0..AT_HAND {
            plain_pair(mutex);
        }
    });
    AtHand {
        counted,
        plain,
        watch: watch_of(own),
    }
}

/// Nanoseconds that this takes, when it has been done just before.
fn timed(run: impl Fn()) -> u32 {
    run();
    let began = now();
    run();
    (now() - began) as u32
}

/// Takes and releases the mutex by the program's entries.  They are called from here only: two sites might have one
/// place to be counted in.
#[inline(never)]
fn pair(mutex: *mut Mutex) {
    type Entry = unsafe extern "C" fn(*mut Mutex) -> c_int;
    // SAFETY: the entries hand on what they are called with, which is a mutex of this thread's alone.
    unsafe {
        let entry = |entry: unsafe extern "C" fn() -> c_int| {
            transmute::<unsafe extern "C" fn() -> c_int, Entry>(entry)
        };
        entry(entries::pthread_mutex_lock)(mutex);
        entry(entries::pthread_mutex_unlock)(mutex);
    }
}

/// The same where nobody counts.
#[inline(never)]
fn plain_pair(mutex: *mut Mutex) {
    // SAFETY: it is one, which only this thread uses.
    unsafe {
        mutex::pthread_mutex_lock(mutex);
        mutex::pthread_mutex_unlock(mutex);
    }
}

/// Whether it is measured how long a thread takes to count a lock in the place of others, of which that is the number.
#[inline(always)]
pub fn is_measured(number: u64) -> bool {
    number.is_power_of_two() || number.is_multiple_of(TURN_OVERS)
}

/// Measures that.
#[cold]
#[inline(never)]
pub fn measure_turn_over(own: &Own, number: u64, turn_over: impl FnOnce()) {
    let began = now();
    // Nothing is between the two: so long does it take to read the clock.
    let goes = now();
    turn_over();
    let ended = now();
    // Each stands for those since the one before.
    let of = if number < TURN_OVERS {
        number.div_ceil(2)
    } else {
        TURN_OVERS
    };
    if has_room(own) {
        let turn_over = TurnOver {
            spent: (ended - goes) as u32,
            read: (goes - began) as u32,
            of: of as u32,
            watch: watch_of(own),
        };
        let _ = put(own, Drawn::TurnOver(turn_over));
    }
}
