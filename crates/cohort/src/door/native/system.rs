//! Time and sleep.

use super::super::{AtomicU32, Slept};
use super::atoms::{AtomicPtr, AtomicU64, Ordering};
use super::image::vdso;
use super::kernel::{call, number};
use super::passage;
use super::unreported;
use cohort_raw::{Clock, Deadline};
use core::ffi::CStr;

/// The kernel's `timespec`.
#[repr(C)]
pub struct Timespec {
    /// Whole seconds.
    pub seconds: i64,
    /// Nanoseconds of the next second.
    pub nanoseconds: i64,
}

/// A function with the signature of the C library's `clock_gettime`.
type ClockGettime = unsafe extern "C" fn(i32, *mut Timespec) -> i32;

/// The vDSO's function, or [`ask_kernel`]; null before the first use.
///
/// Not the C library's function: a wrapper of it may take a lock, or return another time than the
/// one by which the kernel ends a sleep.
static CLOCK_GETTIME: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());

#[cfg(target_arch = "x86_64")]
const NAME: &CStr = c"__vdso_clock_gettime";
#[cfg(target_arch = "aarch64")]
const NAME: &CStr = c"__kernel_clock_gettime";

/// Finds the vDSO's function.
#[cold]
#[inline(never)]
pub(super) fn find_clock() -> *mut () {
    let found = vdso().and_then(|image| image.find(NAME));
    let found = found.unwrap_or(ask_kernel as *mut ());
    CLOCK_GETTIME.store(found, Ordering::Relaxed);
    found
}

/// Replaces the clock: a test sets the time by it. The kernel still ends sleeps by its own clock.
///
/// # Safety
/// `function` writes the time of every clock that exists to its second argument, and returns 0.
#[cfg(internals)]
#[doc(hidden)]
pub unsafe fn set_clock_gettime(function: ClockGettime) {
    CLOCK_GETTIME.store(function as *mut (), Ordering::Relaxed);
}

/// `clock_gettime` as a system call.
#[cold]
unsafe extern "C" fn ask_kernel(clock: i32, out: *mut Timespec) -> i32 {
    // SAFETY: the caller's.
    unsafe {
        call(
            number::CLOCK_GETTIME,
            [clock as usize, out as usize, 0, 0, 0, 0],
        ) as i32
    }
}

const CLOCK_REALTIME: i32 = 0;
const CLOCK_MONOTONIC: i32 = 1;

#[inline(never)]
fn read(clock: i32) -> Timespec {
    let mut at = Timespec {
        seconds: 0,
        nanoseconds: 0,
    };
    let mut function = CLOCK_GETTIME.load(Ordering::Relaxed);
    if function.is_null() {
        function = find_clock();
    }
    // SAFETY: a function of that type; `at` is writable, and both clocks exist on every kernel.
    unsafe {
        let function: ClockGettime = core::mem::transmute(function);
        if function(clock, &raw mut at) != 0 {
            ask_kernel(clock, &raw mut at);
        }
    }
    at
}

/// Nanoseconds on the monotonic clock.
#[inline]
#[must_use]
pub fn now() -> u64 {
    let at = read(CLOCK_MONOTONIC);
    at.seconds as u64 * 1_000_000_000 + at.nanoseconds as u64
}

/// Whether `deadline` has passed.
#[must_use]
pub fn expired(deadline: &Deadline) -> bool {
    let at = read(match deadline.clock {
        Clock::Monotonic => CLOCK_MONOTONIC,
        Clock::Realtime => CLOCK_REALTIME,
    });
    (at.seconds, at.nanoseconds) >= (deadline.seconds, i64::from(deadline.nanoseconds))
}

const FUTEX_CMP_REQUEUE: usize = 4;
const FUTEX_WAIT_BITSET: usize = 9;
const FUTEX_WAKE_BITSET: usize = 10;
const FUTEX_PRIVATE: usize = 128;
const FUTEX_CLOCK_REALTIME: usize = 256;
const ETIMEDOUT: isize = -110;

/// See `futex(2)`.
///
/// # Safety
/// As for [`call`].
#[inline(always)]
unsafe fn futex(args: [usize; 6]) -> isize {
    // SAFETY: the caller's.
    unreported(|| unsafe { call(number::FUTEX, args) })
}

#[inline(never)]
fn futex_wait(
    word: &AtomicU32,
    expected: u32,
    bits: u32,
    deadline: Option<&Deadline>,
    scope: usize,
) -> Slept {
    let mut operation = FUTEX_WAIT_BITSET | scope;
    let at;
    let timeout = match deadline {
        None => 0,
        // The kernel refuses times before the clock's origin.
        Some(deadline) if deadline.seconds < 0 => return Slept::TimedOut,
        Some(deadline) => {
            if deadline.clock == Clock::Realtime {
                operation |= FUTEX_CLOCK_REALTIME;
            }
            at = Timespec {
                seconds: deadline.seconds,
                nanoseconds: i64::from(deadline.nanoseconds),
            };
            &raw const at as usize
        }
    };
    // SAFETY: the kernel only reads the word and the timeout, both alive.
    let result = unsafe {
        futex([
            core::ptr::from_ref(word) as usize,
            operation,
            expected as usize,
            timeout,
            0,
            bits as usize,
        ])
    };
    match result {
        0 => Slept::Woken,
        ETIMEDOUT => Slept::TimedOut,
        _ => Slept::Again,
    }
}

