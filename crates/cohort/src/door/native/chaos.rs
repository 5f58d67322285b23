//! Chaos: before an atomic operation or a kernel call of a lock, the calling thread sometimes
//! yields its CPU or naps.  A soak then meets interleavings that the scheduler makes once in hours.
//! Compiled only with the feature `chaos`, which is for tests.
//!
//! | variable | meaning |
//! |---|---|
//! | `COHORT_CHAOS` | `yields,naps,longest_us,seed`: two chances in 65,536; the longest nap in µs |
//! | `COHORT_CHAOS_AT` | `file:line` of an operation with a longest nap each time; 10 ms by default |
//!
//! Each thread draws from a generator of its own, seeded by the seed and the order in which
//! threads first use a lock.  The environment is read at the first operation.
//!
//! No lock function and no function of the C library is called here: an operation may be part of
//! either, and `errno` is the program's.

use super::allowed::{Beyond, is_allowed};
use super::kernel::{call, number};
use super::thread::thread;
use core::ffi::{CStr, c_char};
use core::panic::Location;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize};

/// The settings from the environment; written before [`STATE`].
static YIELDS: AtomicU32 = AtomicU32::new(0);
static NAPS: AtomicU32 = AtomicU32::new(0);
static LONGEST_NANOSECONDS: AtomicU64 = AtomicU64::new(10_000_000);
static SEED: AtomicU64 = AtomicU64::new(0);
static FILE: AtomicPtr<u8> = AtomicPtr::new(core::ptr::null_mut());
static FILE_BYTES: AtomicUsize = AtomicUsize::new(0);
/// The line of that file; 0 if there is no place.
static LINE: AtomicU32 = AtomicU32::new(0);

static STATE: AtomicU8 = AtomicU8::new(UNREAD);
const UNREAD: u8 = 0;
const OFF: u8 = 1;
const ON: u8 = 2;

/// Threads that have drawn.
static THREADS: AtomicU64 = AtomicU64::new(0);

/// A chance of one.
const CERTAIN: u64 = 65_536;
/// Greatest nap in the settings, in microseconds.
const LONGEST_MICROSECONDS: u64 = 10_000_000;

/// Disturbs the calling thread if its schedule says so; called before an operation.
#[inline(always)]
#[track_caller]
pub fn passage() {
    if STATE.load(Relaxed) != OFF {
        disturb(Location::caller());
    }
}

#[cold]
#[inline(never)]
fn disturb(place: &Location<'_>) {
    if STATE.load(Acquire) == UNREAD && !read() {
        return;
    }
    let longest = LONGEST_NANOSECONDS.load(Relaxed);
    if LINE.load(Relaxed) == place.line() && is_of_the_file(place.file()) {
        return nap(longest);
    }
    let drawn = draw();
    if (drawn & 0xffff) < u64::from(YIELDS.load(Relaxed)) {
        if is_allowed(Beyond::Yield) {
            // SAFETY: takes no arguments and touches no memory.
            unsafe { call(number::SCHED_YIELD, [0; 6]) };
        }
    } else if ((drawn >> 16) & 0xffff) < u64::from(NAPS.load(Relaxed)) {
        nap((drawn >> 32) % longest + 1);
    }
}

/// The next number of the calling thread, by SplitMix64.
///
/// A signal handler between the two accesses repeats a number, which is harmless.
fn draw() -> u64 {
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    let kept = &thread().chaos;
    let mut state = kept.get();
    if state == 0 {
        let thread = THREADS.fetch_add(1, Relaxed);
        state = scattered(SEED.load(Relaxed) ^ scattered(thread));
    }
    state = state.wrapping_add(STEP);
    kept.set(state);
    scattered(state)
}

