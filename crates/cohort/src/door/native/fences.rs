//! An asymmetric pair of fences: one side is free.
//!
//! [`fence_everywhere`] makes every running thread of the process execute a full
//! barrier, so the other side of a store-then-load agreement needs none of its own:
//! [`fence_here`] only keeps the compiler from reordering.

use super::super::{AtomicU32, Order};
use super::allowed::{Beyond, if_allowed, is_allowed};
use super::atoms::{AtomicU8, Ordering, compiler_fence};
use super::extension::STANDS;
use super::kernel::{call, number};
use super::system::{be_impatient, nap};
use super::thread::thread;

/// Quiet releases before a lock becomes quick (released by a plain store), where that mode has been
/// revoked. A revocation costs up to some ten microseconds, so the mode must last about a hundred.
const QUIET_RELEASES: u32 = 8192;

/// The same without revocations since the thread's last one. To begin the mode costs tens of
/// nanoseconds, a fraction of one per release. In a program with thousands of mutexes, most become
/// quick after so many releases of each.
const CALM_RELEASES: u32 = 256;

const UNKNOWN: u8 = 0;
const AVAILABLE: u8 = 1;
const MISSING: u8 = 2;

/// Whether the kernel permits the barrier.
static BARRIER: AtomicU8 = AtomicU8::new(UNKNOWN);

const CMD_PRIVATE_EXPEDITED: usize = 8;
const CMD_REGISTER_PRIVATE_EXPEDITED: usize = 16;

fn membarrier(command: usize) -> bool {
    // SAFETY: the call orders memory and touches none.
    let it = || unsafe { call(number::MEMBARRIER, [command, 0, 0, 0, 0, 0]) == 0 };
    if_allowed(Beyond::Barrier, it)
}

/// How often the quick mode was revoked in this process; it wraps.
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

/// The expensive side: a full barrier in every running thread; or at least, from here on sleepers
/// wake up periodically until an equivalent time has passed.
pub fn fence_everywhere(_agreement: Order) {
    if membarrier(CMD_PRIVATE_EXPEDITED) {
        return;
    }
    // A forked child must register again.
    if membarrier(CMD_REGISTER_PRIVATE_EXPEDITED) && membarrier(CMD_PRIVATE_EXPEDITED) {
        return;
    }
    // The process gave up the right after it had it. A thread that was running enters the kernel by
    // the end of its time slice, which publishes its stores; until then sleepers do not rely on
    // wakes.
    BARRIER.store(MISSING, Ordering::Relaxed);
    be_impatient(PASSED_NANOSECONDS);
}

/// [`fence_everywhere`], where nothing else helps: without the kernel's barrier, returns after that
/// time.
pub fn fence_everywhere_for_certain(agreement: Order) {
    fence_everywhere(agreement);
    if BARRIER.load(Ordering::Relaxed) == MISSING {
        nap(PASSED_NANOSECONDS);
    }
}

/// Whether the kernel's barrier is available.
#[must_use]
pub fn has_barrier() -> bool {
    match BARRIER.load(Ordering::Relaxed) {
        UNKNOWN => register(),
        state => state == AVAILABLE && is_allowed(Beyond::Barrier),
    }
}

/// Upper bound of a time slice.
const PASSED_NANOSECONDS: u64 = 100_000_000;

/// Whether the calling thread has released often enough without contention that the quick mode may
/// pay; never without the kernel's barrier.
#[inline(always)]
pub fn is_long_quiet() -> bool {
    is_special_release() && is_quiet_time()
}

/// Counts a release of the calling thread; whether it [begins a quick mode](is_quiet_time), or
/// another release with a [request](super::request_extension) may end that.
#[inline(always)]
pub fn is_special_release() -> bool {
    let quiet = &thread().quiet;
    let count = quiet.get().wrapping_add(1);
    quiet.set(count);
    count >= QUIET_RELEASES
}

/// After a special release: whether the calling thread's releases have long been uncontended.
#[cold]
pub fn is_quiet_time() -> bool {
    let thread = thread();
    let stands = thread.quiet.get() & STANDS;
    if thread.quiet.get() - stands < QUIET_RELEASES {
        return false;
    }
    let revoked = revocations().load(Order::RELAXED);
    let calm = thread.revoked.replace(revoked) == revoked;
    let ahead = if calm {
        QUIET_RELEASES - CALM_RELEASES
    } else {
        0
    };
    thread.quiet.set(ahead | stands);
    has_barrier()
}

/// Registers for the kernel's barrier; returns whether it may be used. A single-threaded process
/// gets the answer in microseconds, any other in up to twenty milliseconds, since the kernel waits
/// for all CPUs.
pub(super) fn register() -> bool {
    let available = membarrier(CMD_REGISTER_PRIVATE_EXPEDITED);
    let state = if available { AVAILABLE } else { MISSING };
    BARRIER.store(state, Ordering::Relaxed);
    available
}
