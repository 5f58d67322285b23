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
//! A timed acquisition of that mutex, of nothing in between, says how long its own records seem to last: the command takes
//! that off.  It is measured right before the program's own is timed, while that code is as far as it is then.
//!
//! Where a thread takes ever other locks, it has to wait for the counts of others: that takes so long that it can be measured
//! one by one.

use super::entries;
use super::own::{Own, drawing, in_another};
use super::profile::{put, watch_of};
use crate::layout::Mutex;
use crate::mutex;
use crate::next::observed;
use cohort::door::now;
use cohort::records::{AT_HAND, AtHand, Drawn, Draws, SAMPLES, TALLIES, Thread, TurnOver};
use core::cell::UnsafeCell;
use core::ffi::c_int;
use core::mem::{MaybeUninit, transmute};
use core::ptr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicU32};

/// What counting takes is measured behind each of so many samples of a process, and then behind one of so many; what
/// a timed acquisition takes in the place of one of so many, the middle one.
const FIRST: u32 = 16;
const THEN: u32 = 64;

/// Of so many times that a thread counts a lock in the place of others one is measured, and at the beginning more.
const TURN_OVERS: u64 = 1024;

/// A mutex and a record; zeroes are a plain mutex that is free, the record of a thread that holds nothing, and
/// draws of which each is timed.
struct Bench {
    mutex: UnsafeCell<MaybeUninit<Mutex>>,
    thread: MaybeUninit<Thread>,
    draws: UnsafeCell<MaybeUninit<[Draws; TALLIES]>>,
}

// SAFETY: only the thread that has set `BUSY` uses it.
unsafe impl Sync for Bench {}

static BENCH: Bench = Bench {
    mutex: UnsafeCell::new(MaybeUninit::zeroed()),
    thread: MaybeUninit::zeroed(),
    draws: UnsafeCell::new(MaybeUninit::zeroed()),
};

/// Whether a thread measures.
static BUSY: AtomicBool = AtomicBool::new(false);

/// Samples of the process so far, as they begin and as they end.
static BEGUN: AtomicU32 = AtomicU32::new(0);
static SAMPLED: AtomicU32 = AtomicU32::new(0);

/// What an acquisition took that was timed, and for how long it seemed to hold the mutex; 0: that is not known.
static TIMED: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];

/// The C library's set of signals.
type Signals = [u64; 16];

/// Whether the thread has few samples that nobody has taken: the places that are left are for others.
fn has_room(own: &Own) -> bool {
    own.thread.samples.waiting() < SAMPLES as u32 / 4
}

/// Runs that, unless another thread measures.
fn alone(run: impl FnOnce()) -> bool {
    let is_alone = !BUSY.swap(true, Acquire);
    if is_alone {
        // What a handler does is not to be written into the other record, nor may it leave by a jump.
        without_signals(run);
        BUSY.store(false, Release);
    }
    is_alone
}

/// Measures what counting takes, if it is time to.  An acquisition of the calling thread's that was timed has just
/// ended.
#[cold]
#[inline(never)]
pub fn measure(own: &Own) {
    let number = SAMPLED.fetch_add(1, Relaxed);
    if (number < FIRST || number.is_multiple_of(THEN)) && has_room(own) {
        let mut at_hand = None;
        alone(|| at_hand = Some(measured(own)));
        if let Some(at_hand) = at_hand {
            let _ = put(own, Drawn::AtHand(at_hand));
        }
    }
}

/// Measures what a timed acquisition takes, if it is time to; whether it was.  The calling thread is about to time
/// another.
#[cold]
#[inline(never)]
pub fn calibrate(own: &Own) -> bool {
    let number = BEGUN.fetch_add(1, Relaxed);
    number % THEN == THEN / 2 && alone(|| time_nothing(own))
}

/// Times an acquisition of the other mutex, with nothing in between; a few times, if the thread seems to have
/// lost its CPU meanwhile.
fn time_nothing(own: &Own) {
    const TRIES: usize = 3;
    const UNBROKEN: u32 = 10_000;
    for _ in 0..TRIES {
        let [took, empty] = timed_nothing(own);
        if took < UNBROKEN && empty > 0 {
            TIMED[0].store(took, Relaxed);
            TIMED[1].store(empty, Relaxed);
            return;
        }
    }
}

/// What an acquisition of the other mutex takes that is timed, and for how long it seems to hold the mutex.
fn timed_nothing(own: &Own) -> [u32; 2] {
    let mutex = BENCH.mutex.get().cast::<Mutex>();
    let [mut took, mut empty] = [0; 2];
    on_bench(own, |thread| {
        let began = now();
        pair(mutex);
        took = (now() - began) as u32;
        // SAFETY: nobody else reads or writes there.
        while let Some(words) = unsafe { thread.samples.take() } {
            if let Drawn::Sample(sample) = Drawn::of_words(words) {
                empty = sample.lasted.min(u16::MAX.into()) as u32;
            }
        }
    });
    [took, empty]
}

/// Runs that with the other record and its draws.
fn on_bench(own: &Own, run: impl FnOnce(&Thread)) {
    // SAFETY: all their bytes are atoms and cells, for which zeroes will do; the thread that set `BUSY` alone
    // uses the draws.
    let (thread, draws) = unsafe {
        BENCH.draws.get().write(MaybeUninit::zeroed());
        (
            BENCH.thread.assume_init_ref(),
            (*BENCH.draws.get()).assume_init_ref(),
        )
    };
    in_another(thread, draws, own.watch, || run(thread));
}

fn without_signals(run: impl FnOnce()) {
    const SIG_SETMASK: c_int = 2;
    let mut before: Signals = [0; 16];
    let all: Signals = [u64::MAX; 16];
    // SAFETY: both are sets of signals.
    if unsafe { observed::pthread_sigmask(SIG_SETMASK, &raw const all, &raw mut before) } != 0 {
        return;
    }
    run();
    // SAFETY: as above.
    unsafe { observed::pthread_sigmask(SIG_SETMASK, &raw const before, ptr::null_mut()) };
}

fn measured(own: &Own) -> AtHand {
    let mutex = BENCH.mutex.get().cast::<Mutex>();
    let mut counted = 0;
    on_bench(own, |_| {
        drawing().hold_off(true);
        counted = took(|| {
            for _ in 0..AT_HAND {
                pair(mutex);
            }
        });
    });
    let plain = took(|| {
        for _ in 0..AT_HAND {
            plain_pair(mutex);
        }
    });
    let [timed, empty] = TIMED.each_ref().map(|took| took.load(Relaxed));
    let began = now();
    AtHand {
        counted,
        plain,
        timed,
        empty: empty as u16,
        read: (now() - began).min(u16::MAX.into()) as u16,
        watch: watch_of(own),
    }
}

/// Nanoseconds that this takes, when it has been done just before.
fn took(run: impl Fn()) -> u32 {
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
