//! What counting takes where all that it needs is at hand.
//!
//! A sample reads the clock around the records, which waits for all that comes before and keeps all that comes behind:
//! they seem to take longer by themselves than they do among the program's instructions.  How much longer is
//! measured here, now and then: a plain mutex that nobody else wants is taken and released many
//! times between two reads of the clock, with records and without, and once as a sample takes it.
//!
//! The mutex is taken as the program takes its own, by the same instructions, but the records are those of a thread
//! that does not exist, outside the process's file.

use super::entries;
use super::own::{Own, in_another, open_sample};
use super::profile::put;
use crate::layout::Mutex;
use crate::mutex;
use cohort::door::now;
use cohort::records::{AT_HAND, AtHand, Drawn, SAMPLES, Sample, Thread, WATCH_BITS};
use core::cell::UnsafeCell;
use core::ffi::c_int;
use core::mem::MaybeUninit;
use core::ptr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicU32};

/// How often that is measured in a process.
const MOST: u32 = 64;

/// No number of a thread's own acquisitions.
const NUMBERS: u64 = 1 << 63;

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

/// How often that was done.
static TIMES: AtomicU32 = AtomicU32::new(0);

unsafe extern "C" {
    fn pthread_sigmask(how: c_int, set: *const Signals, before: *mut Signals) -> c_int;
}

/// The C library's set of signals.
type Signals = [u64; 16];

/// Measures, if there is reason to.  No acquisition of the calling thread's is sampled now, and one has just been.
#[cold]
#[inline(never)]
pub fn measure(own: &Own) {
    let is_wanted = TIMES.load(Relaxed) < MOST
        // The places that are left are for samples.
        && own.thread.samples.waiting() < SAMPLES as u32 / 2;
    if !is_wanted || BUSY.swap(true, Acquire) {
        return;
    }
    TIMES.fetch_add(1, Relaxed);
    let mut at_hand = None;
    // What a handler does is not to be written into the other record, nor may it leave by a jump.
    without_signals(|| at_hand = measured(own));
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

fn measured(own: &Own) -> Option<AtHand> {
    let mutex = BENCH.mutex.get().cast::<Mutex>();
    // SAFETY: all its bytes are atoms and cells, for which zeroes will do.
    let thread = unsafe { BENCH.thread.assume_init_ref() };
    thread.acquired.store(NUMBERS, Relaxed);
    let kept = open_sample().set_aside();
    let (mut drawn, mut counted) = (None, 0);
    in_another(thread, own.watch, || {
        // A second one comes behind others that are only counted, and behind one that is drawn.
        let _ = sampled(thread, mutex);
        run(mutex);
        let _ = sampled(thread, mutex);
        drawn = sampled(thread, mutex);
        counted = timed(|| run(mutex));
    });
    open_sample().go_on(&kept);
    let plain = timed(|| {
        for _ in 0..AT_HAND {
            // SAFETY: it is one, which only this thread uses.
            unsafe {
                mutex::pthread_mutex_lock(mutex);
                mutex::pthread_mutex_unlock(mutex);
            }
        }
    });
    let sample = drawn?;
    Some(AtHand {
        spent: sample.spent,
        read: sample.spent_on_stack,
        counted,
        plain,
        watch: (own.watch & WATCH_BITS) as u8,
    })
}

/// Nanoseconds that this takes, when it has been done just before.
fn timed(run: impl Fn()) -> u32 {
    run();
    let began = now();
    run();
    (now() - began) as u32
}

/// Takes and releases the mutex by an acquisition that is a second one; its sample.
fn sampled(thread: &Thread, mutex: *mut Mutex) -> Option<Sample> {
    open_sample().go_on_with_second();
    pair(mutex);
    // SAFETY: nobody else takes what this thread puts there.
    let words = unsafe { thread.samples.take() };
    match words.map(Drawn::of_words) {
        Some(Drawn::Sample(sample)) => Some(sample),
        _ => None,
    }
}

/// [`AT_HAND`] acquisitions in a row.
fn run(mutex: *mut Mutex) {
    for _ in 0..AT_HAND {
        pair(mutex);
    }
}

/// Takes and releases the mutex by the program's entries.  They are called from here only: two sites might have one
/// place to be counted in.
#[inline(never)]
fn pair(mutex: *mut Mutex) {
    type Entry = unsafe extern "C" fn(*mut Mutex) -> c_int;
    // SAFETY: the entries hand on what they are called with, which is a mutex of this thread's alone.
    unsafe {
        let entry = |entry: unsafe extern "C" fn() -> c_int| {
            core::mem::transmute::<unsafe extern "C" fn() -> c_int, Entry>(entry)
        };
        entry(entries::pthread_mutex_lock)(mutex);
        entry(entries::pthread_mutex_unlock)(mutex);
    }
}
