//! System calls that the C library's locks do not make. A process may have forbidden them by a
//! filter that kills it.
//!
//! No call here tests the filter, since the test could kill: a caller that sees a filter being
//! installed reports it *before*. A filter from before the program's start is unknown; the calls
//! made at the start test it.

use super::atoms::Ordering::{Relaxed, SeqCst};
use super::atoms::{AtomicU8, AtomicU32};
use super::system::nap;

/// Calls of the locks beyond the C library's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Beyond {
    /// The barrier in all threads, by `membarrier`; without it, releases honour marks.
    Barrier = 1,
    /// Yielding, by `sched_yield`; without it, waiters sleep.
    Yield = 2,
    /// Checking whether a thread lives, by `tgkill` and `getpid`; without it, nodes of ended
    /// threads are lost.
    Search = 4,
    /// Reading a CPU's place from the kernel's files, by `openat`; without it, all CPUs not looked
    /// up before are in one place.
    Files = 8,
    /// Reading a thread's priority, by `sched_getscheduler` and `sched_getparam`; without it, a
    /// condition wakes its waiters in FIFO order.
    Priority = 16,
    /// Extending a holder's time slice, by `prctl` and `rseq_slice_yield`; without it, a holder is
    /// preempted at its end.
    Slice = 32,
}

/// The forbidden calls.
static FORBIDDEN: AtomicU8 = AtomicU8::new(0);

/// Threads about to make a forbidden call, or making it, where they can be counted.
static UNDER_WAY: AtomicU32 = AtomicU32::new(0);

/// How long [`forbid`] waits for them at most: a handler that interrupts such a thread would wait
/// for ever.
const PATIENCE: u32 = 100;
const NAP_NANOSECONDS: u64 = 100_000;

/// Whether the call is allowed.
#[inline]
pub fn is_allowed(what: Beyond) -> bool {
    FORBIDDEN.load(Relaxed) & what as u8 == 0
}

/// Makes a call that [`forbid`] waits for, unless it is forbidden; false then.
pub(super) fn if_allowed(what: Beyond, it: impl FnOnce() -> bool) -> bool {
    UNDER_WAY.fetch_add(1, SeqCst);
    let done = FORBIDDEN.load(SeqCst) & what as u8 == 0 && it();
    UNDER_WAY.fetch_sub(1, SeqCst);
    done
}

/// Forbids the locks that call. A thread about to yield may do so once more.
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
