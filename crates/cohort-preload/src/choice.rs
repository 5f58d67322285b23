//! The lock that serves this process, read from the environment.
//!
//! | variable | meaning |
//! |---|---|
//! | `COHORT_LOCK` | a name or alias of the catalogue, a composition such as `clof:ticket-mcs`, or `system`; the default lock if unset. `clof:ticket-mcs/compiled`, `c-tkt-mcs/bypass`, `hmcs-4/64` and such where compositions are compiled |
//! | `COHORT_RWLOCK` | `rwlock`, the default, or `system`; `c-rw-np` or `c-rw-wp` where compositions are compiled, whose writers take `COHORT_LOCK` |
//! | `COHORT_WAIT` | `park`, `spin` or `yield` |
//! | `COHORT_MONITOR` | `off` to keep waiting threads from monitoring words with the CPU's instructions, else `on` |
//! | `COHORT_SLICE` | `off` to keep holders of contended locks from requesting longer time slices, else `on` |
//! | `COHORT_COHORTS` | cohorts to use instead of the machine's; see `cohort::door::cohorts` |
//! | `COHORT_GLK` | where compositions are compiled, the result of `cohort tune glk`, as in `3,2,128,4096`; see `cohort::adaptive::Tuning` |
//! | `COHORT_CHANGES` | `print` to print each mode change of an adaptive lock on standard error |
//! | `COHORT_ONLY` | programs to serve, separated by colons: file names, or whole paths |
//! | `COHORT_EXCLUDE` | programs not to serve |
//! | `COHORT_MUTEXES` | where compositions are compiled, individual locks for some mutexes; see `by_mutex` |
//! | `COHORT_REPORT` | a file for counters; see `cohort::report` |
//!
//! The first call decides, once. That call may come from a constructor that runs before this
//! library's.

use crate::count;
use crate::libc::{environ, readlink, say_texts, strlen};
use crate::next;
use crate::serve::{COMPOSITION, set_recipe};
#[cfg(feature = "compositions")]
use crate::{by_mutex, compiled};
#[cfg(feature = "compositions")]
use cohort::adaptive::{Tuning, tune};
#[cfg(feature = "compositions")]
use cohort::catalogue::read;
#[cfg(not(feature = "compositions"))]
use cohort::catalogue::read_served as read;
use cohort::catalogue::{self, Storage};
use cohort::door::{
    Monitor, WaitPolicy, count_reads, offer_extensions, set_cohorts, set_monitor, set_policy,
};
use cohort::host::served::{self, SERVICES, Service};
use cohort::name::Servable;
use cohort::numa::FutexHmcs;
use core::ffi::{CStr, c_char};
use core::sync::atomic::{AtomicU8, Ordering};

/// Server of the process's mutexes.
#[derive(Clone, Copy)]
pub enum Choice {
    /// The C library: the process is excluded.
    System,
    /// A Cohort lock.
    Ours(&'static Service),
}

/// The choice: one of the values below, or `FIRST_LOCK` plus a lock's index in the catalogue.
/// Compositions follow the catalogue's last lock that serves programs.
static CHOICE: AtomicU8 = AtomicU8::new(UNDECIDED);

/// Before the first use.
const UNDECIDED: u8 = 0;
const SYSTEM: u8 = 1;
const FIRST_LOCK: u8 = 2;

/// The default lock, first in the catalogue.
const DEFAULT: u8 = FIRST_LOCK;
const _: () = assert!(matches!(catalogue::LOCKS[0].storage, Storage::Word));

/// The default lock without its queues, second in the catalogue.
const WITHOUT_QUEUES: usize = 1;
const _: () = assert!(matches!(
    catalogue::LOCKS[WITHOUT_QUEUES].storage,
    Storage::Word
));

/// Set, beside the choice, while acquisitions are counted: the fast path's one comparison excludes
/// that too.
const COUNTING: u8 = 0x80;

/// Set, beside the choice, while some mutexes have individual locks: the fast path's one comparison
/// excludes that too.
#[cfg(feature = "compositions")]
const ASSIGNING: u8 = 0x40;
#[cfg(feature = "compositions")]
const _: () = assert!((FIRST_LOCK as usize) + SERVICES.len() + 1 < ASSIGNING as usize);

/// Flag bits beside the choice.
#[cfg(not(feature = "compositions"))]
const BESIDE: u8 = COUNTING;
#[cfg(feature = "compositions")]
const BESIDE: u8 = COUNTING | ASSIGNING;

/// Whether some mutexes have individual locks.
#[cfg(feature = "compositions")]
#[inline(always)]
pub fn is_assigning() -> bool {
    let raw = CHOICE.load(Ordering::Acquire);
    // Nothing is known before the first use: decide first.
    let raw = if raw == UNDECIDED { decided() } else { raw };
    raw & ASSIGNING != 0
}

/// Whether the default lock serves and acquisitions are not counted: the fast path.
#[inline(always)]
pub fn is_plain_default() -> bool {
    CHOICE.load(Ordering::Relaxed) == DEFAULT
}

/// The default lock's service, as a constant: the compiler can inline its functions.
#[inline(always)]
pub fn default_service() -> &'static Service {
    match &SERVICES[(DEFAULT - FIRST_LOCK) as usize] {
        Some(service) => service,
        None => &COMPOSITION,
    }
}

