//! A pair of fences of which one is free.
//!
//! [`fence_everywhere`] makes every running thread of the process execute a full
//! barrier, so the other side of a store-then-load agreement needs none of its own:
//! [`fence_here`] only keeps the compiler from reordering.

use super::super::{AtomicU32, Order};
use super::allowed::{Beyond, if_allowed, is_allowed};
use super::atoms::{AtomicU8, Ordering, compiler_fence};
use super::system::{be_impatient, call, number};
use super::thread::thread;

/// One quiet release in so many makes its lock quick, where quick times are revoked.  Calling one off
/// costs up to some ten microseconds, so it has to last about a hundred.
const QUIET_RELEASES: u32 = 8192;

/// The same where none has been revoked since the thread's last one.  To begin one costs tens of
/// nanoseconds, a fraction of one for each of so many releases; a program with thousands of mutexes
/// has most of them quick after that many releases of each.
const CALM_RELEASES: u32 = 256;

const UNKNOWN: u8 = 0;
const AVAILABLE: u8 = 1;
const MISSING: u8 = 2;

/// Whether the kernel lets this process use the barrier.
static BARRIER: AtomicU8 = AtomicU8::new(UNKNOWN);

const CMD_PRIVATE_EXPEDITED: usize = 8;
const CMD_REGISTER_PRIVATE_EXPEDITED: usize = 16;

fn membarrier(command: usize) -> bool {
    // SAFETY: the call orders memory and touches none.
    let it = || unsafe { call(number::MEMBARRIER, [command, 0, 0, 0, 0, 0]) == 0 };
    if_allowed(Beyond::Barrier, it)
}

/// How often a quick time has been revoked in this process; it wraps.
#[inline(always)]
#[must_use]
pub fn revocations() -> &'static AtomicU32 {
    static REVOCATIONS: AtomicU32 = AtomicU32::new(0);
    &REVOCATIONS
}

/// The cheap side: stores before it and loads after it are ordered with respect
/// to any thread's [`fence_everywhere`].
#[inline(always)]
pub fn fence_here(_agreement: Order) {
    compiler_fence(Ordering::SeqCst);
}

/// The dear side: a full barrier in this thread and in every other that runs; or at least,
/// from here on sleepers look for themselves until it is as good as passed.
pub fn fence_everywhere(_agreement: Order) {
    if membarrier(CMD_PRIVATE_EXPEDITED) {
        return;
    }
    // A forked child has to register anew.
    if membarrier(CMD_REGISTER_PRIVATE_EXPEDITED) && membarrier(CMD_PRIVATE_EXPEDITED) {
        return;
    }
    // The process gave the right away after it had it.  A thread that was
    // running has passed through the kernel once its time slice ended, and what it had stored is
    // seen long before; until then nobody relies on a wake.
    BARRIER.store(MISSING, Ordering::Relaxed);
    be_impatient(PASSED_NANOSECONDS);
}

/// As long as a time slice lasts at most.
const PASSED_NANOSECONDS: u64 = 100_000_000;

/// Whether the calling thread has released so often without a thought that a
/// plain store may be worth an agreement; never, if the kernel has no barrier.
#[inline(always)]
pub fn is_long_quiet() -> bool {
    let quiet = &thread().quiet;
    let count = quiet.get() + 1;
    quiet.set(count);
    count >= QUIET_RELEASES && start_over()
}

#[cold]
fn start_over() -> bool {
    let thread = thread();
    let revoked = revocations().load(Order::RELAXED);
    let calm = thread.revoked.replace(revoked) == revoked;
    let ahead = if calm {
        QUIET_RELEASES - CALM_RELEASES
    } else {
        0
    };
    thread.quiet.set(ahead);
    match BARRIER.load(Ordering::Relaxed) {
        UNKNOWN => register(),
        state => state == AVAILABLE && is_allowed(Beyond::Barrier),
    }
}

/// Asks the kernel for the barrier; whether it may be used.  A process with one thread has the
/// answer in microseconds, any other in up to twenty milliseconds, for which the kernel waits
/// for all its CPUs.
pub(super) fn register() -> bool {
    let available = membarrier(CMD_REGISTER_PRIVATE_EXPEDITED);
    let state = if available { AVAILABLE } else { MISSING };
    BARRIER.store(state, Ordering::Relaxed);
    available
}
