//! The cost of counting, measured occasionally.
//!
//! A counted acquisition takes a few nanoseconds longer. Reading a clock around it would not show
//! that: the read serialises the processor, which the program's own instructions do not, and its
//! code is rarely in the cache. So an uncontended mutex is locked and unlocked many times between
//! two reads, with records and without.
//!
//! The measurement uses the program's entry functions, but the record of a thread that does not
//! exist, outside the process's file.
//!
//! A timed acquisition of that mutex, with an empty critical section, shows how long recording
//! itself appears to last; the command subtracts that. It is measured just before one of the
//! program's own is timed, with the code in the same cache state.

use super::own::{Own, drawing, in_another};
use super::samples::{has_room, put, watch_of};
use crate::layout::Mutex;
use crate::mutex;
use crate::next::observed;
use cohort::door::now;
use cohort::records::{AT_HAND, AtHand, Drawn, Draws, TALLIES, Thread};
use core::cell::UnsafeCell;
use core::ffi::c_int;
use core::mem::{MaybeUninit, transmute};
use core::ptr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32};

/// Counting is measured after each of the first `FIRST` samples of a process, then after one in
/// `THEN`. A timed acquisition is measured instead of one in `THEN`, the middle one.
const FIRST: u32 = 16;
const THEN: u32 = 64;

/// Mutex, record and draws. All zero: a free plain mutex, the record of a thread without holds, and
/// draws that time each acquisition.
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

/// The program's entry that locks a mutex, or unlocks it.
type LockFunction = unsafe extern "C" fn(*mut Mutex) -> c_int;

/// The two entries; null before the program begins.
static ENTRIES: [AtomicPtr<()>; 2] = [const { AtomicPtr::new(ptr::null_mut()) }; 2];

/// Whether a thread is measuring.
static BUSY: AtomicBool = AtomicBool::new(false);

/// Samples of the process so far, at their beginnings and at their ends.
static BEGUN: AtomicU32 = AtomicU32::new(0);
static SAMPLED: AtomicU32 = AtomicU32::new(0);

/// The duration of a timed acquisition, and its apparent hold; 0: unknown.
static TIMED: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];

/// The C library's set of signals.
type Signals = [u64; 16];

/// Lets the measurements lock and unlock by these entries, which record in turn.
pub fn measure_by(entries: [unsafe extern "C" fn() -> c_int; 2]) {
    for (known, entry) in ENTRIES.iter().zip(entries) {
        known.store(entry as *mut (), Relaxed);
    }
}

/// Whether the entries are known.
fn has_entries() -> bool {
    ENTRIES.iter().all(|entry| !entry.load(Relaxed).is_null())
}

/// Runs `run`, unless another thread is measuring.
fn alone(run: impl FnOnce()) -> bool {
    let is_alone = !BUSY.swap(true, Acquire);
    if is_alone {
        // A signal handler must not record into the other record, nor leave by a jump.
        without_signals(run);
        BUSY.store(false, Release);
    }
    is_alone
}

/// Measures the cost of counting, if it is due. Called after a timed acquisition of the calling
/// thread.
#[cold]
#[inline(never)]
pub fn measure(own: &Own) {
    if !has_entries() {
        return;
    }
    let number = SAMPLED.fetch_add(1, Relaxed);
    if (number < FIRST || number.is_multiple_of(THEN)) && has_room(own) {
        let mut at_hand = None;
        alone(|| at_hand = Some(measured(own)));
        if let Some(at_hand) = at_hand {
            let _ = put(own, Drawn::AtHand(at_hand));
        }
    }
}

/// The least CPU time of a traced event and of a lock operation without it, in 16ths of a nanosecond.
/// `forget` drops the events so far. Runs a few hundred acquisitions; none if another thread is measuring.
pub fn of_an_event(forget: &dyn Fn()) -> Option<[u32; 2]> {
    const TRIES: usize = 8;
    let mutex = BENCH.mutex.get().cast::<Mutex>();
    let mut least = None;
    if has_entries() {
        alone(|| {
            for _ in 0..TRIES {
                let traced = took(|| {
                    forget();
                    for _ in 0..AT_HAND {
                        pair(mutex);
                    }
                });
                let plain = took(|| {
                    for _ in 0..AT_HAND {
                        plain_pair(mutex);
                    }
                });
                let spent = [traced.saturating_sub(plain), plain];
                let [event, operation] = least.unwrap_or(spent);
                least = Some([spent[0].min(event), spent[1].min(operation)]);
            }
        });
    }
    // Two events are a pair.
    least.map(|least: [u32; 2]| least.map(|least| least * 16 / (2 * AT_HAND)))
}

/// Measures a timed acquisition, if it is due; true if so. Called before the calling thread times
/// another.
#[cold]
#[inline(never)]
pub fn calibrate(own: &Own) -> bool {
    if !has_entries() {
        return false;
    }
    let number = BEGUN.fetch_add(1, Relaxed);
    number % THEN == THEN / 2 && alone(|| time_nothing(own))
}

/// Times an acquisition of the other mutex with an empty critical section. Repeats it a few times
/// if the thread seems to have been preempted.
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

/// The duration of a timed acquisition of the other mutex, and its apparent hold.
fn timed_nothing(own: &Own) -> [u32; 2] {
    let mutex = BENCH.mutex.get().cast::<Mutex>();
    let [mut took, mut empty] = [0; 2];
    on_bench(own, |thread| {
        let began = now();
        pair(mutex);
        took = (now() - began) as u32;
        // SAFETY: the calling thread uses the record exclusively.
        while let Some(words) = unsafe { thread.samples.take() } {
            if let Drawn::Sample(sample) = Drawn::of_words(words) {
                empty = sample.lasted.min(u16::MAX.into()) as u32;
            }
        }
    });
    [took, empty]
}

/// Runs `run` with the other record and its draws.
fn on_bench(own: &Own, run: impl FnOnce(&Thread)) {
    // SAFETY: all their bytes are atomics and cells, for which zeroes are valid; only the thread
    // that set `BUSY` uses the draws.
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

/// Nanoseconds that `run` takes after a first run.
fn took(run: impl Fn()) -> u32 {
    run();
    let began = now();
    run();
    (now() - began) as u32
}

/// Locks and unlocks the mutex by the program's entries. The only call site: two sites could share
/// a counter.
#[inline(never)]
fn pair(mutex: *mut Mutex) {
    let [lock, unlock] = ENTRIES.each_ref().map(|entry| entry.load(Relaxed));
    // SAFETY: such functions, once there are any; they get a mutex that only this thread uses.
    unsafe {
        transmute::<*mut (), LockFunction>(lock)(mutex);
        transmute::<*mut (), LockFunction>(unlock)(mutex);
    }
}

/// [`pair`] without counting.
#[inline(never)]
fn plain_pair(mutex: *mut Mutex) {
    // SAFETY: a mutex that only this thread uses.
    unsafe {
        mutex::pthread_mutex_lock(mutex);
        mutex::pthread_mutex_unlock(mutex);
    }
}
