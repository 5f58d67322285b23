//! The program's own platform: time, waiting and the calling CPU's place.

use super::super::Level;
use super::to_its_end;
use core::fmt;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

/// What locks need from a system without the standard library; see [`set_platform`].
///
/// Wrong answers cost time or fairness, never exclusion: the clock ends waits with deadlines, and the place
/// chooses a queue. A function that panics ends the program: a wait or a release that it unwinds would leave
/// other threads with dead nodes. It must not acquire a lock of Cohort.
///
/// ```
/// use cohort::{Platform, recipe::Level};
///
/// struct Board;
///
/// impl Platform for Board {
///     fn now() -> u64 {
///         // The cycle counter, in nanoseconds.
///         # 0
///     }
///
///     fn place(level: Level) -> usize {
///         // By the CPU's number.
///         match level {
///             Level::Numa => 1,
///             _ => 0,
///         }
///     }
/// }
/// ```
pub trait Platform {
    /// Nanoseconds on a clock that is not set back. While it stands still, no deadline passes.
    fn now() -> u64;

    /// Passes a little time of a wait, on the same CPU.
    fn pause() {
        core::hint::spin_loop();
    }

    /// Passes a little time of a longer wait: lets the CPU run something else, if there is a scheduler.
    fn yield_now() {
        Self::pause();
    }

    /// The number of the calling CPU's group at that level, from 0. Beyond 16, groups share.
    fn place(_level: Level) -> usize {
        0
    }

    /// The distance of two groups of [`Level::Numa`]; 10 is the same group.
    fn distance(one: usize, other: usize) -> u8 {
        if one == other { 10 } else { 20 }
    }
}

/// A platform's functions.
struct Calls {
    now: fn() -> u64,
    pause: fn(),
    yield_now: fn(),
    place: fn(Level) -> usize,
    distance: fn(usize, usize) -> u8,
}

trait HasCalls {
    const CALLS: Calls;
}

impl<P: Platform> HasCalls for P {
    const CALLS: Calls = Calls {
        now: P::now,
        pause: P::pause,
        yield_now: P::yield_now,
        place: P::place,
        distance: P::distance,
    };
}

/// Before the program sets its own: the clock stands still.
struct Unset;

impl Platform for Unset {
    fn now() -> u64 {
        1
    }
}

/// Relaxed, since the functions are never written: no data must be seen with their address.
static PLATFORM: AtomicPtr<Calls> = AtomicPtr::new(ptr::null_mut());

/// The program has a platform already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlatformIsSet;

impl fmt::Display for PlatformIsSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the program has a platform already")
    }
}

impl core::error::Error for PlatformIsSet {}

/// Sets the program's platform, once and for all locks. Before, waiters spin and no deadline passes.
///
/// # Errors
/// If it is set already.
pub fn set_platform<P: Platform>() -> Result<(), PlatformIsSet> {
    let calls: &'static Calls = &<P as HasCalls>::CALLS;
    let calls = ptr::from_ref(calls).cast_mut();
    let set =
        PLATFORM.compare_exchange(ptr::null_mut(), calls, Ordering::Relaxed, Ordering::Relaxed);
    set.map(|_| ()).map_err(|_| PlatformIsSet)
}

#[inline]
fn calls() -> &'static Calls {
    // SAFETY: null, or the address of a constant, which lives for ever and is never written.
    let set = unsafe { PLATFORM.load(Ordering::Relaxed).as_ref() };
    set.unwrap_or(&<Unset as HasCalls>::CALLS)
}

/// Nanoseconds on the platform's clock; never 0.
#[inline]
#[must_use]
pub fn now() -> u64 {
    // Far from the end of the counter, so that no deadline overflows.
    to_its_end(true, calls().now).clamp(1, u64::MAX / 2)
}

pub(super) fn pause() {
    to_its_end(true, calls().pause);
}

/// Yields the CPU, if there is a scheduler.
pub fn yield_now() {
    to_its_end(true, calls().yield_now);
}

/// Cohorts of a level; further ones share. A tree of queues takes a node of a [pool](super::pool) for each.
const COHORTS: usize = 16;

/// The cohort of the calling CPU at that level.
#[inline]
#[must_use]
pub fn cohort(level: Level) -> usize {
    to_its_end(true, || (calls().place)(level)) % COHORTS
}

/// The distance of two cohorts of [`Level::Numa`].
#[inline]
#[must_use]
pub fn distance(one: usize, other: usize) -> u8 {
    to_its_end(true, || (calls().distance)(one, other))
}
