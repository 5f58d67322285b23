//! Result of one run of a workload.

use super::player::{Part, Times};
use crate::world::{Facts, Heard, Played, Topology};
use serde::Serialize;
use std::collections::BTreeMap;

/// Result of one run. Times are in cycles of the world's clock.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// Operations of all threads.
    pub operations: u64,
    /// Operations per second.
    pub per_second: f64,
    /// Critical sections of all threads.
    pub sections: u64,
    /// Acquisitions that timed out.
    pub abandoned: u64,
    /// Duration of the measurement, in cycles.
    pub cycles: u64,
    /// Duration of the measurement, in seconds.
    pub seconds: f64,
    /// Operations of each thread.
    pub per_thread: Vec<u64>,
    /// The evenness of their distribution.
    pub fairness: Fairness,
    /// Critical sections by cohort, smallest cohorts first, without the whole system.
    pub cohorts: Vec<Cohorts>,
    /// Migrations of the lock between CPUs, by the smallest cohort with both; none if not recorded.
    pub migrations: Option<Vec<Migrations>>,
    /// From the request of a lock to its acquisition.
    pub acquire: Option<Latency>,
    /// From a critical section's end to that of its release.
    pub release: Option<Latency>,
    /// From the request of a lock to its completed release.
    pub round_trip: Option<Latency>,
    /// From the request of a lock to the timeout.
    pub give_up: Option<Latency>,
    /// Other counters of the workload and, on a simulated machine, of the lock.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub counts: BTreeMap<&'static str, u64>,
    /// Maxima over single waits, where the lock counts them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub most: BTreeMap<&'static str, u64>,
    /// Threads without a lock long after the end of the measurement. Their work counts, and so do
    /// their last waits up to the end.
    #[serde(skip_serializing_if = "is_zero")]
    pub unfinished: usize,
    /// The share of CPU time used by other processes, where known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub foreign: Option<f64>,
    /// Facts that only a simulated machine provides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub simulated: Option<Facts>,
    /// The adaptive locks' modes; natively only if recorded.
    #[serde(skip_serializing_if = "Heard::is_nothing")]
    pub heard: Heard,
}

impl Outcome {
    /// The share of all requested acquisitions that timed out; none without requests.
    #[must_use]
    pub fn given_up(&self) -> Option<f64> {
        let asked = self.sections + self.abandoned;
        (asked > 0).then(|| self.abandoned as f64 / asked as f64)
    }
}

/// Evenness of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Fairness {
    /// Standard deviation over mean: 0 for equal shares.
    pub relative_deviation: f64,
    /// Jain's index: 1 for equal shares, 1/n if one of n has all.
    pub jain: f64,
    /// The smallest share.
    pub least: u64,
    /// The largest share.
    pub most: u64,
}

/// Critical sections executed in each cohort of a level.
#[derive(Clone, Debug, Serialize)]
pub struct Cohorts {
    /// The level.
    pub level: String,
    /// Critical sections of each of its cohorts.
    pub sections: Vec<u64>,
}

/// Hand-overs over one distance.
#[derive(Clone, Debug, Serialize)]
pub struct Migrations {
    /// The smallest cohort with both CPUs.
    pub within: String,
    /// The number of hand-overs.
    pub count: u64,
}

/// Durations, in cycles.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Latency {
    /// The mean.
    pub mean: f64,
    /// The median.
    pub p50: u64,
    /// The 99th percentile.
    pub p99: u64,
    /// The 99.9th percentile.
    pub p999: u64,
    /// The longest.
    pub most: u64,
    /// The number of timings.
    pub timed: u64,
}

impl Fairness {
    /// The evenness of these shares.
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
    /// Combines the threads' parts.
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

    /// Hand-overs between two of the largest cohorts per critical section, which a NUMA-aware lock
    /// avoids; none if not recorded.
    #[must_use]
    pub fn migrations_each(&self) -> Option<f64> {
        let far = self.migrations.as_ref()?.last()?.count;
        (self.sections > 0).then(|| far as f64 / self.sections as f64)
    }

    /// The share of the threads' time between the request of a lock and its completed release, from
    /// the timed acquisitions.
    #[must_use]
    pub fn share_at_locks(&self) -> Option<f64> {
        let time = self.per_thread.len() as f64 * self.cycles as f64;
        Some(self.round_trip?.mean * self.sections as f64 / time)
    }

    /// Lines moved from cache to cache per critical section, on a simulated machine.
    #[must_use]
    pub fn transfers_each(&self) -> Option<f64> {
        let transfers = &self.simulated.as_ref()?.transfers;
        let all: u64 = transfers.iter().map(|one| one.count.total()).sum();
        (self.sections > 0).then(|| all as f64 / self.sections as f64)
    }

    /// Estimated energy per critical section, on a simulated machine, in cycles of a running CPU.
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

    /// A thread still waiting at the end counts in every quantile that its wait reaches.
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
