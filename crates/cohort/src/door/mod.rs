//! The platform layer: all that a lock needs from its environment.
//!
//! Atomics and cells, memory orders, time, threads, sleeping, memory for nodes. It has one of five
//! backends (`world`), chosen by the package that compiles these sources (`build.rs` of each sets
//! `world`, and `checker` in the last two):
//!
//! | world | package | what it is |
//! |---|---|---|
//! | `native` | `cohort` | this machine: `core::sync::atomic`, futex, `mmap` |
//! | `portable` | `cohort` | any machine by the standard library alone; see `build.rs` |
//! | `platform` | `cohort` | any machine by the program's `Platform`, without the standard library |
//! | `loom` | `cohort-on-loom` | the loom model checker: every execution of a small client |
//! | `machine` | `cohort-on-machine` | the simulated machine: fibers on a virtual clock |
//!
//! Lock code names no world and is under no `cfg`.

mod absence;
mod cache;
mod change;
#[cfg(internals)]
pub mod cohorts;
#[cfg(not(internals))]
mod cohorts;
mod flaw;
mod order;
mod patience;
pub mod recorder;
mod tally;
#[cfg(not(world = "machine"))]
mod uncounted;
#[cfg(not(world = "native"))]
mod unextended;
#[cfg(checker)]
mod unmoved;
#[cfg(not(observed))]
mod unobserved;

#[cfg(world = "native")]
#[path = "native/mod.rs"]
mod world;

#[cfg(world = "portable")]
#[path = "portable/mod.rs"]
mod world;

#[cfg(world = "platform")]
#[path = "platform/mod.rs"]
mod world;

#[cfg(world = "loom")]
#[path = "loom/mod.rs"]
mod world;

#[cfg(world = "machine")]
#[path = "machine/mod.rs"]
mod world;

/// Used by other packages of this project too.
macro_rules! internal {
    ($([$($path:tt)+])+) => {$(
        #[cfg(internals)]
        pub use $($path)+;
        #[cfg(not(internals))]
        pub(crate) use $($path)+;
    )+};
}

internal! {
    [absence::{Absence, Shown}]
    [cache::{Cache, Opened}]
    [change::{Change, Observer, Mode}]
    [cohort_raw::Counter]
    [cohort_raw::recipe::Level]
    [flaw::Flaw]
    [recorder::{Call, CallSite, Doing, How, Recorder}]
    [order::{Order, Strength}]
    [patience::{at_most, runs_out, sleep_unless_starved, sleep_within}]
    [tally::Tallied]
    [world::*]
}

pub(crate) use change::AsItIs;
#[cfg(checker)]
pub use flaw::FLAWS;
#[cfg(world = "machine")]
pub use flaw::POLICIES;
pub(crate) use flaw::{flaws, policies};
#[cfg(checker)]
pub use order::ORDERS;
pub(crate) use order::orders;
#[cfg(all(internals, not(world = "machine")))]
pub use uncounted::{count, tally, tally_moment, tally_state};
#[cfg(all(not(internals), not(world = "machine")))]
pub(crate) use uncounted::{count, tally, tally_moment, tally_state};
#[cfg(not(world = "native"))]
pub(crate) use unextended::{
    ends_extension, extends_slices, is_quiet_time, is_special_release, request_extension,
    return_extension,
};
#[cfg(checker)]
pub use unmoved::{Home, to_its_end};
#[cfg(not(observed))]
pub use unobserved::{call_site, may_be_observed, recorder};
/// The clock of deadlines: see [`Deadline::monotonic`](cohort_raw::Deadline::monotonic).
pub use world::now;
#[cfg(world = "platform")]
pub use world::{Platform, PlatformIsSet, set_platform};

/// The bytes of the smallest page.
pub const PAGE: usize = 4096;

/// NUMA nodes that [`distance`] tells apart; those beyond share.
pub const NODES: usize = 64;

/// Blocks until other threads have left memory that the caller drops, as `is_left` reports. Returns
/// at once where no other thread goes on, as after a failed run of the simulated machine.
pub(crate) fn outlast(is_left: impl Fn() -> bool) {
    let mut spinner = Spinner::new();
    while !is_left() && others_go_on() {
        spinner.turn();
    }
}

/// Bits of the kernel's thread number in a thread's own number: Linux gives no higher ones.
pub(crate) const ID_BITS: u32 = 22;

/// Whether the thread of that [number](thread_number) has ended. Also false while a third thread
/// has the kernel's number that it had.
#[must_use]
pub fn has_ended(number: u64) -> bool {
    const ID: u64 = (1 << ID_BITS) - 1;
    let me = thread_number();
    if (number ^ me) & ID == 0 {
        return number != me;
    }
    is_gone((number & ID) as u32)
}

/// How a waiter looks at a word; see [`Spinner`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// By a load.
    Load,
    /// By a read-modify-write that writes the value found, unless the wait is over.
    Update,
    /// By a comparison that fails, unless the wait is over.
    Compare,
}

/// What to do next in a wait; see [`Spinner`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// Look again.
    Again,
    /// Spinning no longer pays: sleep, if the caller can.
    Sleep,
}

/// For how many nanoseconds a waiter that cannot sleep lends its CPU, after `before` loans: a sleep
/// that only its timeout ends.
///
/// A yielded turn does not reach every thread: under a real-time policy it never reaches a thread
/// of lower priority. A loan does. Doubling it at most doubles the wait.
#[cfg_attr(
    world = "loom",
    expect(dead_code, reason = "no time passes in a model")
)]
const fn loan(before: u32) -> u64 {
    const FIRST: u64 = 20_000;
    const LONGEST: u64 = 1_000_000;
    let doubled = FIRST << if before < 6 { before } else { 6 };
    if doubled < LONGEST { doubled } else { LONGEST }
}

/// Draws a sample of one in `one_in`, a power of two above 1, by the first bits of the thread's
/// next pseudo-random number.
#[cfg_attr(world = "loom", expect(dead_code, reason = "a model counts all"))]
#[inline(always)]
fn draws(lots: &core::cell::Cell<u32>, one_in: u32) -> bool {
    let next = lots
        .get()
        .wrapping_mul(1_664_525)
        .wrapping_add(1_013_904_223);
    lots.set(next);
    next >> (u32::BITS - one_in.ilog2()) == 0
}

/// How waiters wait after a failed first look; chosen at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum WaitPolicy {
    /// Spin for a bounded time, yield for a few turns, then sleep.
    Park = 0,
    /// Spin for a bounded time, then yield the CPU at every look; after many thousands, nap between
    /// looks.
    Spin = 1,
    /// Yield the CPU at every look; after many thousands, nap as well.
    Yield = 2,
}

/// How the CPU watches a word for a waiter; see the native backend's `monitor`. The checkers'
/// backends have none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Monitor {
    /// Not at all: waiters pause between looks.
    Missing = 0,
    /// x86-64's UMWAIT, up to the waiter's bound.
    Umwait = 1,
    /// aarch64's WFET, up to the waiter's bound.
    Wfet = 2,
    /// aarch64's WFE, with the kernel's bound of a hundred microseconds. Therefore only under
    /// [`WaitPolicy::Spin`], where each thread has a CPU to itself.
    Wfe = 3,
}

/// How a sleep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slept {
    /// A waker took this thread from its sleep; the thread must handle the wake-up.
    Woken,
    /// The word had changed already, or a signal arrived: look again.
    Again,
    /// The deadline passed with no waker.
    TimedOut,
}
