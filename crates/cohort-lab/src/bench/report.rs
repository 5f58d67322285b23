//! What a benchmark found: its setting, and each point of it.

use super::Info;
use super::efficiency::Efficiency;
use super::knobs::Knobs;
use super::outcome::Outcome;
use super::span::Span;
use crate::stats::Estimate;
use crate::world::disturb::TOLERANCE;
use crate::world::{Placement, Wait};
use serde::Serialize;
use std::collections::BTreeMap;

/// All that a benchmark found.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The workload's name.
    pub workload: &'static str,
    /// The paper and section it is from.
    pub source: &'static str,
    /// What an operation is.
    pub operation: &'static str,
    /// Its options, and where they stood.
    pub options: BTreeMap<&'static str, String>,
    /// `native`, or the simulated machine's name.
    pub on: String,
    /// The first digits of the simulated machine's file's hash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// The origin of the numbers that `sanl` or `glk` went by, if they are not the usual ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<String>,
    /// Where threads ran.
    pub placement: Placement,
    /// Whether locks were as programs have them, not raw.
    pub served: bool,
    /// Threads beside those of the workload that only computed.
    pub background: usize,
    /// What all random choices depend on.
    pub seed: u64,
    /// Each lock with each number of threads.
    pub points: Vec<Point>,
}

/// One lock with one number of threads.
#[derive(Clone, Debug, Serialize)]
pub struct Point {
    /// The lock.
    pub lock: String,
    /// How its waiters waited.
    pub wait: Wait,
    /// How many threads.
    pub threads: usize,
    /// The work between two sections, if the workload has it as an option.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outside: Option<Span>,
    /// Operations a second: the median of the rounds, and how sure it is.
    pub per_second: Estimate,
    /// How many rounds others disturbed.
    pub disturbed: usize,
    /// The round whose throughput is the middle one.
    pub middle: Outcome,
    /// Operations a second of every round.
    pub rounds: Vec<f64>,
    /// Its work against the other locks', if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub efficiency: Option<Efficiency>,
}

impl Report {
    /// An empty one.
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

    /// Whether its points differ in the work between two sections.
    #[must_use]
    pub fn sweeps(&self) -> bool {
        let first = self.points.first().map(|point| point.outside);
        self.points.iter().any(|point| Some(point.outside) != first)
    }
}

impl Point {
    /// The same with that work between two sections.
    #[must_use]
    pub fn apart(self, outside: Option<Span>) -> Self {
        Self { outside, ..self }
    }

    /// Cycles of the world's clock between two sections; none if that is no option.
    #[must_use]
    pub fn interval(&self) -> Option<u64> {
        let hertz = self.middle.cycles as f64 / self.middle.seconds;
        self.outside.map(|span| span.cycles(hertz))
    }

    /// A point from its rounds; none if there are none.
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
