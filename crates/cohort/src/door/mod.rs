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
pub mod cohorts;
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

pub use absence::{Absence, Shown};
pub use cache::{Cache, Opened};
pub(crate) use change::AsItIs;
pub use change::{Change, Hearer, Mode};
pub use cohort_raw::Counter;
pub use cohort_raw::recipe::Level;
#[cfg(not(world = "native"))]
pub use flaw::FLAWS;
pub use flaw::Flaw;
pub(crate) use flaw::flaws;
#[cfg(not(world = "native"))]
pub use order::ORDERS;
pub(crate) use order::orders;
pub use order::{Order, Strength};
pub use patience::{Bed, runs_out, sleep_by, sleep_within};
pub use tally::Tallied;
#[cfg(not(world = "machine"))]
pub use uncounted::{count, tally, tally_moment, tally_state};
#[cfg(not(world = "native"))]
pub use unmoved::{Home, to_its_end};
pub use world::*;

/// The bytes of the smallest page.
pub const PAGE: usize = 4096;

/// NUMA nodes that [`distance`] tells apart; those beyond share.
pub const NODES: usize = 64;

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
