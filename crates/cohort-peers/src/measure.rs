//! Every lock at every point, by interleaved rounds.

use crate::peers::{Origin, PEERS, Peer, PeerKind};
use crate::points::{Figure, Locks, Point};
use cohort_lab::interrupt::Interrupted;
use cohort_lab::rounds::{self, Contestant, Observer, Series};
use cohort_lab::runner::Launch;
use cohort_lab::stats::{Estimate, median};
use cohort_lab::workloads::Outcome;
use cohort_lab::world::disturb::allowed_cpus;
use serde::Serialize;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Setup of a measurement.
pub struct Setup {
    /// This program's file, run as a child.
    pub program: PathBuf,
    /// The preload library; without it the preloaded locks are skipped.
    pub interposer: Option<PathBuf>,
    /// Rounds that count.
    pub rounds: usize,
    /// Factor for the duration of each run.
    pub stretch: f64,
    /// The kinds of locks to measure.
    pub kinds: Vec<PeerKind>,
}

/// Result of a point.
#[derive(Debug, Serialize)]
pub struct Table {
    /// The point's name.
    pub name: String,
    /// Its description.
    pub about: String,
    /// The kind of figures.
    pub figure: Figure,
    /// Every lock.
    pub rows: Vec<Row>,
}

/// Result of a lock at a point.
#[derive(Debug, Serialize)]
pub struct Row {
    /// The lock.
    pub lock: &'static str,
    /// Its kind.
    pub kind: PeerKind,
    /// Whether it is Cohort's.
    pub ours: bool,
    /// How it was called.
    pub called: &'static str,
    /// The figure of every round.
    pub values: Vec<f64>,
    /// Its median.
    pub figure: Option<Estimate>,
    /// The figure over that of glibc's mutex or rwlock, round by round.
    pub of_glibc: Option<Estimate>,
    /// For locks found by keys, instead: the figure beyond that of GLS's lock in place, round by
    /// round. For that same lock, this is the cost of finding it.
    pub beyond: Option<Estimate>,
    /// The figure over that of the best peer of its kind, round by round. In crowds larger than the
    /// number of CPUs, yielding spin locks have yielding peers only.
    pub of_best: Option<Estimate>,
    /// CPU nanoseconds of all threads per critical section: the rounds' median, for crowds.
    pub cpu: Option<f64>,
    /// The 99.9th percentile of acquisitions in nanoseconds: the rounds' median, for crowds.
    pub p999: Option<f64>,
    /// Critical sections of the least-served thread, relative to an even share: the rounds' median.
    pub least: Option<f64>,
    /// Critical sections of the most-served thread, relative to an even share: the rounds' median.
    pub most: Option<f64>,
    /// Rounds disturbed by other processes.
    pub disturbed: usize,
    /// The reason for its removal.
    pub failure: Option<String>,
}

/// The reason why a lock cannot be measured here.
pub fn missing(peer: &Peer, setup: &Setup) -> Option<String> {
    match peer.from {
        Origin::Package(package) if peer.run.is_none() => Some(format!("install {package}")),
        Origin::Preloaded { .. } if setup.interposer.is_none() => {
            Some("name the preload library with --interposer".to_owned())
        }
        _ => None,
    }
}

/// The number of runs without repetitions.
pub fn planned(points: &[Point], setup: &Setup) -> usize {
    let all = points.iter().map(|point| point.peers(setup).len());
    all.sum::<usize>() * setup.rounds
}

/// Measures a point.  Blocks.
pub fn measure(
    point: &Point,
    setup: &Setup,
    observer: &mut dyn Observer,
) -> Result<Table, Interrupted> {
    let peers = point.peers(setup);
    let contestants: Vec<Contestant> = peers.iter().map(|peer| point.under(peer, setup)).collect();
    let series = rounds::play(&contestants, setup.rounds, Outcome::read, observer)?;
    Ok(point.table(&peers, &series))
}