/// Whether any Cohort lock serves the process, and acquisitions are not counted.
#[inline(always)]
pub fn is_plain() -> bool {
    (FIRST_LOCK..COUNTING).contains(&CHOICE.load(Ordering::Relaxed))
}

/// Server of the process's rwlocks.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Rwlocks {
    /// The C library.
    System = 1,
    /// The default.
    Word = 2,
    /// `c-rw-np`.
    #[cfg(feature = "compositions")]
    Neutral = 3,
    /// `c-rw-wp`.
    #[cfg(feature = "compositions")]
    WritersFirst = 4,
}

/// The choice of [`Rwlocks`], with [`COUNTING`]; decided before [`CHOICE`].
static RWLOCKS: AtomicU8 = AtomicU8::new(UNDECIDED);

/// Whether `rwlocks` serves, and acquisitions are not counted.
#[inline(always)]
pub fn are_plain(rwlocks: Rwlocks) -> bool {
    RWLOCKS.load(Ordering::Relaxed) == rwlocks as u8
}

/// The server of the process's rwlocks.
#[inline]
pub fn rwlocks() -> Rwlocks {
    let mut raw = RWLOCKS.load(Ordering::Relaxed);
    if raw == UNDECIDED {
        // Both choices are made together.
        let _ = choice();
        raw = RWLOCKS.load(Ordering::Relaxed);
    }
    const WORD: u8 = Rwlocks::Word as u8;
    #[cfg(feature = "compositions")]
    const NEUTRAL: u8 = Rwlocks::Neutral as u8;
    #[cfg(feature = "compositions")]
    const WRITERS_FIRST: u8 = Rwlocks::WritersFirst as u8;
    match raw & !COUNTING {
        WORD => Rwlocks::Word,
        #[cfg(feature = "compositions")]
        NEUTRAL => Rwlocks::Neutral,
        #[cfg(feature = "compositions")]
        WRITERS_FIRST => Rwlocks::WritersFirst,
        _ => Rwlocks::System,
    }
}

/// The environment's choice for rwlocks.
fn decide_rwlocks() -> Rwlocks {
    // The C library's rwlocks never refuse a recursive read.
    count_reads();
    match variable(c"COHORT_RWLOCK") {
        None | Some("" | "rwlock") => Rwlocks::Word,
        Some("system" | "posix") => Rwlocks::System,
        #[cfg(feature = "compositions")]
        Some("c-rw-np") => Rwlocks::Neutral,
        #[cfg(feature = "compositions")]
        Some("c-rw-wp") => Rwlocks::WritersFirst,
        Some(other) => {
            warn("RWLOCK", other, " is not an rwlock; using rwlock");
            Rwlocks::Word
        }
    }
}

/// The server of the process's mutexes, and whether acquisitions are counted.
#[inline]
pub fn choice() -> (Choice, bool) {
    let raw = match CHOICE.load(Ordering::Acquire) {
        UNDECIDED => decided(),
        raw => raw,
    };
    (meaning(raw & !BESIDE), raw & COUNTING != 0)
}

