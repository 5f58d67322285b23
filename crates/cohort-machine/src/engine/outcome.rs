//! The outcome of a run.

use super::clock::{CYCLE, Ticks};
use super::memory::Owner;
use super::record::{Events, Record};
use super::state::Engine;
use super::steady::Rule;
use hdrhistogram::Histogram;
use serde::Serialize;
use std::collections::BTreeMap;

/// The outcome of a run: its counts after the warm-up, up to steady figures.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// The machine.
    pub machine: String,
    /// Virtual nanoseconds counted.
    pub nanoseconds: u64,
    /// Cycles counted.
    pub cycles: u64,
    /// Why counting ended.
    pub rule: Rule,
    /// Half the width of the throughput's 95 % confidence interval, relative to it; none if the run
    /// was too short.
    pub interval: Option<f64>,
    /// Transfers of a lock to another cohort of the largest level.
    pub hands: u64,
    /// Simulated steps of all threads, warm-up and end included.
    pub steps: u64,
    /// The work of each thread, by its number.
    pub threads: Vec<ThreadWork>,
    /// Acquisitions, or rounds if the workload counts them, by cohort; by level, smallest first.
    pub cohorts: Vec<Level>,
    /// Hand-overs of locks, nearest first: `same CPU`, then the smallest level that contains both
    /// CPUs.
    pub handovers: Vec<Named>,
    /// Transfers between private caches, nearest first.
    pub transfers: Vec<Transfers>,
    /// Fetches from memory.
    pub memory: ByOwner,
    /// Fetches from the last-level cache of lines that a private one had evicted.
    pub refills: ByOwner,
    /// Accesses.
    pub accesses: ByOwner,
    /// Cycles that CPUs spent on accesses.
    pub stalled: ByOwner,
    /// Copies of lines invalidated.
    pub invalidations: u64,
    /// The busy fraction of each link; idle links are left out.
    pub links: Vec<Load>,
    /// Cycles from the request for a lock to its acquisition.
    pub acquire: Latency,
    /// Cycles of a release.
    pub release: Latency,
    /// CPU cycles with a thread that computed or waited for an access.
    pub running: u64,
    /// CPU cycles with a thread that only polled.
    pub spinning: u64,
    /// CPU cycles without a thread.
    pub idle: u64,
    /// An estimate of the energy used, in cycles of a running CPU: see [`SPINNING`], [`IDLE`] and
    /// [`TRANSFER`].
    pub energy: f64,
    /// Events in the kernel and in waits.
    pub events: Events,
    /// Locks' own counts by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tallies: BTreeMap<&'static str, u64>,
    /// The relative standard deviation of the threads' work; 0 is fair.
    pub unfairness: f64,
    /// Jain's index of the threads' work; 1 is fair.
    pub jain: f64,
}

/// The weight of a polling CPU's cycle, relative to a running CPU's: it executes little and does
/// not speculate. An estimate.
pub const SPINNING: f64 = 0.6;

/// The weight of a cycle of a CPU without a thread. An estimate.
pub const IDLE: f64 = 0.1;

/// The weight, in cycles, of a transfer between caches or from memory. An estimate.
pub const TRANSFER: f64 = 50.0;

/// The work of one thread.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ThreadWork {
    /// Its CPU at the end.
    pub cpu: usize,
    /// Locks acquired.
    pub acquired: u64,
    /// Rounds of its workload.
    pub rounds: u64,
    /// Cycles that it had waited at the end of counting, if it did not acquire the lock afterwards.
    pub unended: Option<u64>,
}

/// The work of each cohort of a level.
#[derive(Clone, Debug, Serialize)]
pub struct Level {
    /// The level's name.
    pub level: String,
    /// Work, by cohort.
    pub work: Vec<u64>,
}

/// A count with a name.
#[derive(Clone, Debug, Serialize)]
pub struct Named {
    /// The name.
    pub name: String,
    /// The count.
    pub count: u64,
}

/// Transfers over one distance.
#[derive(Clone, Debug, Serialize)]
pub struct Transfers {
    /// The distance.
    pub distance: String,
    /// Their number.
    #[serde(flatten)]
    pub count: ByOwner,
}

/// Counts by the owner of the line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ByOwner {
    /// Lines of locks and their queue nodes.
    pub lock: u64,
    /// Lines of data.
    pub data: u64,
    /// Lines of stacks and of the host's heap.
    pub other: u64,
}

/// The load of a link.
#[derive(Clone, Debug, Serialize)]
pub struct Load {
    /// The link.
    pub link: String,
    /// The fraction of time in which it was busy.
    pub busy: f64,
}

/// The distribution of a latency, in cycles.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Latency {
    /// The number of measurements.
    pub count: u64,
    /// The mean.
    pub mean: f64,
    /// The median, within 1 % like the other quantiles.
    pub median: u64,
    /// The 99th percentile.
    pub p99: u64,
    /// The 99.9th percentile.
    pub p999: u64,
    /// The longest.
    pub longest: u64,
}

impl ByOwner {
    fn new(counts: [u64; Owner::COUNT]) -> Self {
        Self {
            lock: counts[Owner::Lock as usize],
            data: counts[Owner::Data as usize],
            other: counts[Owner::Other as usize],
        }
    }

    fn cycles(ticks: [Ticks; Owner::COUNT]) -> Self {
        Self::new(ticks.map(|ticks| ticks / CYCLE))
    }