const fn scattered(bits: u64) -> u64 {
    let bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// Sleeps for that many nanoseconds, or until a signal arrives.
///
/// By a futex with a relative timeout: it needs no clock, and every filter that allows locks allows
/// it.
fn nap(nanoseconds: u64) {
    /// Waits for a word of this process.
    const WAIT_PRIVATE: usize = 128;
    const IN_A_SECOND: u64 = 1_000_000_000;
    let word = AtomicU32::new(0);
    let limit = [nanoseconds / IN_A_SECOND, nanoseconds % IN_A_SECOND];
    let arguments = [
        &raw const word as usize,
        WAIT_PRIVATE,
        0,
        limit.as_ptr() as usize,
        0,
        0,
    ];
    // SAFETY: the kernel only reads the word and the limit, both alive.
    unsafe { call(number::FUTEX, arguments) };
}

/// Whether the place is in the file of `COHORT_CHAOS_AT`: its path, or the path's last parts.
fn is_of_the_file(path: &str) -> bool {
    // SAFETY: text of the environment, of that length, written before `STATE`.
    let file = unsafe {
        core::slice::from_raw_parts(FILE.load(Relaxed).cast_const(), FILE_BYTES.load(Relaxed))
    };
    let before = path.as_bytes().strip_suffix(file);
    before.is_some_and(|before| before.is_empty() || before.ends_with(b"/"))
}

/// Reads the environment; returns whether to disturb. Simultaneous threads read the same.
fn read() -> bool {
    let Some((chaos, at)) = variables() else {
        // Before the C library's start.
        return false;
    };
    if let Some(text) = chaos {
        let Some([yields, naps, longest, seed]) = numbers(text) else {
            refuse(
                "COHORT_CHAOS=",
                text,
                " is not yields,naps,longest_us,seed, as 1024,64,300,1 is: two chances of 0 to \
                 65536, 1 to 10000000 microseconds, and a number",
            );
        };
        YIELDS.store(yields as u32, Relaxed);
        NAPS.store(naps as u32, Relaxed);
        LONGEST_NANOSECONDS.store(longest * 1_000, Relaxed);
        SEED.store(seed, Relaxed);
    }
    if let Some(text) = at {
        let Some((file, line)) = place(text) else {
            refuse(
                "COHORT_CHAOS_AT=",
                text,
                " is not file:line, as futex.rs:120 is",
            );
        };
        FILE_BYTES.store(file.len(), Relaxed);
        FILE.store(file.as_ptr().cast_mut(), Relaxed);
        LINE.store(line, Relaxed);
    }
    let on = chaos.is_some() || at.is_some();
    STATE.store(if on { ON } else { OFF }, Release);
    on
}

/// The four numbers of `COHORT_CHAOS`, each within its bounds.
fn numbers(text: &[u8]) -> Option<[u64; 4]> {
    const BOUNDS: [(u64, u64); 4] = [
        (0, CERTAIN),
        (0, CERTAIN),
        (1, LONGEST_MICROSECONDS),
        (0, u64::MAX),
    ];
    let mut numbers = [0; 4];
    let mut parts = text.split(|byte| *byte == b',');
    for (number, (least, most)) in numbers.iter_mut().zip(BOUNDS) {
        *number = decimal(parts.next()?).filter(|number| (least..=most).contains(number))?;
    }
    parts.next().is_none().then_some(numbers)
}

/// The file and the line of `COHORT_CHAOS_AT`.
fn place(text: &[u8]) -> Option<(&[u8], u32)> {
    let colon = text.iter().rposition(|byte| *byte == b':')?;
    let (file, line) = text.split_at(colon);
    let line = u32::try_from(decimal(line.get(1..)?)?).ok()?;
    (!file.is_empty() && line > 0).then_some((file, line))
}

fn decimal(digits: &[u8]) -> Option<u64> {
    core::str::from_utf8(digits).ok()?.parse().ok()
}

/// A variable's value; `None` if it is unset or empty.
type Value = Option<&'static [u8]>;

/// The values of both variables; `None` without an environment.
fn variables() -> Option<(Value, Value)> {
    unsafe extern "C" {
        static environ: *const *const c_char;
    }
    let (mut chaos, mut at) = (None, None);
    // SAFETY: the environment is a list of strings ended by null; programs change it only while
    // single-threaded.
    unsafe {
        let mut entry = environ;
        if entry.is_null() {
            return None;
        }
        while !(*entry).is_null() {
            let text = CStr::from_ptr(*entry).to_bytes();
            if let Some(value) = text.strip_prefix(b"COHORT_CHAOS=") {
                chaos = Some(value);
            } else if let Some(value) = text.strip_prefix(b"COHORT_CHAOS_AT=") {
                at = Some(value);
            }
            entry = entry.add(1);
        }
    }
    let given = |value: &&[u8]| !value.is_empty();
    Some((chaos.filter(given), at.filter(given)))
}

/// Ends the process with one line: an undisturbed soak would show nothing.
fn refuse(variable: &str, value: &[u8], why: &str) -> ! {
    const STANDARD_ERROR: usize = 2;
    const FAILURE: usize = 2;
    let parts: [&[u8]; 5] = [
        b"cohort: ",
        variable.as_bytes(),
        value,
        why.as_bytes(),
        b"\n",
    ];
    for part in parts {
        let arguments = [STANDARD_ERROR, part.as_ptr() as usize, part.len(), 0, 0, 0];
        // SAFETY: the kernel reads the bytes, which are alive.
        unsafe { call(number::WRITE, arguments) };
    }
    loop {
        // SAFETY: ends the process.
        unsafe { call(number::EXIT_GROUP, [FAILURE, 0, 0, 0, 0, 0]) };
    }
}

// SAFETY: the section is an array of pointers to functions without arguments, which the loader
// calls; this one depends on no earlier one. Mistakes are reported even if no lock is used.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn() = {
    extern "C" fn at_start() {
        passage();
    }
    at_start
};

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;

    #[test]
    fn four_numbers_are_read_within_their_bounds() {
        assert_eq!(numbers(b"1024,64,300,7"), Some([1024, 64, 300, 7]));
        assert_eq!(
            numbers(b"65536,0,10000000,18446744073709551615"),
            Some([65_536, 0, 10_000_000, u64::MAX])
        );
        let wrong: [&[u8]; 9] = [
            b"1",
            b"1,2,3",
            b"1,2,3,4,5",
            b"65537,1,1,1",
            b"1,65537,1,1",
            b"1,1,0,1",
            b"1,1,10000001,1",
            b"1,1,1,-1",
            b"1,,1,1",
        ];
        for text in wrong {
            assert_eq!(numbers(text), None, "{}", text.escape_ascii());
        }
    }

    #[test]
    fn a_place_is_a_file_and_a_line() {
        assert_eq!(place(b"futex.rs:12"), Some((&b"futex.rs"[..], 12)));
        assert_eq!(place(b"a:b/futex.rs:1"), Some((&b"a:b/futex.rs"[..], 1)));
        let wrong: [&[u8]; 5] = [b"futex.rs", b"futex.rs:", b":3", b"futex.rs:0", b"a.rs:x"];
        for text in wrong {
            assert_eq!(place(text), None, "{}", text.escape_ascii());
        }
    }

    #[test]
    fn a_thread_s_schedule_follows_from_the_seed() {
        let schedule = |seed| {
            SEED.store(seed, Relaxed);
            THREADS.store(0, Relaxed);
            std::thread::spawn(|| [draw(), draw(), draw()])
                .join()
                .expect("it draws")
        };
        assert_eq!(schedule(1), schedule(1));
        assert_ne!(schedule(1), schedule(2));
    }
}
