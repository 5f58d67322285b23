//! What one run of a workload gave.

use super::player::{Part, Times};
use crate::world::{Facts, Heard, Played, Topology};
use serde::Serialize;
use std::collections::BTreeMap;

/// What one run gave.  Times are in cycles of the world's clock.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// Operations of all threads.
    pub operations: u64,
    /// Operations a second.
    pub per_second: f64,
    /// Critical sections of all threads.
    pub sections: u64,
    /// Acquisitions that were given up.
    pub abandoned: u64,
    /// How long it was measured, in cycles.
    pub cycles: u64,
    /// The same, in seconds.
    pub seconds: f64,
    /// Operations of each thread.
    pub per_thread: Vec<u64>,
    /// How evenly these are shared out.
    pub fairness: Fairness,
    /// Sections by cohort, smallest cohorts first, the whole system left out.
    pub cohorts: Vec<Cohorts>,
    /// How often the lock went from one CPU to another, by the smallest cohort that
    /// has both; none where that was not noted.
    pub migrations: Option<Vec<Migrations>>,
    /// From asking for a lock to having it.
    pub acquire: Option<Latency>,
    /// From a section's end to that of its release.
    pub release: Option<Latency>,
    /// From asking for a lock to having released it.
    pub round_trip: Option<Latency>,
    /// From asking for a lock to having given up.
    pub give_up: Option<Latency>,
    /// What else the workload counts, and on a simulated machine the lock.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub counts: BTreeMap<&'static str, u64>,
    /// The most of something that one wait came to, where the lock counts it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub most: BTreeMap<&'static str, u64>,
    /// Threads that did not get a lock again long after the measurement was over: what they had done counts,
    /// and their last waits with what they had waited when it ended.
    #[serde(skip_serializing_if = "is_zero")]
    pub unfinished: usize,
    /// The share of the CPUs' time that others used, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub foreign: Option<f64>,
    /// What only a simulated machine can tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub simulated: Option<Facts>,
    /// What locks that adapt said of their modes; natively only if somebody listened.
    #[serde(skip_serializing_if = "Heard::is_nothing")]
    pub heard: Heard,
}

impl Outcome {
    /// The share of all acquisitions asked for that were given up; none if none was asked for.
    #[must_use]
    pub fn given_up(&self) -> Option<f64> {
        let asked = self.sections + self.abandoned;
        (asked > 0).then(|| self.abandoned as f64 / asked as f64)
    }
}

/// How evenly something is shared out.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Fairness {
    /// Standard deviation over mean: 0 if all got the same.
    pub relative_deviation: f64,
    /// Jain's index: 1 if all got the same, 1/n if one of n got all.
    pub jain: f64,
    /// What the one got that got least.
    pub least: u64,
    /// What the one got that got most.
    pub most: u64,
}

/// Sections executed in each cohort of a level.
#[derive(Clone, Debug, Serialize)]
pub struct Cohorts {
    /// The level.
    pub level: String,
    /// Sections of each of its cohorts.
    pub sections: Vec<u64>,
}

/// Hand-overs over one distance.
#[derive(Clone, Debug, Serialize)]
pub struct Migrations {
    /// The smallest cohort that has both CPUs.
    pub within: String,
    /// How many.
    pub count: u64,
}

/// How long something took, in cycles.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Latency {
    /// On average.
    pub mean: f64,
    /// Half took no longer.
    pub p50: u64,
    /// All but one in a hundred took no longer.
    pub p99: u64,
    /// All but one in a thousand took no longer.
    pub p999: u64,
    /// The longest.
    pub most: u64,
    /// How many were timed.
    pub timed: u64,
}

impl Fairness {
    /// Of these shares.
    #[must_use]
    pub fn of(shares: &[u64]) -> Self {
        let count = shares.len() as f64;
        let sum: f64 = shares.iter().map(|share| *share as f64).sum();
        let squares: f64 = shares.iter().map(|share| (*share as f64).powi(2)).sum();
        let mean = sum / count;
        let variance = (squares / count - mean * mean).max(0.0);
        let (relative_deviation, jain) = if sum > 0.0 {
            (variance.sqrt() / mean, sum * sum / (count * squares))
        } else {
            (0.0, 1.0)
        };
        Self {
            relative_deviation,
            jain,
            least: shares.iter().min().copied().unwrap_or(0),
            most: shares.iter().max().copied().unwrap_or(0),
        }
    }
}

impl Latency {
    fn of(times: &Times) -> Option<Self> {
        (!times.is_empty()).then(|| Self {
            mean: times.mean(),
            p50: times.value_at_quantile(0.5),
            p99: times.value_at_quantile(0.99),
            p999: times.value_at_quantile(0.999),
            most: times.max(),
            timed: times.len(),
        })
    }
}