    /// The sum.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.lock + self.data + self.other
    }
}

impl Latency {
    fn new(histogram: &Histogram<u64>) -> Self {
        if histogram.is_empty() {
            return Self::default();
        }
        Self {
            count: histogram.len(),
            mean: histogram.mean(),
            median: histogram.value_at_quantile(0.5),
            p99: histogram.value_at_quantile(0.99),
            p999: histogram.value_at_quantile(0.999),
            longest: histogram.max(),
        }
    }
}

impl Outcome {
    pub(crate) fn new(engine: &Engine<'_>) -> Self {
        let hardware = engine.hardware;
        let record: &Record = &engine.record;
        let traffic = record.traffic.as_ref().expect("counting has ended");
        let ticks = record.ended - record.began;
        let spinning = record.polling.min(record.busy);
        let running = record.busy - spinning;
        let idle = (ticks * hardware.cpus as Ticks).saturating_sub(record.busy);
        let [running, spinning, idle] = [running, spinning, idle].map(|ticks| ticks / CYCLE);
        let pairs = engine.threads.iter().zip(&record.threads);
        let threads: Vec<ThreadWork> = pairs
            .enumerate()
            .filter(|(_, (thread, _))| !thread.background)
            .map(|(number, (thread, work))| ThreadWork {
                cpu: thread.cpu,
                acquired: work.acquired,
                rounds: work.rounds,
                unended: record.unended(number).map(|ticks| ticks / CYCLE),
            })
            .collect();
        let work: Vec<u64> = threads.iter().map(ThreadWork::work).collect();
        let mut handovers = vec!["same CPU".to_owned()];
        handovers.extend(hardware.levels.iter().cloned());
        let named = |(name, count): (String, &u64)| Named {
            name,
            count: *count,
        };
        let transfers = hardware.transfers.iter().zip(&traffic.transfers);
        let links = hardware.links.names.iter().zip(&traffic.links);
        Self {
            machine: hardware.name.clone(),
            nanoseconds: hardware.rate.nanoseconds(ticks),
            cycles: ticks / CYCLE,
            rule: record.rule.expect("counting has ended"),
            interval: record.interval(),
            hands: record.hands(),
            steps: engine.steps,
            cohorts: levels(engine, &threads),
            handovers: handovers
                .into_iter()
                .zip(&record.handovers)
                .map(named)
                .collect(),
            transfers: transfers
                .map(|(transfer, count)| Transfers {
                    distance: transfer.name.clone(),
                    count: ByOwner::new(*count),
                })
                .collect(),
            memory: ByOwner::new(traffic.memory),
            refills: ByOwner::new(traffic.refills),
            accesses: ByOwner::new(traffic.accesses),
            stalled: ByOwner::cycles(traffic.stalled),
            invalidations: traffic.invalidations,
            links: links
                .filter(|(_, busy)| **busy > 0)
                .map(|(name, busy)| Load {
                    link: name.clone(),
                    busy: *busy as f64 / ticks.max(1) as f64,
                })
                .collect(),
            acquire: Latency::new(&record.acquire),
            release: Latency::new(&record.release),
            running,
            spinning,
            idle,
            energy: running as f64
                + spinning as f64 * SPINNING
                + idle as f64 * IDLE
                + traffic.moved() as f64 * TRANSFER,
            events: record.events,
            tallies: record.tallied(),
            unfairness: relative_deviation(&work),
            jain: jain(&work),
            threads,
        }
    }

    /// All threads' work: rounds, or acquisitions without counted rounds.
    #[must_use]
    pub fn work(&self) -> u64 {
        self.threads.iter().map(ThreadWork::work).sum()
    }

    /// Work in a second of virtual time.
    #[must_use]
    pub fn throughput(&self) -> f64 {
        self.work() as f64 * 1e9 / self.nanoseconds.max(1) as f64
    }
}

impl ThreadWork {
    /// Rounds, or acquisitions without counted rounds.
    #[must_use]
    pub const fn work(&self) -> u64 {
        if self.rounds > 0 {
            self.rounds
        } else {
            self.acquired
        }
    }
}

fn levels(engine: &Engine<'_>, threads: &[ThreadWork]) -> Vec<Level> {
    let hardware = engine.hardware;
    let level = |(name, cohorts): (&String, &Vec<u16>)| {
        let count = cohorts.iter().max().map_or(0, |last| *last as usize + 1);
        let mut work = vec![0; count];
        for thread in threads {
            work[cohorts[thread.cpu] as usize] += thread.work();
        }
        Level {
            level: name.clone(),
            work,
        }
    };
    hardware
        .levels
        .iter()
        .zip(&hardware.cohorts)
        .map(level)
        .collect()
}

fn relative_deviation(work: &[u64]) -> f64 {
    let count = work.len().max(1) as f64;
    let mean = work.iter().sum::<u64>() as f64 / count;
    let squares: f64 = work.iter().map(|one| (*one as f64 - mean).powi(2)).sum();
    if mean > 0.0 {
        (squares / count).sqrt() / mean
    } else {
        0.0
    }
}

fn jain(work: &[u64]) -> f64 {
    let sum: f64 = work.iter().map(|one| *one as f64).sum();
    let squares: f64 = work.iter().map(|one| (*one as f64).powi(2)).sum();
    if squares > 0.0 {
        sum * sum / (work.len() as f64 * squares)
    } else {
        1.0
    }
}
