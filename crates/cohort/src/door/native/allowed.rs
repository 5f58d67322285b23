//! System calls that the C library's locks do not make, and a process may therefore have
//! forbidden itself on pain of death, by a filter of its own.
//!
//! Nothing here asks the kernel, which could kill for the question: a caller that sees a filter
//! installed says so, *before* it is.  A filter from before the program's start is not seen;
//! the calls made at the start try it.

use super::atoms::Ordering::{Relaxed, SeqCst};
use super::atoms::{AtomicU8, AtomicU32};
use super::system::nap;

/// What the locks do beyond what the C library's do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Beyond {
    /// The barrier in all threads, by `membarrier`; without it, releases honour marks.
    Barrier = 1,
    /// Giving turns away, by `sched_yield`; without it, waiters sleep.
    Yield = 2,
    /// Finding out whether a thread lives, by `tgkill` and `getpid`; without it, what threads
    /// of the past kept is not found.
    Search = 4,
    /// Reading where a CPU is from the kernel's files, by `openat`; without it, CPUs that nobody
    /// has asked about are all in one place.
    Files = 8,
    /// Asking for a thread's priority, by `sched_getscheduler` and `sched_getparam`; without it, a
    /// condition lets its waiters go in the order in which they came.
    Priority = 16,
}

/// Those that are forbidden.
static FORBIDDEN: AtomicU8 = AtomicU8::new(0);

/// Threads that are about to make a forbidden call, or are making it; where that can be
/// counted.
static UNDER_WAY: AtomicU32 = AtomicU32::new(0);

/// How long [`forbid`] waits for those at most: a handler that interrupts one would wait for
/// ever.
const PATIENCE: u32 = 100;
const NAP_NANOSECONDS: u64 = 100_000;

/// Whether it may still be done.
#[inline]
pub fn is_allowed(what: Beyond) -> bool {
    FORBIDDEN.load(Relaxed) & what as u8 == 0
}

/// Does what [`forbid`] waits for, unless it is forbidden; false then.
pub(super) fn if_allowed(what: Beyond, it: impl FnOnce() -> bool) -> bool {
    UNDER_WAY.fetch_add(1, SeqCst);
    let done = FORBIDDEN.load(SeqCst) & what as u8 == 0 && it();
    UNDER_WAY.fetch_sub(1, SeqCst);
    done
}

/// From here on the locks do without that.  A thread that was about to give its turn away may
/// do so for the last time.
#[cold]
pub fn forbid(what: Beyond) {
    FORBIDDEN.fetch_or(what as u8, SeqCst);
    for _ in 0..PATIENCE {
        if UNDER_WAY.load(SeqCst) == 0 {
            return;
        }
        nap(NAP_NANOSECONDS);
    }
}
