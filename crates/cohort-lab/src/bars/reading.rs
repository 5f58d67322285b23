//! A figure at one point, its unit, and the least wait that counts.

use crate::stats::Estimate;
use serde::Serialize;

/// A negligible wait, in nanoseconds: shorter ones count as this. The thread's pauses are two
/// hundred times as long, and the measurement includes its clock and its path to the lock.
pub(super) const UNFELT: f64 = 5_000.0;

/// Unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Cohort's figure over the other's.
    Ratio,
    /// Bytes.
    Bytes,
    /// Nanoseconds.
    Nanoseconds,
    /// Libraries.
    Libraries,
    /// Seconds.
    Seconds,
}

impl Unit {
    /// A figure with its unit.
    #[must_use]
    pub fn show(self, value: f64) -> String {
        match self {
            Self::Ratio => crate::compare::times(value),
            Self::Bytes if value.fract() == 0.0 => format!("{value:.0} B"),
            Self::Bytes => format!("{value:.1} B"),
            Self::Nanoseconds => format!("{value:.1} ns"),
            Self::Libraries => format!("{value:.0}"),
            Self::Seconds => format!("{value:.1} s"),
        }
    }
}

/// Figure at one point.
#[derive(Clone, Debug, Serialize)]
pub struct Reading {
    /// The point.
    pub at: String,
    /// The figure there.
    pub figure: Estimate,
}
