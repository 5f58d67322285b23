//! The worlds a workload can run in, and all that it sees of them.
//!
//! A workload is written once, over [`World`]: it asks for memory and locks, then
//! lets threads run, each of which acts through its [`Actor`].  [`native`] is this
//! machine; [`simulated`] is one that is described by a file, on a virtual clock.  Time is counted
//! in cycles of the world's clock everywhere.

pub mod disturb;
mod heard;
pub mod in_mode;
pub mod names;
pub mod native;
pub mod placement;
pub mod raw;
pub mod served;
pub mod simulated;
pub mod topology;
mod trees;
mod tunings;
pub mod wait;
pub mod work;

pub use heard::{Changes, Heard};
pub use placement::Placement;
pub use raw::{Block, Room, Tested};
pub use simulated::Facts;
pub use topology::Topology;
pub use tunings::Tunings;
pub use wait::Wait;

use cohort::{Counter, Deadline};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The words of a cache line that a workload uses.
pub const WORDS: usize = 8;

/// The name of no lock at all, for workloads that exclude by themselves.
pub const NO_LOCK: &str = "none";

/// Looks of [`Actor::poll`] without a pause: more than a line takes to arrive from
/// anywhere, and soon over where the other thread has no CPU.
const LOOKS: u32 = 1 << 10;

/// Shared memory: lines of [`WORDS`] words.  Whether a word may be touched by
/// several threads at once is up to the workload's locks; a race gives some value
/// that was written.
pub trait Memory: Send + Sync + 'static {
    /// Reads a word: one access.
    ///
    /// # Panics
    /// If there is no such word.
    fn read(&self, line: usize, word: usize) -> u64;

    /// Writes a word: one access.
    ///
    /// # Panics
    /// If there is no such word.
    fn write(&self, line: usize, word: usize, value: u64);

    /// Adds to a word, atomically; returns what it was: one access.
    ///
    /// # Panics
    /// If there is no such word.
    fn add(&self, line: usize, word: usize, value: u64) -> u64;

    /// Keeps `value` beside a line, and returns what was kept there before: a note
    /// for those that count, which costs nothing where time is simulated.  Call it
    /// while holding the lock that guards the line.
    ///
    /// # Panics
    /// If there is no such line.
    fn note(&self, line: usize, value: u64) -> u64;
}

/// What one thread does to its world.
pub trait Actor {
    /// The time, in cycles.
    fn now(&self) -> u64;

    /// Computes for that many cycles, touching no shared memory.
    fn work(&mut self, cycles: u64);

    /// Loops idly for that many cycles by the clock, however fast the CPU computes meanwhile.
    fn idle(&mut self, cycles: u64);

    /// Leaves the CPU to others until that time.  Blocks.
    fn sleep_until(&mut self, at: u64);

    /// Looks again and again, without a pause at first, until `ready` holds.  Blocks.
    fn poll(&mut self, ready: impl FnMut() -> bool);

    /// Whether the measurement is still going on.
    fn goes_on(&self) -> bool;

    /// Whether what is done now counts: not while a simulated machine warms up, nor after the end.
    fn counts(&self) -> bool;

    /// Whether a simulated machine's warm-up is over.
    fn has_begun(&self) -> bool;

    /// The CPU that this thread runs on.
    fn cpu(&self) -> usize;

    /// The point that many cycles from now, on the clock that patience is read on.
    fn deadline(&self, cycles: u64) -> Deadline;

    /// Whether this acquisition's times are to be kept.
    fn is_timed(&self, acquisition: u64) -> bool;

    /// Reports that this thread begins to wait for a lock.
    fn waits(&mut self);

    /// Reports that this wait has ended: by an acquisition, or without one.
    fn has_waited(&mut self);

    /// Tells that this thread has the lock of that number.
    fn entered(&mut self, lock: usize);

    /// Reports that this thread reads beside others.
    fn shares(&mut self);

    /// Tells that this thread has given up waiting for a lock.
    fn gave_up(&mut self);

    /// How often locks have counted that of this thread; 0 where they count nothing.
    fn counted(&self, what: Counter) -> u64;
}

/// Whether a machine has CPUs for so many threads, and others for so many servers, where there are
/// any.
fn spare(topology: &Topology, threads: usize, servers: usize) -> Result<(), String> {
    let cpus = topology.cpus().len();
    if servers == 0 || threads + servers <= cpus {
        return Ok(());
    }
    Err(format!(
        "{threads} threads leave none of the {cpus} CPUs to the lock's {servers} {}; take fewer",
        if servers == 1 { "server" } else { "servers" }
    ))
}

/// A place to run a workload in, once.
pub trait World: Room + Sized + 'static {
    /// Its memory.
    type Memory: Memory;
    /// What its threads act through.
    type Actor: Actor;

    /// Cycles a second.
    fn hertz(&self) -> f64;

    /// Its CPUs and their cohorts.
    fn topology(&self) -> &Topology;

    /// That many lines of zeroes.
    fn memory(&mut self, lines: usize) -> Arc<Self::Memory>;

    /// A line that costs nothing to make notes on; `None` where there is no such
    /// thing.
    fn margin(&mut self) -> Option<Arc<Self::Memory>>;

    /// A fresh lock with contexts for that many threads; `None` if the catalogue
    /// has no lock of that name.
    fn lock(&mut self, name: &str, threads: usize) -> Option<Arc<dyn Tested>>;

    /// Runs `body` in `threads` threads, each with its number and its part of the result, until they
    /// return; after the measurement's time [`Actor::goes_on`] says no.  A simulated thread that does not
    /// return long after that is given up; its part is what `body` has made of it by then.  Blocks.
    ///
    /// # Errors
    /// Why the threads could not run, or what stopped them.
    fn play<R: Default + Send + 'static>(
        self,
        threads: usize,
        body: impl Fn(usize, Self::Actor, &mut R) + Send + Sync + 'static,
    ) -> Result<Played<R>, String>;
}

/// How a run went.
#[derive(Debug)]
pub struct Played<R> {
    /// What each thread made of its part.
    pub parts: Vec<R>,
    /// Threads that did not return and were given up.
    pub unfinished: usize,
    /// For how many cycles each of those had waited for a lock when the measurement ended.
    pub unended: Vec<u64>,
    /// How long the measurement took, in cycles.
    pub cycles: u64,
    /// The share of the CPUs' time that others used, where that is known.
    pub foreign: Option<f64>,
    /// What only a simulated machine can tell.
    pub simulated: Option<Facts>,
    /// What locks counted of themselves there, by its name.
    pub tallies: BTreeMap<&'static str, u64>,
    /// What locks that adapt said of their modes.
    pub heard: Heard,
}