impl Point {
    /// The peers that it applies to.
    fn peers(&self, setup: &Setup) -> Vec<&'static Peer> {
        let asked = |peer: &&Peer| self.locks.has(peer.kind) && setup.kinds.contains(&peer.kind);
        let here = |peer: &&Peer| missing(peer, setup).is_none();
        PEERS.iter().filter(asked).filter(here).collect()
    }

    fn under(&self, peer: &Peer, setup: &Setup) -> Contestant<'static> {
        let mut words = vec![setup.program.clone().into_os_string()];
        words.extend(["one", peer.name].map(OsString::from));
        words.extend(self.words.iter().map(OsString::from));
        let seconds = self.seconds * setup.stretch;
        words.extend(["--seconds".into(), seconds.to_string().into()]);
        if self.neighbours > 0 {
            let beside = ["--beside".into(), self.neighbours.to_string().into()];
            words.splice(2..2, beside);
        }
        let environment = match (peer.from, &setup.interposer) {
            (Origin::Preloaded { lock, wait }, Some(library)) => vec![
                ("LD_PRELOAD".to_owned(), Some(library.into())),
                ("COHORT_LOCK".to_owned(), Some(lock.into())),
                ("COHORT_WAIT".to_owned(), Some(wait.into())),
            ],
            _ => vec![("LD_PRELOAD".to_owned(), None)],
        };
        let first = || allowed_cpus().first().map(|first| vec![*first]);
        Contestant {
            prepare: None,
            name: peer.name.to_owned(),
            launch: Launch {
                words,
                environment,
                cpus: self.on_one_cpu.then(first).flatten(),
                // Strict spin locks stall with more threads than CPUs.
                limit: Some(Duration::from_secs(60)),
            },
            // A run settles quickly; the lock's start is a small part of it.
            warm_up: None,
            proof: None,
        }
    }

    fn table(&self, peers: &[&Peer], series: &[Series<Outcome>]) -> Table {
        let values: Vec<Vec<f64>> = series
            .iter()
            .map(|series| match series.failure {
                // Figures from before a failure mean nothing.
                Some(_) => Vec::new(),
                None => series.figures(|sample| self.figure.of(&sample.value)),
            })
            .collect();
        let rows = peers.iter().zip(series).zip(&values);
        let rows = rows.map(|((peer, series), own)| {
            let paired = |other: &[f64], combine: fn((&f64, &f64)) -> f64| {
                let pairs = own.iter().zip(other);
                Estimate::of(&pairs.map(combine).collect::<Vec<_>>())
            };
            let over = |other: &[f64]| paired(other, |(own, other)| own / other);
            let beyond = |other: &[f64]| paired(other, |(own, other)| own - other);
            let best = self.best(peers, &values, peer);
            let share = |count: Option<u64>, outcome: &Outcome| {
                let even = outcome.operations as f64 / f64::from(self.threads?);
                Some(count? as f64 / even)
            };
            let each =
                |outcome: &Outcome| Some(outcome.cpu_seconds? * 1e9 / outcome.operations as f64);
            let keyed = self.locks == Locks::Keyed;
            Row {
                lock: peer.name,
                kind: peer.kind,
                ours: peer.is_ours(),
                called: peer.called,
                figure: Estimate::of(own),
                of_glibc: (!keyed).then(|| over(&values[0])).flatten(),
                beyond: keyed.then(|| beyond(&values[0])).flatten(),
                of_best: best.and_then(|best| over(&values[best])),
                cpu: self.threads.and_then(|_| middle(series, each)),
                p999: middle(series, |outcome| Some(outcome.latency?.p999 as f64)),
                least: middle(series, |outcome| share(outcome.least, outcome)),
                most: middle(series, |outcome| share(outcome.most, outcome)),
                values: own.clone(),
                disturbed: series.disturbed(),
                failure: series.failure.clone(),
            }
        });
        Table {
            name: self.name.clone(),
            about: self.about.clone(),
            figure: self.figure,
            rows: rows.collect(),
        }
    }

    /// The index of the best peer that is comparable with `own`.
    fn best(&self, peers: &[&Peer], values: &[Vec<f64>], own: &Peer) -> Option<usize> {
        let cpus = allowed_cpus().len();
        let is_crowded = self
            .threads
            .is_some_and(|threads| usize::from(threads) > cpus);
        let theirs = (0..peers.len()).filter(|place| {
            let peer = peers[*place];
            let waits_so = !is_crowded || peer.yields() == own.yields();
            peer.kind == own.kind && !peer.is_ours() && waits_so
        });
        let figures = theirs.filter_map(|place| Some((place, median(&values[place])?)));
        let better = |best: (usize, f64), next: (usize, f64)| {
            if self.figure.prefers(next.1, best.1) {
                next
            } else {
                best
            }
        };
        figures.reduce(better).map(|(place, _)| place)
    }
}

/// The median of the rounds' values; none if missing.
fn middle(series: &Series<Outcome>, of: impl Fn(&Outcome) -> Option<f64>) -> Option<f64> {
    if series.failure.is_some() {
        return None;
    }
    let told: Vec<f64> = series
        .samples
        .iter()
        .filter_map(|sample| of(&sample.value))
        .collect();
    median(&told)
}

impl Figure {
    fn of(self, outcome: &Outcome) -> f64 {
        let nanoseconds = || {
            let pair = outcome.pair.map(|pair| pair.median);
            pair.or_else(|| Some(outcome.latency?.p50 as f64))
        };
        match self {
            Self::Nanoseconds => nanoseconds().unwrap_or(f64::NAN),
            Self::Throughput => outcome.per_second,
        }
    }

