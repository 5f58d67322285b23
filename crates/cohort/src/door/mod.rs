//! The one door: everything a lock takes from the world goes through here.
//!
//! Atomics and cells, memory orders, time, threads, sleeping, memory for nodes.
//! The door opens onto one of three worlds, chosen by the package that compiles
//! these sources (`build.rs` of each sets `world`):
//!
//! | world | package | what it is |
//! |---|---|---|
//! | `native` | `cohort` | this machine: `core::sync::atomic`, futex, `mmap` |
//! | `loom` | `cohort-on-loom` | the loom model checker: every interleaving and reordering of a small client |
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
mod tally;
#[cfg(not(world = "machine"))]
mod uncounted;
#[cfg(not(world = "native"))]
mod unmoved;

#[cfg(world = "native")]
#[path = "native/mod.rs"]
mod world;

#[cfg(world = "loom")]
#[path = "loom/mod.rs"]
mod world;

#[cfg(world = "machine")]
#[path = "machine/mod.rs"]
mod world;

/// What other packages of this project use too.
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
    [change::{Change, Hearer, Mode}]
    [cohort_raw::Counter]
    [cohort_raw::recipe::Level]
    [flaw::Flaw]
    [order::{Order, Strength}]
    [patience::{at_most, runs_out, sleep_unless_starved, sleep_within}]
    [tally::Tallied]
    [world::*]
}

pub(crate) use change::AsItIs;
#[cfg(not(world = "native"))]
pub use flaw::FLAWS;
#[cfg(world = "machine")]
pub use flaw::POLICIES;
pub(crate) use flaw::{flaws, policies};
#[cfg(not(world = "native"))]
pub use order::ORDERS;
pub(crate) use order::orders;
#[cfg(all(internals, not(world = "machine")))]
pub use uncounted::{count, tally, tally_moment, tally_state};
#[cfg(all(not(internals), not(world = "machine")))]
pub(crate) use uncounted::{count, tally, tally_moment, tally_state};
#[cfg(not(world = "native"))]
pub use unmoved::{Home, to_its_end};
/// The clock of deadlines: see [`Deadline::monotonic`](cohort_raw::Deadline::monotonic).
pub use world::now;

/// The bytes of the smallest page.
pub const PAGE: usize = 4096;

/// NUMA nodes that [`distance`] tells apart; those beyond share.
pub const NODES: usize = 64;

/// Blocks until other threads have left what the caller drops, as `is_left` says; not where no other
/// thread goes on, as behind a run of the simulated machine that has failed.
pub(crate) fn outlast(is_left: impl Fn() -> bool) {
    let mut spinner = Spinner::new();
    while !is_left() && others_go_on() {
        spinner.turn();
    }
}

/// Bits of the kernel's number of a thread, in its own number: Linux gives no higher ones.
pub(crate) const ID_BITS: u32 = 22;

/// Whether the thread of that [number](thread_number) has ended.  False, too, while a third thread
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

/// What a step of waiting advises next; see [`Spinner`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// Look again.
    Again,
    /// Spinning no longer pays: sleep, if the caller can.
    Sleep,
}

/// For how many nanoseconds a waiter that cannot sleep lends its CPU, which it has lent that
/// many times before: it sleeps all the same, and nobody wakes it.
///
/// A turn that a thread gives away does not reach every other: under a real-time policy none
/// ever reaches a thread of lower priority.  A loan does, and doubling it keeps the wait from
/// becoming more than twice as long.
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

/// Draws lots, of which one in `one_in` wins, a power of two above 1: the first bits of the next of
/// the numbers that follow from a thread's own.
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

/// How waiters wait once the first look failed; chosen at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum WaitPolicy {
    /// Spin for a bounded time, yield for a few turns, then sleep.
    Park = 0,
    /// Spin for a bounded time, then yield the CPU at every look; after many thousands, nap for
    /// a moment between looks.
    Spin = 1,
    /// Yield the CPU at every look; after many thousands, nap as well.
    Yield = 2,
}

/// How the CPU watches a word for a waiter; see the native world's `monitor`.  The
/// checkers' worlds have no such thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Monitor {
    /// Not at all: waiters pause between looks.
    Missing = 0,
    /// x86-64's UMWAIT, within the bound that the waiter has.
    Umwait = 1,
    /// aarch64's WFET, within the bound that the waiter has.
    Wfet = 2,
    /// aarch64's WFE, whose bound of a hundred microseconds is the kernel's; so only under
    /// [`WaitPolicy::Spin`], where each thread has a CPU to itself.
    Wfe = 3,
}

/// How a sleep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slept {
    /// A waker took this thread from its sleep, so it owes the wake an answer.
    Woken,
    /// The word had changed already, or a signal arrived: look again.
    Again,
    /// The deadline passed with no waker.
    TimedOut,
}
