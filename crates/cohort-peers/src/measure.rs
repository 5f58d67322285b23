//! Every lock at every point, by interleaved rounds.

use crate::peers::{Kind, Origin, PEERS, Peer};
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
}

/// Kind of figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Figure {
    /// Nanoseconds per pair or hand-over: less is better.
    Nanoseconds,
    /// Critical sections per second: more is better.
    Throughput,
}

/// Test applied to every lock.
pub struct Point {
    /// Its name on the command line and in file names.
    pub name: String,
    /// Its description.
    pub about: String,
    /// Its figure.
    pub figure: Figure,
    words: Vec<String>,
    threads: Option<u16>,
    seconds: f64,
    on_one_cpu: bool,
    /// Whether locks are found by keys.
    keyed: bool,
}

/// The pause between critical sections, as in `cohort bar`.
const GAP: &str = "1000";

/// Lengths of critical sections, as in `cohort bar`.
const SECTIONS: [(&str, &str); 2] = [("200", "200 ns"), ("2000", "2 µs")];

/// Numbers of threads on two CPUs, and durations: all threads must run several times.
const CROWDS: [(u16, f64); 6] = [
    (2, 0.05),
    (4, 0.06),
    (8, 0.08),
    (16, 0.1),
    (32, 0.15),
    (64, 0.2),
];

/// Numbers of keys with locks: one as in `cohort bar`, enough for locks that fit the caches, and
/// more.
const KEYS: [&str; 3] = ["1", "512", "65536"];

/// The default numbers of threads.
pub const USUAL_CROWDS: [u16; 3] = [2, 8, 64];

