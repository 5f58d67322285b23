//! Latencies of acquisitions.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Latencies of a sample of acquisitions, in nanoseconds.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct Latency {
    /// The median.
    pub p50: u64,
    /// The 90th percentile.
    pub p90: u64,
    /// The 99th percentile.
    pub p99: u64,
    /// The 99.9th percentile.
    pub p999: u64,
    /// The longest.
    pub most: u64,
    /// The mean.
    pub mean: u64,
    /// The number of timed acquisitions.
    pub sampled: u64,
}

/// Collected times, in units of any clock.
pub type Times = Histogram<u64>;

/// The longest distinguishable time, in nanoseconds.
pub const LONGEST: u64 = 600_000_000_000;

/// A histogram for times up to `longest`.
///
/// # Errors
/// It would be too large.
pub fn times(longest: u64) -> Result<Times, String> {
    Histogram::new_with_max(longest, 3)
        .map_err(|error| format!("cannot create a histogram: {error}"))
}

impl Latency {
    /// Summarises `times`; `nanoseconds` converts their unit.
    #[must_use]
    pub fn of(times: &Times, nanoseconds: impl Fn(u64) -> u64) -> Self {
        let at = |quantile| nanoseconds(times.value_at_quantile(quantile));
        Self {
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p999: at(0.999),
            most: nanoseconds(times.max()),
            mean: nanoseconds(times.mean() as u64),
            sampled: times.len(),
        }
    }
}
