//! Loads, written once for the demo, the targets and every comparison of locks.
//!
//! They call the C library's own functions, so that a preloaded library serves them. The harness
//! around them takes no pthread lock during measurements.

mod actor;
pub mod address;
mod background;
pub mod berkeleydb;
pub mod calls;
mod choice;
pub mod convoy;
mod exclusion;
pub mod handover;
pub mod idle;
mod in_c;
pub mod keys;
pub mod life;
pub mod malloc;
pub mod mutex;
pub mod occasional;
pub mod patience;
pub mod peers;
pub mod rwlock;
pub mod timed;
pub mod uncontended;
pub mod watched;

pub use actor::Actor;
pub use background::Burners;
pub use cohort_measure::loads::pthread::{self, Mutex, MutexKind};
pub use cohort_measure::loads::{Latency, Outcome, Pair};
pub use exclusion::{CachePadded, Exclusion, Raw, Sharing};

use cohort_measure::loads::{LONGEST, Times, cache, crowd, sqlite, times};

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
    /// Use locks and the allocator beside a command that is stopped half of the time
    Watched(watched::Options),
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
        Workload::Watched(options) => watched::run(options),
    }
}