fn meaning(raw: u8) -> Choice {
    match raw.checked_sub(FIRST_LOCK) {
        #[cfg(feature = "compositions")]
        Some(place) if usize::from(place) > SERVICES.len() => Choice::Ours(&compiled::COMPILED),
        Some(place) => Choice::Ours(match SERVICES.get(usize::from(place)) {
            Some(Some(service)) => service,
            _ => &COMPOSITION,
        }),
        None => Choice::System,
    }
}

/// Whether the C library serves this process.
#[inline]
pub fn is_system() -> bool {
    matches!(choice().0, Choice::System)
}

/// Makes the choice. Out of line, since half of the library's functions may be the first call.
#[cold]
#[inline(never)]
fn decided() -> u8 {
    if !next::is_ready() {
        next::look_up();
    }
    decide()
}

/// Two threads may decide concurrently; they read the same environment, and only the first decision
/// takes effect.
fn decide() -> u8 {
    let mut chosen = DEFAULT;
    // The catalogue index of the lock requested by name.
    let mut named = None;
    if let Some(text) = variable(c"COHORT_LOCK").filter(|text| !text.is_empty()) {
        // `cohort run` has checked it, and reports its mistakes.
        match read(text).and_then(|name| name.servable()) {
            Ok(Servable::System) => chosen = SYSTEM,
            Ok(Servable::Listed(place)) if served::at(place).is_some() => {
                named = Some(place);
                if place == WITHOUT_QUEUES {
                    FutexHmcs::never_queue();
                } else {
                    chosen = FIRST_LOCK + place as u8;
                }
            }
            Ok(Servable::Stacked(recipe)) => {
                set_recipe(&recipe);
                chosen = FIRST_LOCK + SERVICES.len() as u8;
            }
            #[cfg(feature = "compositions")]
            Ok(lock) if compiled::choose(&lock) => {
                chosen = FIRST_LOCK + SERVICES.len() as u8 + 1;
            }
            _ => warn(
                "LOCK",
                text,
                " is not a lock of this library (see `cohort list`); using futex-hmcs",
            ),
        }
    }
    if is_left_out() {
        chosen = SYSTEM;
    }
    match variable(c"COHORT_WAIT") {
        None | Some("" | "park") => {}
        Some("spin") => set_policy(WaitPolicy::Spin),
        Some("yield") => set_policy(WaitPolicy::Yield),
        Some(other) => warn("WAIT", other, " is not park, spin or yield; using park"),
    }
    match variable(c"COHORT_MONITOR") {
        None | Some("" | "on") => {}
        // SAFETY: to pause takes no instruction that a CPU may lack.
        Some("off") => unsafe { set_monitor(Monitor::Missing) },
        Some(other) => warn("MONITOR", other, " is not on or off; using on"),
    }
    match variable(c"COHORT_SLICE") {
        Some("off") => {}
        other => {
            if let Some(other) = other.filter(|other| !["", "on"].contains(other)) {
                warn("SLICE", other, " is not on or off; using on");
            }
            // `filter` reports the filters that the program installs.
            if chosen != SYSTEM {
                offer_extensions();
            }
        }
    }
    // `cohort run` has checked the values that it passes on, and reports their mistakes.
    if let Some(text) = variable(c"COHORT_COHORTS")
        && set_cohorts(text).is_err()
    {
        warn(
            "COHORTS",
            text,
            " is not a list of cohorts; using the machine's",
        );
    }
    #[cfg(feature = "compositions")]
    if let Some(text) = variable(c"COHORT_GLK") {
        match Tuning::read(text) {
            Some(tuning) => tune(&tuning),
            None => warn("GLK", text, " is not a valid tuning; using 3,2,128,4096"),
        }
    }
    let report = variable_c(c"COHORT_REPORT");
    let counts = chosen != SYSTEM && report.is_some_and(count::can_open);
    let prints = match variable(c"COHORT_CHANGES") {
        None | Some("") => false,
        Some("print") => chosen != SYSTEM,
        Some(other) => {
            warn("CHANGES", other, " is not print; printing disabled");
            false
        }
    };
    if counts || prints {
        count::hear_locks(prints);
    }
    let counting = if counts { COUNTING } else { 0 };
    let raw = chosen | counting;
    #[cfg(feature = "compositions")]
    let raw = if chosen != SYSTEM
        && let Some(text) = variable(c"COHORT_MUTEXES")
        && let Choice::Ours(own) = meaning(chosen)
        && by_mutex::read_lines(text, (chosen, own), read_lock)
    {
        raw | ASSIGNING
    } else {
        raw
    };
    let rwlocks = if chosen == SYSTEM {
        Rwlocks::System
    } else {
        decide_rwlocks()
    };
    RWLOCKS.store(rwlocks as u8 | counting, Ordering::Relaxed);
    if let Err(theirs) =
        CHOICE.compare_exchange(UNDECIDED, raw, Ordering::AcqRel, Ordering::Acquire)
    {
        return theirs;
    }
    if counts {
        let place = named.or((chosen == DEFAULT).then_some(0));
        let name = place.and_then(catalogue::name);
        // A choice outside the catalogue is the requested composition.
        let asked = || variable(c"COHORT_LOCK").unwrap_or("");
        count::announce(name.unwrap_or_else(asked));
    }
    raw
}