/// Every point, with crowds of these sizes.
pub fn points(crowds: &[u16]) -> Vec<Point> {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let two = |name: &str, about: &str, more: &[&str]| Point {
        name: name.to_owned(),
        about: about.to_owned(),
        figure: Figure::Nanoseconds,
        words: words(&[&["hand-over"], more].concat()),
        threads: None,
        seconds: 0.04,
        on_one_cpu: false,
        keyed: false,
    };
    let mut all = vec![
        Point {
            name: "alone".to_owned(),
            about: "acquire and release, on one CPU, while two other threads sleep".to_owned(),
            figure: Figure::Nanoseconds,
            words: words(&["alone"]),
            threads: None,
            seconds: 0.04,
            on_one_cpu: true,
            keyed: false,
        },
        two(
            "visit",
            "acquire and release a free lock that another CPU had last",
            &["--visit"],
        ),
        two(
            "hand-over-200ns",
            "from release until the waiter, who came 200 ns before, is inside",
            &["--hold", "200"],
        ),
        two(
            "hand-over-2us",
            "from release until the waiter, who came 2 µs before, is inside",
            &["--hold", "2000"],
        ),
    ];
    for keys in KEYS {
        let turns = match keys {
            "1" => "the lock of one key".to_owned(),
            _ => format!("the locks of {keys} keys in turn"),
        };
        all.push(Point {
            name: format!("keys-{keys}"),
            about: format!("acquire and release {turns}, one thread on one CPU"),
            figure: Figure::Nanoseconds,
            words: words(&["keys", "--keys", keys]),
            threads: None,
            seconds: 0.1,
            on_one_cpu: true,
            keyed: true,
        });
    }
    for (nanoseconds, section) in SECTIONS {
        for threads in crowds {
            let known = CROWDS.iter().find(|(size, _)| size == threads);
            let seconds = known.map_or(0.2, |(_, seconds)| *seconds);
            let count = threads.to_string();
            let options = [
                "crowd",
                "--latency",
                "--threads",
                &count,
                "--section",
                nanoseconds,
                "--gap",
                GAP,
            ];
            all.push(Point {
                name: format!(
                    "crowd-{}-{threads}",
                    section.replace(' ', "").replace('µ', "u")
                ),
                about: format!("{threads} threads, sections of {section}, 1 µs between them"),
                figure: Figure::Throughput,
                words: words(&options),
                threads: Some(*threads),
                seconds,
                on_one_cpu: false,
                keyed: false,
            });
        }
    }
    all
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
    pub kind: Kind,
    /// Whether it is Cohort's.
    pub ours: bool,
    /// How it was called.
    pub called: &'static str,
    /// The figure of every round.
    pub values: Vec<f64>,
    /// Its median.
    pub figure: Option<Estimate>,
    /// The figure over that of glibc's mutex, round by round.
    pub of_glibc: Option<Estimate>,
    /// For locks found by keys, instead: the figure beyond that of GLS's lock in place, round by
    /// round. For that same lock, this is the cost of finding it.
    pub beyond: Option<Estimate>,
    /// The figure over that of the best peer of its kind, round by round.
    pub of_best: Option<Estimate>,
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
        let asked = |peer: &&Peer| (peer.kind == Kind::Keyed) == self.keyed;
        let here = |peer: &&Peer| missing(peer, setup).is_none();
        PEERS.iter().filter(asked).filter(here).collect()
    }

    fn under(&self, peer: &Peer, setup: &Setup) -> Contestant<'static> {
        let mut words = vec![setup.program.clone().into_os_string()];
        words.extend(["one", peer.name].map(OsString::from));
        words.extend(self.words.iter().map(OsString::from));
        let seconds = self.seconds * setup.stretch;
        words.extend(["--seconds".into(), seconds.to_string().into()]);
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
            let best = self.figure.best(peers, &values, peer.kind);
            let share = |count: Option<u64>, outcome: &Outcome| {
                let even = outcome.operations as f64 / f64::from(self.threads?);
                Some(count? as f64 / even)
            };
            Row {
                lock: peer.name,
                kind: peer.kind,
                ours: peer.is_ours(),
                called: peer.called,
                figure: Estimate::of(own),
                of_glibc: if self.keyed { None } else { over(&values[0]) },
                beyond: if self.keyed { beyond(&values[0]) } else { None },
                of_best: best.and_then(|best| over(&values[best])),
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

    /// The index of the best lock of a kind that is not Cohort's.
    fn best(self, peers: &[&Peer], values: &[Vec<f64>], kind: Kind) -> Option<usize> {
        let theirs = (0..peers.len()).filter(|place| {
            let peer = peers[*place];
            peer.kind == kind && !peer.is_ours()
        });
        let figures = theirs.filter_map(|place| Some((place, median(&values[place])?)));
        figures
            .reduce(|best, next| {
                if self.prefers(next.1, best.1) {
                    next
                } else {
                    best
                }
            })
            .map(|(place, _)| place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cohort_lab::rounds::Sample;
    use cohort_lab::runner::Run;
    use cohort_lab::workloads::Pair;

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
        let peers = ["glibc", "std", "pthread-futex", "glibc-spin", "tas"].map(named);
        let all = [
            series(&[10.0, 10.0]),
            series(&[40.0, 20.0]),
            series(&[20.0, 30.0]),
            series(&[5.0, 5.0]),
            series(&[10.0, 20.0]),
        ];
        let mut points = points(&[4]);
        let crowd = points.pop().unwrap();
        let table = crowd.table(&peers, &all);
        let ratios = |of: fn(&Row) -> Option<Estimate>| {
            let rows = table.rows.iter();
            rows.map(|row| of(row).unwrap().median).collect::<Vec<_>>()
        };
        assert_eq!(ratios(|row| row.of_glibc), [1.0, 3.0, 2.5, 0.5, 1.5]);
        // Round by round: 20 of 40 and 30 of 20; 10 of 5 and 20 of 5.
        assert_eq!(ratios(|row| row.of_best)[2..], [1.0, 1.0, 3.0]);
        assert_eq!(table.rows[0].least, Some(0.4));
        assert_eq!(table.rows[0].most, Some(3.0));
    }

    #[test]
    fn what_finding_a_lock_takes_is_told_beside_the_lock_where_it_lies() {
        let setup = Setup {
            program: PathBuf::new(),
            interposer: None,
            rounds: 2,
            stretch: 1.0,
        };
        let points = points(&[4]);
        let point = points.iter().find(|point| point.keyed).unwrap();
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
        let others = points.iter().filter(|point| !point.keyed);
        assert!(
            others
                .flat_map(|point| point.peers(&setup))
                .all(|peer| peer.kind != Kind::Keyed)
        );
    }

    #[test]
    fn a_lock_that_failed_is_nobodys_measure() {
        let named = |name| crate::peers::find(name).unwrap();
        let peers = ["glibc", "std", "pthread-futex"].map(named);
        let mut all = [series(&[10.0]), series(&[40.0]), series(&[20.0])];
        all[1].failure = Some("it hung".to_owned());
        let table = points(&[4]).pop().unwrap().table(&peers, &all);
        assert!(table.rows[1].figure.is_none() && table.rows[1].least.is_none());
        assert_eq!(table.rows[2].of_best.unwrap().median, 2.0);
    }
}
