//! How long acquisitions took.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// How long acquisitions took, in nanoseconds, from a sample of them.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct Latency {
    /// Half took no longer.
    pub p50: u64,
    /// All but one in ten took no longer.
    pub p90: u64,
    /// All but one in a hundred took no longer.
    pub p99: u64,
    /// All but one in a thousand took no longer.
    pub p999: u64,
    /// The longest.
    pub most: u64,
    /// What they took on the average.
    pub mean: u64,
    /// How many were timed.
    pub sampled: u64,
}

/// Times as they are collected, in units of whatever clock.
pub type Times = Histogram<u64>;

/// The longest time that is told from longer ones, in nanoseconds.
pub const LONGEST: u64 = 600_000_000_000;

/// Room for times of which `longest` is still told from longer ones.
pub fn times(longest: u64) -> Result<Times, String> {
    Histogram::new_with_max(longest, 3)
        .map_err(|error| format!("no histogram can be made: {error}"))
}

impl Latency {
    /// Sums up `times`, a unit of which `nanoseconds` converts.
    pub(super) fn of(times: &Times, nanoseconds: impl Fn(u64) -> u64) -> Self {
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
