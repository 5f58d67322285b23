//! A benchmark's result: its setting, and each point.

use super::Info;
use super::Span;
use super::knobs::Knobs;
use super::outcome::Outcome;
use crate::stats::Estimate;
use crate::world::disturb::TOLERANCE;
use crate::world::{Placement, Wait};
use serde::Serialize;
use std::collections::BTreeMap;

/// Result of a benchmark.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The workload's name.
    pub workload: &'static str,
    /// Its paper and section.
    pub source: &'static str,
    /// The name of an operation.
    pub operation: &'static str,
    /// Its options, with their values.
    pub options: BTreeMap<&'static str, String>,
    /// `native`, or the simulated machine's name.
    pub on: String,
    /// The first digits of the simulated machine's file's hash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// The origin of the parameters of `sanl` or `glk`, if not the defaults.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<String>,
    /// The placement of threads.
    pub placement: Placement,
    /// Whether locks were measured as programs use them, not raw.
    pub served: bool,
    /// Additional threads that only computed.
    pub background: usize,
    /// The seed of all random choices.
    pub seed: u64,
    /// Each lock with each number of threads.
    pub points: Vec<Point>,
}

/// One lock with one number of threads.
#[derive(Clone, Debug, Serialize)]
pub struct Point {
    /// The lock.
    pub lock: String,
    /// Its waiters' policy.
    pub wait: Wait,
    /// The number of threads.
    pub threads: usize,
    /// The work between two critical sections, if the workload has that option.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outside: Option<Span>,
    /// Operations per second: the median of the rounds, with its interval.
    pub per_second: Estimate,
    /// The number of disturbed rounds.
    pub disturbed: usize,
    /// The round with the median throughput.
    pub middle: Outcome,
    /// Operations per second of every round.
    pub rounds: Vec<f64>,
    /// Its work relative to the other locks', if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub efficiency: Option<Efficiency>,
}

/// Shares of the most work under any lock of the report with the same number of threads, 0 to 1;
/// none for work that no lock allowed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Efficiency {
    /// Work in critical sections.
    pub critical: Option<f64>,
    /// Work after timeouts.
    pub elsewhere: Option<f64>,
    /// Their mean.
    pub efficiency: f64,
}

impl Report {
    /// An empty report.
    #[must_use]
    pub fn new(info: &Info, knobs: &Knobs, on: String, placement: Placement, seed: u64) -> Self {
        Self {
            workload: info.name,
            source: info.source,
            operation: info.operation,
            options: knobs.shown().into_iter().collect(),
            on,
            hash: None,
            config: None,
            placement,
            served: false,
            background: 0,
            seed,
            points: Vec::new(),
        }
    }

    /// The locks, in order, each once.
    #[must_use]
    pub fn locks(&self) -> Vec<&str> {
        let mut locks: Vec<&str> = Vec::new();
        for point in &self.points {
            if !locks.contains(&point.lock.as_str()) {
                locks.push(&point.lock);
            }
        }
        locks
    }

    /// Whether its points differ in the work between two critical sections.
    #[must_use]
    pub fn sweeps(&self) -> bool {
        let first = self.points.first().map(|point| point.outside);
        self.points.iter().any(|point| Some(point.outside) != first)
    }
}

impl Point {
    /// The point with that work between two critical sections.
    #[must_use]
    pub fn apart(self, outside: Option<Span>) -> Self {
        Self { outside, ..self }
    }

    /// Cycles of the world's clock between two critical sections; none without that option.
    #[must_use]
    pub fn interval(&self) -> Option<u64> {
        let hertz = self.middle.cycles as f64 / self.middle.seconds;
        self.outside.map(|span| span.cycles(hertz))
    }

    /// A point from its rounds; none without rounds.
    #[must_use]
    pub fn of(lock: String, wait: Wait, threads: usize, rounds: Vec<Outcome>) -> Option<Self> {
        let figures: Vec<f64> = rounds.iter().map(|round| round.per_second).collect();
        let per_second = Estimate::of(&figures)?;
        let disturbed = rounds
            .iter()
            .filter(|round| round.foreign.is_some_and(|foreign| foreign > TOLERANCE))
            .count();
        let middle = rounds.into_iter().min_by(|one, other| {
            let away = |round: &Outcome| (round.per_second - per_second.median).abs();
            away(one).total_cmp(&away(other))
        })?;
        Some(Self {
            lock,
            wait,
            threads,
            outside: None,
            per_second,
            disturbed,
            middle,
            rounds: figures,
            efficiency: None,
        })
    }
}