/// The choice for a second lock of that name beside the process's own, and its service; none if
/// impossible. A process has one composition; [`decide`] sets it if it is the process's own lock.
#[cfg(feature = "compositions")]
pub fn read_lock(text: &str) -> Option<(u8, &'static Service)> {
    let chosen = match read(text).and_then(|name| name.servable()).ok()? {
        Servable::Listed(place) => {
            served::at(place)?;
            if place == WITHOUT_QUEUES {
                FutexHmcs::never_queue();
                DEFAULT
            } else {
                FIRST_LOCK + place as u8
            }
        }
        Servable::Stacked(recipe) => {
            set_recipe(&recipe);
            FIRST_LOCK + SERVICES.len() as u8
        }
        Servable::System => return None,
        lock if compiled::choose(&lock) => FIRST_LOCK + SERVICES.len() as u8 + 1,
        _ => return None,
    };
    match meaning(chosen) {
        Choice::Ours(service) => Some((chosen, service)),
        Choice::System => None,
    }
}

/// Longest path of a program in a list, in bytes: a lock function may run this on a small stack.
const LONGEST_PATH: usize = 3_584;

/// Whether the environment excludes this program.
#[inline(never)]
fn is_left_out() -> bool {
    let list = |name| variable_c(name).filter(|list| !list.is_empty());
    let (only, exclude) = (list(c"COHORT_ONLY"), list(c"COHORT_EXCLUDE"));
    if only.is_none() && exclude.is_none() {
        return false;
    }
    let mut buffer = [0u8; LONGEST_PATH];
    let Some(path) = readlink(c"/proc/self/exe", &mut buffer) else {
        return false;
    };
    only.is_some_and(|list| !names(list, path)) || exclude.is_some_and(|list| names(list, path))
}

/// Whether a list names the program at that path, in full or by its last part.
#[inline(never)]
fn names(list: &CStr, path: &[u8]) -> bool {
    let name = path.rsplit(|byte| *byte == b'/').next();
    let mut entries = list.to_bytes().split(|byte| *byte == b':');
    entries.any(|entry| entry == path || Some(entry) == name)
}

/// Prints that a variable of the environment (named without its prefix) has an invalid value.
#[cold]
#[inline(never)]
fn warn(variable: &str, value: &str, why: &str) {
    say_texts(&["cohort: COHORT_", variable, "=", value, why, "\n"]);
}

/// A variable of the environment, if it is UTF-8.
fn variable(name: &CStr) -> Option<&'static str> {
    variable_c(name)?.to_str().ok()
}

/// A variable of the environment, as bytes.
pub fn variable_c(name: &CStr) -> Option<&'static CStr> {
    let mut entry = environ;
    if entry.is_null() {
        return None;
    }
    let name = name.to_bytes();
    // SAFETY: the environment is a list of strings ended by null; programs
    // change it only before they have threads.
    unsafe {
        while !(*entry).is_null() {
            let text: *const c_char = *entry;
            let bytes = core::slice::from_raw_parts(text.cast::<u8>(), strlen(text));
            if bytes.starts_with(name) && bytes.get(name.len()) == Some(&b'=') {
                return Some(CStr::from_ptr(text.add(name.len() + 1)));
            }
            entry = entry.add(1);
        }
    }
    None
}
