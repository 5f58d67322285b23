//! Worlds: the places that workloads run in, and the interface between them.
//!
//! A workload is written once, over [`World`]: it requests memory and locks, then starts threads,
//! each of which acts through its [`Actor`]. [`native`] is this machine; [`simulated`] is a machine
//! described by a file, with a virtual clock. All times are cycles of the world's clock.

mod gate;
mod heard;
pub mod in_mode;
pub mod native;
pub mod placement;
pub mod raw;
pub mod served;
pub mod simulated;
mod tunings;
pub mod wait;
pub mod work;

pub use cohort_topology::{Topology, disturb, names};
pub use gate::Gate;
pub use heard::{Changes, Heard};
pub use placement::Placement;
pub use raw::{Block, Room, Tested};
pub use simulated::Facts;
pub use tunings::Tunings;
pub use wait::Wait;

use cohort::{Counter, Deadline};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Words of a cache line that a workload uses.
pub const WORDS: usize = 8;

/// The name for no lock, for workloads with their own mutual exclusion.
pub const NO_LOCK: &str = "none";

/// Unpaused polls of [`Actor::poll`]: more than a line takes to arrive from anywhere, yet short if
/// the other thread has no CPU.
const LOOKS: u32 = 1 << 10;

/// Shared memory: lines of [`WORDS`] words. The workload's locks decide whether threads may access
/// a word concurrently; a race yields some value that was written.
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

    /// Names lines to be read independently of each other: on a simulated machine with a figure for
    /// it, their misses overlap. A real CPU overlaps them by itself.
    fn ahead(&self, lines: std::ops::Range<usize>);

    /// Stores `value` beside a line, and returns the value before: a note for counting, free where
    /// time is simulated. Call it with the line's lock held.
    ///
    /// # Panics
    /// If there is no such line.
    fn note(&self, line: usize, value: u64) -> u64;
}

/// Actions of one thread in its world.
pub trait Actor {
    /// The time, in cycles.
    fn now(&self) -> u64;

    /// Computes for that many cycles, without shared memory.
    fn work(&mut self, cycles: u64);

    /// Reports that this thread executes code with so many instructions before each access, on
    /// average, from now on; uncounted for none. Free.
    fn executes(&mut self, instructions: Option<f64>);

    /// Loops idly for that many cycles by the clock, whatever the CPU's speed.
    fn idle(&mut self, cycles: u64);

    /// Sleeps until that time.
    fn sleep_until(&mut self, at: u64);

    /// Polls until `ready` holds, without a pause at first. Blocks.
    fn poll(&mut self, ready: impl FnMut() -> bool);

    /// Whether the measurement is running.
    fn goes_on(&self) -> bool;

    /// Whether present actions count: not during a simulated machine's warm-up, nor after the end.
    fn counts(&self) -> bool;

    /// Whether a simulated machine's warm-up is over.
    fn has_begun(&self) -> bool;

    /// The CPU that this thread runs on.
    fn cpu(&self) -> usize;

    /// The deadline that many cycles ahead, on the clock of [`Patience`](cohort::Patience).
    fn deadline(&self, cycles: u64) -> Deadline;

    /// Whether to record the times of this acquisition.
    fn is_timed(&self, acquisition: u64) -> bool;

    /// Reports that this thread begins to wait for a lock.
    fn waits(&mut self);

    /// Reports that this wait has ended: by an acquisition, or without one.
    fn has_waited(&mut self);

    /// Reports that this thread has acquired the lock of that number.
    fn entered(&mut self, lock: usize);

    /// Reports that this thread holds a read lock.
    fn shares(&mut self);

    /// Reports that this thread has given up waiting for a lock.
    fn gave_up(&mut self);

    /// This thread's count of such events in the locks; 0 where locks count nothing.
    fn counted(&self, what: Counter) -> u64;
}

/// Checks that a machine has CPUs for the threads, and separate CPUs for the servers, if any.
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
    /// The interface of its threads.
    type Actor: Actor;

    /// Cycles a second.
    fn hertz(&self) -> f64;

    /// Its CPUs and their cohorts.
    fn topology(&self) -> &Topology;

    /// That many lines of zeroes.
    fn memory(&mut self, lines: usize) -> Arc<Self::Memory>;

    /// A counter at zero that threads can wait for.
    fn gate(&mut self) -> Arc<dyn Gate>;

    /// A line for notes, at no cost; `None` where impossible.
    fn margin(&mut self) -> Option<Arc<Self::Memory>>;

    /// Whether each cohort has a place of its own in the lock of that name.
    ///
    /// # Errors
    /// The level with too many cohorts, and what to do.
    fn has_room(&self, _name: &str) -> Result<(), String> {
        Ok(())
    }

    /// A fresh lock with contexts for that many threads; `None` if the catalogue has no lock of
    /// that name.
    fn lock(&mut self, name: &str, threads: usize) -> Option<Arc<dyn Tested>>;

    /// Runs `body` in `threads` threads, each with its number and its part of the result, until
    /// they return. After the measurement's time, [`Actor::goes_on`] is false. A simulated thread
    /// that does not return long after that is abandoned; its part is what `body` has made of it by
    /// then. Blocks.
    ///
    /// # Errors
    /// Why the threads could not run, or what stopped them.
    fn play<R: Default + Send + 'static>(
        self,
        threads: usize,
        body: impl Fn(usize, Self::Actor, &mut R) + Send + Sync + 'static,
    ) -> Result<Played<R>, String>;
}

/// Result of a run.
#[derive(Debug)]
pub struct Played<R> {
    /// Each thread's part of the result.
    pub parts: Vec<R>,
    /// Threads that did not return and were abandoned.
    pub unfinished: usize,
    /// For each of them, the cycles that it had waited for a lock at the end of the measurement.
    pub unended: Vec<u64>,
    /// Duration of the measurement, in cycles.
    pub cycles: u64,
    /// The share of CPU time used by other processes, where known.
    pub foreign: Option<f64>,
    /// Facts that only a simulated machine provides.
    pub simulated: Option<Facts>,
    /// The locks' own counters, by name.
    pub tallies: BTreeMap<&'static str, u64>,
    /// The adaptive locks' modes.
    pub heard: Heard,
}
