//! Which lock serves this process, as the environment says.
//!
//! | variable | meaning |
//! |---|---|
//! | `COHORT_LOCK` | a name or alias of the catalogue, or `system`; the default lock if unset |
//! | `COHORT_WAIT` | `park`, `spin` or `yield` |
//! | `COHORT_COHORTS` | cohorts that locks are told instead of the machine's; see `cohort::door::cohorts` |
//! | `COHORT_ONLY` | programs to serve, separated by colons: file names, or whole paths |
//! | `COHORT_EXCLUDE` | programs not to serve |
//! | `COHORT_REPORT` | a file to count in; see `cohort::report` |
//!
//! It is decided once, by whichever call comes first, be it from a constructor
//! that runs before ours.

use crate::count;
use crate::libc::{environ, keeping_errno, readlink, say, strlen};
use cohort::catalogue;
use cohort::door::{WaitPolicy, set_cohorts, set_policy};
use core::ffi::{CStr, c_char};
use core::sync::atomic::{AtomicU8, Ordering};

macro_rules! choices {
    ($($name:ident, $lock:ty, $placement:ident, $alias:tt, $about:literal,
       $source:literal, $capabilities:tt;)+) => {
        /// What serves the process.
        #[allow(non_camel_case_types, reason = "locks are named as the papers name them")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Choice {
            /// Nobody has asked yet.
            Undecided,
            /// The C library: the process is excluded.
            System,
            $(#[doc = $about] $name,)+
        }

        impl Choice {
            const ALL: &[Self] = &[Self::Undecided, Self::System, $(Self::$name),+];

            fn of(name: &str) -> Option<Self> {
                match name {
                    $(stringify!($name) => Some(Self::$name),)+
                    _ => None,
                }
            }
        }
    };
}
cohort::for_each_lock!(choices);

static CHOICE: AtomicU8 = AtomicU8::new(Choice::Undecided as u8);

/// Set, beside the choice, while acquisitions are counted; so the fast path's
/// one comparison excludes that too.
const COUNTING: u8 = 0x80;

/// Whether the default lock serves and nobody counts: the fast path.
#[inline(always)]
pub fn is_plain_futex() -> bool {
    CHOICE.load(Ordering::Relaxed) == Choice::futex as u8
}

/// Whether we serve the process, with whichever lock, and nobody counts.
#[inline(always)]
pub fn is_plain() -> bool {
    (Choice::System as u8 + 1..COUNTING).contains(&CHOICE.load(Ordering::Relaxed))
}

/// The lock of ours that serves the process, if nobody counts.
#[inline(always)]
pub fn plain() -> Option<Choice> {
    let raw = CHOICE.load(Ordering::Relaxed);
    if raw <= Choice::System as u8 {
        return None;
    }
    Choice::ALL.get(usize::from(raw)).copied()
}

/// What serves the process, and whether acquisitions are counted.
#[inline]
pub fn choice() -> (Choice, bool) {
    let raw = match CHOICE.load(Ordering::Acquire) {
        0 => keeping_errno(decide),
        raw => raw,
    };
    (
        Choice::ALL[usize::from(raw & !COUNTING)],
        raw & COUNTING != 0,
    )
}

/// Whether this process is left to the C library.
#[inline]
pub fn is_system() -> bool {
    choice().0 == Choice::System
}

/// Runs when the library is loaded, so that a program that never locks is proved
/// to be served too.
#[used]
#[unsafe(link_section = ".init_array")]
static ANNOUNCE: extern "C" fn() = {
    extern "C" fn announce() {
        choice();
    }
    announce
};

/// Two threads may decide at once; they read the same environment, and only the
/// first decision stands.
#[cold]
fn decide() -> u8 {
    let mut chosen = Choice::futex;
    if let Some(name) = variable(c"COHORT_LOCK").filter(|name| !name.is_empty()) {
        let canonical = catalogue::find(name).map_or(name, |lock| lock.identifier);
        match (canonical, Choice::of(canonical)) {
            ("system" | "posix", _) => chosen = Choice::System,
            (_, Some(choice)) => chosen = choice,
            (_, None) => say(format_args!(
                "cohort: COHORT_LOCK={name} names no lock (see `cohort list`); using futex\n"
            )),
        }
    }
    if is_left_out() {
        chosen = Choice::System;
    }
    match variable(c"COHORT_WAIT") {
        None | Some("" | "park") => {}
        Some("spin") => set_policy(WaitPolicy::Spin),
        Some("yield") => set_policy(WaitPolicy::Yield),
        Some(other) => say(format_args!(
            "cohort: COHORT_WAIT={other} is none of park, spin, yield; using park\n"
        )),
    }
    if let Some(text) = variable(c"COHORT_COHORTS")
        && let Err(mistake) = set_cohorts(text)
    {
        say(format_args!(
            "cohort: COHORT_COHORTS, {mistake}; using the machine's cohorts\n"
        ));
    }
    let mut raw = chosen as u8;
    let report = variable_c(c"COHORT_REPORT");
    let counts = chosen != Choice::System && report.is_some_and(count::can_open);
    if counts {
        raw |= COUNTING;
    }
    match CHOICE.compare_exchange(0, raw, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => {
            if counts {
                count::announce(catalogue::LOCKS[chosen as usize - 2].name);
            }
            raw
        }
        Err(theirs) => theirs,
    }
}

/// Whether the environment leaves this program out.
fn is_left_out() -> bool {
    let only = variable(c"COHORT_ONLY").filter(|list| !list.is_empty());
    let exclude = variable(c"COHORT_EXCLUDE").filter(|list| !list.is_empty());
    if only.is_none() && exclude.is_none() {
        return false;
    }
    let mut buffer = [0u8; 4096];
    // SAFETY: the buffer is as long as said.
    let length = unsafe {
        readlink(
            c"/proc/self/exe".as_ptr(),
            buffer.as_mut_ptr(),
            buffer.len(),
        )
    };
    let Some(path) = usize::try_from(length)
        .ok()
        .and_then(|length| core::str::from_utf8(&buffer[..length]).ok())
    else {
        return false;
    };
    let name = path.rsplit('/').next().unwrap_or(path);
    let names = |list: &str| {
        list.split(':')
            .any(|entry| entry == name || (entry.contains('/') && entry == path))
    };
    only.is_some_and(|list| !names(list)) || exclude.is_some_and(names)
}

/// A variable of the environment, if it is text.
fn variable(name: &CStr) -> Option<&'static str> {
    variable_c(name)?.to_str().ok()
}

fn variable_c(name: &CStr) -> Option<&'static CStr> {
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
