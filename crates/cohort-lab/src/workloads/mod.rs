//! Loads, written once for the demo, the targets and every comparison of locks.
//!
//! They call the C library's own functions, so that a preloaded library serves them. The harness
//! around them takes no pthread lock during measurements.

mod actor;
pub mod address;
mod background;
pub mod berkeleydb;
pub mod cache;
pub mod calls;
mod choice;
pub mod convoy;
mod crowd;
mod exclusion;
pub mod handover;
pub mod idle;
mod in_c;
pub mod keys;
mod latency;
pub mod life;
pub mod malloc;
pub mod mutex;
pub mod occasional;
pub mod patience;
pub mod peers;
mod pthread;
pub mod rwlock;
pub mod sqlite;
pub mod timed;
pub mod uncontended;

pub use actor::Actor;
pub use exclusion::{CachePadded, Exclusion, Raw};
pub use latency::Latency;
pub use pthread::{Kind, Mutex};

use crate::runner::Run;
use serde::{Deserialize, Serialize};

/// A load, with its options.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Workload {
    /// Contend for one mutex
    Mutex(mutex::Options),
    /// Lock and unlock an uncontended mutex
    Uncontended(uncontended::Options),
    /// Make calls without contention
    Calls(calls::Options),
    /// Contend for locks of addresses
    Address(address::Options),
    /// Measure the memory of the locks of many addresses
    Keys(keys::Options),
    /// Initialise, use and destroy a mutex and a condition
    Life(life::Options),
    /// Acquire a busy lock occasionally
    Occasional(occasional::Options),
    /// Acquire a busy mutex with timeouts
    Timed(timed::Options),
    /// Contend for one mutex with timeouts
    Patience(patience::Options),
    /// Contend for a second lock under an interpreter lock
    Convoy(convoy::Options),
    /// Hand a mutex back and forth between two threads on two CPUs
    Handover(handover::Options),
    /// Contend for one rwlock
    Rwlock(rwlock::Options),
    /// Alternate pairs of threads by a Rust mutex and condition
    Turns(peers::Options),
    /// Read under a Rust rwlock
    Reads(peers::Options),
    /// Allocate and free by the C library's allocator, or a preloaded one
    Malloc(malloc::Options),
    /// Query the bundled SQLite
    Sqlite(sqlite::Options),
    /// Look up and insert in a reader–writer cache
    Cache(cache::Options),
    /// Read a stock database from an installed Berkeley DB 5.3
    Berkeleydb(berkeleydb::Options),
    /// Measure the memory of used and free mutexes
    Idle(idle::Options),
}

/// Result of a load; each load fills in the fields that it measures.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct Outcome {
    /// Operations of all threads.
    pub operations: u64,
    /// Their duration, in seconds.
    pub seconds: f64,
    /// Operations per second.
    pub per_second: f64,
    /// Operations of the least-served thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub least: Option<u64>,
    /// Operations of the most-served thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most: Option<u64>,
    /// Latencies of acquisitions, or delays of timeouts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency: Option<Latency>,
    /// Time of an acquisition and release, or of an init–destroy cycle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pair: Option<Pair>,
    /// Bytes of additional memory per object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_each: Option<f64>,
    /// How often a lock was found held.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found_taken: Option<u64>,
    /// CPU time, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_seconds: Option<f64>,
    /// Voluntary context switches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switches: Option<u64>,
}

/// Time of one turn, in nanoseconds, over many batches.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct Pair {
    /// In the fastest batch.
    pub least: f64,
    /// In the median batch.
    pub median: f64,
}

impl Outcome {
    /// Parses the outcome printed by the `workload` subcommand.
    ///
    /// # Errors
    /// The output has no outcome, or reports that the preloaded library ignored a setting.
    pub fn read(run: &Run) -> Result<Self, String> {
        let is_complaint = |line: &&str| line.starts_with("cohort: COHORT_");
        if let Some(complaint) = run.output.lines().find(is_complaint) {
            return Err(complaint.to_owned());
        }
        run.output
            .lines()
            .rev()
            .find_map(|line| serde_json::from_str(line).ok())
            .ok_or_else(|| "it printed no result".to_owned())
    }
}

/// Runs a load. Blocks for about the requested time.
///
/// # Errors
/// Missing prerequisites of the load.
pub fn run(workload: &Workload) -> Result<Outcome, String> {
    match workload {
        Workload::Mutex(options) => mutex::run(options),
        Workload::Uncontended(options) => uncontended::run(options),
        Workload::Calls(options) => calls::run(options),
        Workload::Address(options) => address::run(options),
        Workload::Keys(options) => keys::run(options),
        Workload::Life(options) => life::run(options),
        Workload::Occasional(options) => occasional::run(options),
        Workload::Timed(options) => timed::run(options),
        Workload::Patience(options) => patience::run(options),
        Workload::Convoy(options) => convoy::run(options),
        Workload::Handover(options) => handover::run(options),
        Workload::Rwlock(options) => rwlock::run(options),
        Workload::Turns(options) => peers::turns(options),
        Workload::Reads(options) => peers::reads(options),
        Workload::Malloc(options) => malloc::run(options),
        Workload::Sqlite(options) => sqlite::run(options),
        Workload::Cache(options) => cache::run(options),
        Workload::Berkeleydb(options) => berkeleydb::run(options),
        Workload::Idle(options) => idle::run(options),
    }
}
