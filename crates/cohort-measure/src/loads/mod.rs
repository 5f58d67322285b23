//! Loads of `cohort demo`, and the parts that all loads share.
//!
//! They call the C library's own functions, so that a preloaded library serves them. The harness
//! around them takes no pthread lock during measurements.

pub mod cache;
pub mod crowd;
mod latency;
pub mod pthread;
pub mod sqlite;

pub use latency::{LONGEST, Latency, Times, times};

use crate::runner::Run;
use serde::{Deserialize, Serialize};

/// A load, with its options.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Load {
    /// Query the bundled SQLite
    Sqlite(sqlite::Options),
    /// Look up and insert in a reader–writer cache
    Cache(cache::Options),
}

/// Runs a load. Blocks for about the requested time.
///
/// # Errors
/// Missing prerequisites of the load.
pub fn run(load: &Load) -> Result<Outcome, String> {
    match load {
        Load::Sqlite(options) => sqlite::run(options),
        Load::Cache(options) => cache::run(options),
    }
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
    /// Throughput beside a running command over the throughput while it is stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of_unwatched: Option<f64>,
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