impl Outcome {
    /// What these parts are together.
    pub(super) fn new(played: Played<Part>, topology: &Topology, hertz: f64) -> Self {
        let parts = &played.parts;
        let seconds = played.cycles as f64 / hertz;
        let operations: u64 = parts.iter().map(|part| part.operations).sum();
        let per_thread: Vec<u64> = parts.iter().map(|part| part.operations).collect();
        let sum = |times: fn(&Part) -> &Times| {
            let mut all = Part::times();
            for part in parts {
                all.add(times(part)).expect("it grows");
            }
            all
        };
        let latency = |times| Latency::of(&sum(times));
        let with_unended = |times| {
            let mut all = sum(times);
            for waited in &played.unended {
                all.record(*waited).expect("it grows");
            }
            Latency::of(&all)
        };
        let mut counts = played.tallies;
        for (what, times) in parts.iter().flat_map(|part| &part.counts) {
            *counts.entry(*what).or_default() += times;
        }
        let mut most = BTreeMap::new();
        for (what, steps) in parts.iter().flat_map(|part| &part.most) {
            let known: &mut u64 = most.entry(*what).or_default();
            *known = (*known).max(*steps);
        }
        Self {
            operations,
            per_second: operations as f64 / seconds,
            sections: parts.iter().map(|part| part.sections).sum(),
            abandoned: parts.iter().map(|part| part.abandoned).sum(),
            cycles: played.cycles,
            seconds,
            fairness: Fairness::of(&per_thread),
            per_thread,
            cohorts: cohorts(parts, topology),
            migrations: migrations(parts, topology),
            acquire: with_unended(|part| &part.acquire),
            release: latency(|part| &part.release),
            round_trip: with_unended(|part| &part.round_trip),
            give_up: latency(|part| &part.give_up),
            counts,
            most,
            unfinished: played.unfinished,
            foreign: played.foreign,
            simulated: played.simulated,
            heard: played.heard,
        }
    }

    /// Hand-overs between two of the largest cohorts, which a NUMA-aware lock avoids,
    /// for each section; none if they were not noted.
    #[must_use]
    pub fn migrations_each(&self) -> Option<f64> {
        let far = self.migrations.as_ref()?.last()?.count;
        (self.sections > 0).then(|| far as f64 / self.sections as f64)
    }

    /// The share of the threads' time between asking for a lock and having released
    /// it, from the acquisitions that were timed.
    #[must_use]
    pub fn share_at_locks(&self) -> Option<f64> {
        let time = self.per_thread.len() as f64 * self.cycles as f64;
        Some(self.round_trip?.mean * self.sections as f64 / time)
    }

    /// Lines moved from cache to cache for each section, on a simulated machine.
    #[must_use]
    pub fn transfers_each(&self) -> Option<f64> {
        let transfers = &self.simulated.as_ref()?.transfers;
        let all: u64 = transfers.iter().map(|one| one.count.total()).sum();
        (self.sections > 0).then(|| all as f64 / self.sections as f64)
    }

    /// The energy proxy for each section, on a simulated machine: cycles of a running
    /// CPU.
    #[must_use]
    pub fn energy_each(&self) -> Option<f64> {
        let energy = self.simulated.as_ref()?.energy;
        (self.sections > 0).then(|| energy / self.sections as f64)
    }
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
const fn is_zero(count: &usize) -> bool {
    *count == 0
}

fn cohorts(parts: &[Part], topology: &Topology) -> Vec<Cohorts> {
    let levels = topology.levels();
    let below = levels.len().saturating_sub(1);
    levels[..below]
        .iter()
        .enumerate()
        .map(|(number, level)| {
            let mut sections = vec![0; topology.cohorts(number)];
            for (cpu, count) in parts.iter().flat_map(|part| &part.by_cpu) {
                if let Some(cohort) = topology.cohort_of(*cpu, number) {
                    sections[cohort] += count;
                }
            }
            Cohorts {
                level: level.name.clone(),
                sections,
            }
        })
        .collect()
}

fn migrations(parts: &[Part], topology: &Topology) -> Option<Vec<Migrations>> {
    let mut all: Option<Vec<u64>> = None;
    for noted in parts.iter().filter_map(|part| part.migrations.as_ref()) {
        let all = all.get_or_insert_with(|| vec![0; noted.len()]);
        for (sum, count) in all.iter_mut().zip(noted) {
            *sum += count;
        }
    }
    let levels = topology.levels().iter();
    Some(
        levels
            .zip(all?)
            .map(|(level, count)| Migrations {
                within: level.name.clone(),
                count,
            })
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_shares_are_fair_and_one_taker_is_not() {
        let fair = Fairness::of(&[5, 5, 5, 5]);
        assert_eq!((fair.relative_deviation, fair.jain), (0.0, 1.0));
        let greedy = Fairness::of(&[8, 0, 0, 0]);
        assert!((greedy.jain - 0.25).abs() < 1e-12);
        assert!((greedy.relative_deviation - 3_f64.sqrt()).abs() < 1e-12);
        assert_eq!((greedy.least, greedy.most), (0, 8));
        assert_eq!(Fairness::of(&[0, 0]).jain, 1.0);
    }

    /// A thread that still waits at the end counts in every quantile that it reaches.
    #[test]
    fn unended_waits_count() {
        let mut part = Part::default();
        part.acquire.record_n(100, 99).unwrap();
        let topology = Topology::new(vec![0, 1], vec![("system".to_owned(), vec![0, 0])]);
        let played = |unended| Played {
            parts: vec![part.clone(), Part::default()],
            unfinished: 1,
            unended,
            cycles: 1_000_000,
            foreign: None,
            simulated: None,
            tallies: BTreeMap::new(),
            heard: Heard::default(),
        };
        let of = |unended| {
            Outcome::new(played(unended), &topology, 1e9)
                .acquire
                .unwrap()
        };
        let waited = of(vec![1_000_000]);
        assert!(
            waited.most >= 1_000_000 && waited.p999 >= 1_000_000,
            "{waited:?}"
        );
        assert_eq!(waited.timed, 100);
        assert!(waited.mean > 10_000.0);
        assert!(of(Vec::new()).most < 200);
    }
}