fn futex_wake(word: *const AtomicU32, count: u32, bits: u32, scope: usize) -> usize {
    // SAFETY: the kernel uses the address as a name and reads nothing there.
    let woken = unsafe {
        futex([
            word as usize,
            FUTEX_WAKE_BITSET | scope,
            count as usize,
            0,
            0,
            bits as usize,
        ])
    };
    woken.max(0) as usize
}

/// Sleeps while `word` holds `expected`, until woken through one of `bits` or
/// the deadline passes.  Only threads of this process can wake it.
#[must_use]
#[inline(never)]
#[cfg_attr(feature = "chaos", track_caller)]
pub fn sleep_on(word: &AtomicU32, expected: u32, bits: u32, deadline: Option<&Deadline>) -> Slept {
    passage();
    if IMPATIENT_UNTIL.load(Ordering::Relaxed) != PATIENT {
        return sleep_impatient(word, expected, bits, deadline);
    }
    futex_wait(word, expected, bits, deadline, FUTEX_PRIVATE)
}

/// A deadline that many nanoseconds ahead, for a sleep that a thread without a CPU could prolong
/// for ever; `None` where there are no such threads.
#[must_use]
pub fn unless_starved(nanoseconds: u64) -> Option<Deadline> {
    Some(Deadline::monotonic(now() + nanoseconds))
}

/// Until when sleepers wake up periodically, since a wake may be lost.
static IMPATIENT_UNTIL: AtomicU64 = AtomicU64::new(PATIENT);
const PATIENT: u64 = 0;

/// How long they sleep then.
const IMPATIENT_NANOSECONDS: u64 = 1_000_000;

/// Makes sleepers wake up periodically for that many nanoseconds.
pub(super) fn be_impatient(nanoseconds: u64) {
    IMPATIENT_UNTIL.store(now() + nanoseconds, Ordering::SeqCst);
}

#[cold]
#[inline(never)]
fn sleep_impatient(
    word: &AtomicU32,
    expected: u32,
    bits: u32,
    deadline: Option<&Deadline>,
) -> Slept {
    let until = IMPATIENT_UNTIL.load(Ordering::Relaxed);
    let now = now();
    if now >= until {
        // Unless another thread has extended it.
        let _ =
            IMPATIENT_UNTIL.compare_exchange(until, PATIENT, Ordering::Relaxed, Ordering::Relaxed);
        return futex_wait(word, expected, bits, deadline, FUTEX_PRIVATE);
    }
    let soon = Deadline::monotonic(now + IMPATIENT_NANOSECONDS);
    let slept = futex_wait(word, expected, bits, Some(&soon), FUTEX_PRIVATE);
    if slept == Slept::TimedOut && !deadline.is_some_and(expired) {
        return Slept::Again;
    }
    slept
}

/// Sleeps for that many nanoseconds, or until a signal arrives.
pub fn nap(nanoseconds: u64) {
    let until = Deadline::monotonic(now() + nanoseconds);
    let _ = futex_wait(&AtomicU32::new(0), 0, 1, Some(&until), FUTEX_PRIVATE);
}

/// [`sleep_on`], for a word that other processes map too.
#[must_use]
#[cfg_attr(feature = "chaos", track_caller)]
pub fn sleep_on_shared(
    word: &AtomicU32,
    expected: u32,
    bits: u32,
    deadline: Option<&Deadline>,
) -> Slept {
    passage();
    futex_wait(word, expected, bits, deadline, 0)
}

/// Wakes up to `count` sleepers that share one of `bits`; returns how many.
///
/// Takes a pointer because the word's memory may be in other use by then: the address is only a
/// name, and an unrelated sleeper woken there looks again.
///
/// Out of line: each of a hundred callers would otherwise set up all arguments.
#[inline(never)]
#[cfg_attr(feature = "chaos", track_caller)]
pub fn wake(word: *const AtomicU32, count: u32, bits: u32) -> usize {
    passage();
    futex_wake(word, count, bits, FUTEX_PRIVATE)
}

/// Moves one sleeper on `word`, if that holds `expected`, to `to`, behind all others there and with
/// its own bits and deadline; returns whether there was one. The effect is as if it had gone to
/// sleep there.
///
/// `to` is a name only, as in [`wake`].
#[must_use]
#[cfg_attr(feature = "chaos", track_caller)]
pub fn move_sleeper(word: &AtomicU32, expected: u32, to: *const AtomicU32) -> bool {
    passage();
    // SAFETY: the kernel reads the word, which is alive, and takes both addresses as names.
    let moved = unsafe {
        futex([
            core::ptr::from_ref(word) as usize,
            FUTEX_CMP_REQUEUE | FUTEX_PRIVATE,
            0,
            1,
            to as usize,
            expected as usize,
        ])
    };
    moved > 0
}

/// [`wake`], for a word that other processes map too.
#[inline(never)]
#[cfg_attr(feature = "chaos", track_caller)]
pub fn wake_shared(word: *const AtomicU32, count: u32, bits: u32) -> usize {
    passage();
    futex_wake(word, count, bits, 0)
}