    /// Whether `one` is better than `other`.
    pub fn prefers(self, one: f64, other: f64) -> bool {
        match self {
            Self::Nanoseconds => one < other,
            Self::Throughput => one > other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::points::tests as points;
    use cohort_lab::rounds::Sample;
    use cohort_lab::runner::Run;
    use cohort_lab::workloads::Pair;

    /// A point by its name.
    fn point(name: &str) -> Point {
        let mut points = points::of("--threads 4").into_iter();
        points.find(|point| point.name == name).unwrap()
    }

    fn series(pairs: &[f64]) -> Series<Outcome> {
        let samples = pairs.iter().map(|per_second| Sample {
            value: Outcome {
                per_second: *per_second,
                operations: 100,
                least: Some(10),
                most: Some(75),
                ..Outcome::default()
            },
            run: Run::default(),
        });
        Series {
            name: String::new(),
            samples: samples.collect(),
            failure: None,
        }
    }

    #[test]
    fn ours_are_compared_with_the_best_of_theirs_of_their_kind() {
        let named = |name| crate::peers::find(name).unwrap();
        let peers = ["glibc", "std", "pthread-default", "glibc-spin", "tas"].map(named);
        let all = [
            series(&[10.0, 10.0]),
            series(&[40.0, 20.0]),
            series(&[20.0, 30.0]),
            series(&[5.0, 5.0]),
            series(&[10.0, 20.0]),
        ];
        // No larger than the number of CPUs.
        let mut crowd = point("crowd-200ns-1us-4");
        crowd.threads = Some(1);
        let table = crowd.table(&peers, &all);
        let ratios = |of: fn(&Row) -> Option<Estimate>| {
            let rows = table.rows.iter();
            rows.map(|row| of(row).unwrap().median).collect::<Vec<_>>()
        };
        assert_eq!(ratios(|row| row.of_glibc), [1.0, 3.0, 2.5, 0.5, 1.5]);
        // Round by round: 20 of 40 and 30 of 20; 10 of 5 and 20 of 5.
        assert_eq!(ratios(|row| row.of_best)[2..], [1.0, 1.0, 3.0]);
        assert_eq!(table.rows[0].least, Some(0.1));
        assert_eq!(table.rows[0].most, Some(0.75));
    }

    #[test]
    fn what_finding_a_lock_takes_is_told_beside_the_lock_where_it_lies() {
        let setup = Setup {
            program: PathBuf::new(),
            interposer: None,
            rounds: 2,
            stretch: 1.0,
            kinds: PeerKind::ALL.to_vec(),
        };
        let point = point("keys-1");
        let peers = point.peers(&setup);
        assert_eq!(peers[0].name, "in-place");
        assert!(peers.iter().any(|peer| peer.name == "gls"));
        let told = |nanoseconds: f64| {
            let mut series = series(&[0.0, 0.0]);
            for sample in &mut series.samples {
                sample.value.pair = Some(Pair {
                    least: 1.0,
                    median: nanoseconds,
                });
            }
            series
        };
        let all: Vec<_> = (0..peers.len())
            .map(|place| told(5.0 + place as f64))
            .collect();
        let table = point.table(&peers, &all);
        let beyond = |row: &Row| row.beyond.unwrap().median;
        assert_eq!(beyond(&table.rows[0]), 0.0);
        assert_eq!(beyond(&table.rows[1]), 1.0);
        // The first peer is third.
        assert_eq!(table.rows[1].of_best.unwrap().median, 6.0 / 7.0);
        assert!(table.rows.iter().all(|row| row.of_glibc.is_none()));
        for (point, first) in [("alone", "glibc"), ("reads-90-4", "glibc-rwlock")] {
            let peers = self::point(point).peers(&setup);
            assert_eq!(peers[0].name, first);
            let kinds = peers.iter().filter(|peer| peer.kind == peers[0].kind);
            assert_eq!(kinds.count() == peers.len(), first == "glibc-rwlock");
        }
    }

    #[test]
    fn in_a_crowd_a_spin_lock_that_yields_is_compared_with_its_like() {
        let named = |name| crate::peers::find(name).unwrap();
        let peers = ["glibc", "mcslock", "mcslock-yield", "mcs"].map(named);
        let all = [10.0, 80.0, 20.0, 40.0].map(|figure| series(&[figure]));
        let of_best = |threads| {
            let mut crowd = point("crowd-200ns-1us-4");
            crowd.threads = Some(threads);
            crowd.table(&peers, &all).rows[3].of_best.unwrap().median
        };
        assert_eq!(of_best(1), 0.5);
        assert_eq!(of_best(u16::MAX), 2.0);
    }

    #[test]
    fn a_lock_that_failed_is_nobodys_measure() {
        let named = |name| crate::peers::find(name).unwrap();
        let peers = ["glibc", "std", "pthread-default"].map(named);
        let mut all = [series(&[10.0]), series(&[40.0]), series(&[20.0])];
        all[1].failure = Some("it hung".to_owned());
        let table = point("crowd-200ns-1us-4").table(&peers, &all);
        assert!(table.rows[1].figure.is_none() && table.rows[1].least.is_none());
        assert_eq!(table.rows[2].of_best.unwrap().median, 2.0);
    }
}
