//! Estimated CPU time of claims, from a record of earlier runs.
//!
//! `durations.txt` has the CPU time of each claim with some seeds, and that of a probe on the same
//! host. A claim takes the recorded time times the share of its points that run, times the host's
//! speed by the probe; a claim without a record, the mean of its paper's for its load. Complete
//! claims correct the rest, and the next runs on this host. The beginning of a run says too little:
//! hundreds of threads first queue for one line, at no cost to the host, and give up at full speed
//! after.

use super::experiment::{Experiment, FIRST_SEED, Point, Simulators, Sweep, cpu_time};
use super::judge::Judged;
use super::{CLAIMS, Claim, Ends, Found, planned_of, wanted};
use crate::world::Placement;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

/// The record: a line for the probe, and one for each claim.
const SHIPPED: &str = include_str!("durations.txt");

/// Its CPU time is the host's speed.
const PROBE: Experiment = Experiment::new(
    "xeon-e7-4850x4",
    "lbench",
    Placement::Scattered,
    Sweep::Threads(&[32]),
)
.lasting(5);

/// The locks of the probe: a ticket lock, with all waiters on one line, and a queue.
const PROBED: [&str; 2] = ["ticket", "mcs"];

/// The share of the whole time that the record weighs beside completed claims.
const TRUST: f64 = 0.125;

/// The least and the greatest time beside the estimate, before any claim has completed.
const MARGIN: (f64, f64) = (0.7, 1.5);

/// A claim's recorded time.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Recorded {
    /// CPU seconds.
    seconds: f64,
    /// With so many seeds.
    seeds: usize,
    /// Whether its counterfactuals ran.
    counterfactuals: bool,
}

/// Recorded times: those of `durations.txt`, and those of earlier runs on this host.
#[derive(Debug)]
pub struct Record {
    text: String,
    file: Option<PathBuf>,
}

impl Record {
    /// The record with the times in that file, which learns.
    #[must_use]
    pub fn open(file: Option<PathBuf>) -> Self {
        let learnt = file.as_ref().and_then(|file| fs::read_to_string(file).ok());
        Self {
            text: format!("{SHIPPED}{}", learnt.unwrap_or_default()),
            file,
        }
    }

    /// The fields of each line, the latest first.
    fn lines(&self) -> impl Iterator<Item = Vec<&str>> {
        let lines = self.text.lines().filter(|line| !line.starts_with('#'));
        lines.rev().map(|line| line.split_whitespace().collect())
    }

    /// The time of the probe.
    fn probe(&self) -> Option<f64> {
        self.lines().find_map(|fields| match fields[..] {
            ["probe", seconds] => seconds.parse().ok(),
            _ => None,
        })
    }

    /// The time of a claim.
    fn claim(&self, id: &str) -> Option<Recorded> {
        self.lines().find_map(|fields| match fields[..] {
            [row, seconds, seeds, what] if row == id => Some(Recorded {
                seconds: seconds.parse().ok()?,
                seeds: seeds.parse().ok()?,
                counterfactuals: what == "all",
            }),
            _ => None,
        })
    }

    /// Adds a line to the file. Without a writable file, the record learns nothing.
    fn add(&self, line: &str) {
        let Some(file) = &self.file else { return };
        if let Some(folder) = file.parent() {
            let _ = fs::create_dir_all(folder);
        }
        let to = File::options().append(true).create(true).open(file);
        let _ = to.and_then(|mut to| writeln!(to, "{line}"));
    }
}

/// Estimated CPU time of claims, in their order.
#[derive(Debug)]
pub struct Forecast {
    record: Record,
    /// This host's time relative to the recorded host's.
    speed: f64,
    /// Estimated seconds of the claims that have not completed.
    rows: Vec<(&'static str, f64)>,
    /// Estimated seconds of all claims.
    whole: f64,
    /// Estimated and actual seconds of the complete claims.
    complete: (f64, f64),
}

impl Forecast {
    /// The estimate for these claims with `seeds` seeds on this host. Runs the probe. Blocks.
    #[must_use]
    pub fn new(claims: &[&'static Claim], seeds: usize, ends: Ends, record: Record) -> Self {
        let simulators = Simulators::default();
        let speed = probe(&simulators) / record.probe().unwrap_or(1.0);
        let mut met = BTreeSet::new();
        let rows = claims.iter().map(|claim| {
            let seconds = seconds(claim, seeds, ends, &record, &mut met, &simulators);
            (claim.id, seconds * speed)
        });
        Self::of(rows.collect(), record, speed)
    }

    fn of(rows: Vec<(&'static str, f64)>, record: Record, speed: f64) -> Self {
        Self {
            record,
            speed,
            whole: rows.iter().map(|(_, seconds)| seconds).sum(),
            rows,
            complete: (0.0, 0.0),
        }
    }

    /// The least and the greatest expected CPU time of all claims.
    #[must_use]
    pub fn range(&self) -> (Duration, Duration) {
        let (least, most) = MARGIN;
        let seconds = |share: f64| Duration::from_secs_f64(self.whole * share);
        (seconds(least), seconds(most))
    }

    /// Learns the CPU time of a complete claim, without runs shared with earlier ones.
    pub(super) fn learn(&mut self, row: &Judged, took: Duration) {
        if row.ends.is_empty() && !row.parts.is_empty() {
            let what = if row.counterfactuals.is_empty() {
                "own"
            } else {
                "all"
            };
            let seconds = row.took.as_secs_f64() / self.speed;
            let line = format!("{} {seconds:.1} {} {what}", row.id, row.seeds);
            self.record.add(&line);
        }
        self.complete(row.id, took);
    }

    fn complete(&mut self, id: &str, took: Duration) {
        let Some(row) = self.rows.iter().position(|(row, _)| *row == id) else {
            return;
        };
        let (_, expected) = self.rows.remove(row);
        self.complete.0 += expected;
        self.complete.1 += took.as_secs_f64();
    }

    /// The CPU time of the complete claims.
    #[must_use]
    pub const fn spent(&self) -> Duration {
        Duration::from_millis((self.complete.1 * 1e3) as u64)
    }

    /// The expected CPU time of the other claims, corrected by the complete ones.
    #[must_use]
    pub fn left(&self) -> Duration {
        let rest: f64 = self.rows.iter().map(|(_, seconds)| seconds).sum();
        let prior = self.whole * TRUST;
        let (expected, actual) = self.complete;
        let ratio = if expected + prior > 0.0 {
            (actual + prior) / (expected + prior)
        } else {
            1.0
        };
        Duration::from_secs_f64(rest * ratio)
    }
}

/// The points of a claim that run.
fn points(
    claim: &'static Claim,
    seeds: usize,
    ends: Ends,
    counterfactuals: bool,
) -> BTreeSet<Point> {
    let mut points = planned_of(claim, seeds, ends);
    if counterfactuals {
        let seeds = claim.seeds(seeds);
        points.extend(wanted(claim.counterfactuals, &Found::default(), &seeds));
    }
    points
}

/// The virtual time of all threads of these points.
fn load(points: &BTreeSet<Point>, simulators: &Simulators) -> f64 {
    let loads = points.iter().map(|point| point.load(simulators));
    loads.sum::<u64>() as f64
}

/// The seconds of a claim on the recorded host, without points that earlier claims share.
fn seconds(
    claim: &'static Claim,
    seeds: usize,
    ends: Ends,
    record: &Record,
    met: &mut BTreeSet<Point>,
    simulators: &Simulators,
) -> f64 {
    let Some(known) = record.claim(claim.id) else {
        let mut now = points(claim, seeds, ends, true);
        now.retain(|point| !met.contains(point));
        let seconds = load(&now, simulators) * rate(claim, record, simulators);
        met.append(&mut now);
        return seconds;
    };
    let then = points(claim, known.seeds, Ends::Deciding, known.counterfactuals);
    let then = load(&then, simulators);
    // A discovery or a profile has no points.
    if then == 0.0 {
        return known.seconds;
    }
    let mut now = points(claim, seeds, ends, known.counterfactuals);
    now.retain(|point| !met.contains(point));
    let part = load(&now, simulators) / then;
    met.append(&mut now);
    known.seconds * part
}

/// The recorded time of the other claims of a claim's paper, relative to their load.
fn rate(claim: &Claim, record: &Record, simulators: &Simulators) -> f64 {
    let is_alike = |other: &&Claim| other.id.get(..1) == claim.id.get(..1);
    let (mut time, mut work) = (0.0, 0.0);
    for other in CLAIMS.iter().filter(is_alike) {
        let Some(known) = record.claim(other.id) else {
            continue;
        };
        let then = points(other, known.seeds, Ends::Deciding, known.counterfactuals);
        let then = load(&then, simulators);
        if then > 0.0 {
            time += known.seconds;
            work += then;
        }
    }
    if work > 0.0 { time / work } else { 0.0 }
}

/// The CPU seconds of the probe on this host: the fastest of several runs, as others may disturb one.
fn probe(simulators: &Simulators) -> f64 {
    let run = |_| {
        let began = cpu_time();
        for point in PROBE.points(&PROBED, FIRST_SEED) {
            let outcome = point.run(simulators);
            debug_assert!(outcome.is_ok());
        }
        cpu_time().saturating_sub(began).as_secs_f64()
    };
    (0..PROBES).map(run).reduce(f64::min).unwrap_or_default()
}

/// The number of the probe's runs.
const PROBES: usize = 3;

#[cfg(test)]
mod tests {
    use super::super::{Seeds, find};
    use super::*;

    fn shipped() -> Record {
        Record::open(None)
    }

    #[test]
    fn every_paper_has_recorded_times() {
        let record = shipped();
        assert!(record.probe().is_some_and(|seconds| seconds > 0.0));
        let simulators = Simulators::default();
        for first in ["K1", "S1", "F1", "T1", "G1"] {
            let seconds = rate(find(first).unwrap(), &record, &simulators);
            assert!(seconds > 0.0, "{first}");
        }
        for fields in record.lines().filter(|fields| fields[0] != "probe") {
            assert!(find(fields[0]).is_some(), "{fields:?}");
            assert!(matches!(fields[3], "own" | "all"), "{fields:?}");
        }
    }

    /// Without a record, each unit of load takes as long as in the paper's other claims.
    #[test]
    fn a_claim_without_a_record_takes_its_papers_mean() {
        let simulators = Simulators::default();
        let of = |id: &str, record: &Record| {
            let claim = find(id).unwrap();
            seconds(
                claim,
                1,
                Ends::Deciding,
                record,
                &mut BTreeSet::new(),
                &simulators,
            )
        };
        let (k13, k15) = (ten("K13"), ten("K15"));
        let there = of("K15", &k13) / of("K13", &k13);
        let back = of("K13", &k15) / of("K15", &k15);
        assert!(
            there > 0.0 && (there * back - 1.0).abs() < 1e-9,
            "{there} and {back}"
        );
        assert_eq!(of("F1", &k13), 0.0);
    }

    /// A record of 10 s a seed.
    fn ten(id: &str) -> Record {
        let file = None;
        let text = format!("# host\nprobe 1\n{id} 99 1 own\n{id} 20 2 own\n");
        Record { text, file }
    }

    /// The seconds of these claims by that record.
    fn known(ids: &[&str], seeds: usize, ends: Ends) -> Vec<f64> {
        let (simulators, record) = (Simulators::default(), ten(ids[0]));
        let mut met = BTreeSet::new();
        let mut of = |claim| seconds(claim, seeds, ends, &record, &mut met, &simulators);
        let seconds = ids.iter().map(|id| of(find(id).unwrap()));
        seconds.map(|seconds| seconds.round()).collect()
    }

    /// A claim's time grows with the seeds, from the second on; it is 0 once the claim's points have run;
    /// each estimate adds two ends.
    #[test]
    fn the_time_scales_with_the_points_that_run() {
        assert_eq!(known(&["K13"], 1, Ends::Deciding), [10.0]);
        assert_eq!(known(&["K13"], 5, Ends::Deciding), [50.0]);
        assert_eq!(known(&["K13", "K13"], 5, Ends::Deciding), [50.0, 0.0]);
        assert_eq!(find("F12").unwrap().seeds, Seeds::One);
        assert_eq!(known(&["F12"], 5, Ends::Deciding), [20.0]);
        let estimates = super::super::estimates::of(find("K13").unwrap(), Ends::All).len();
        let both_ends = 10.0 * (1.0 + 2.0 * estimates as f64);
        assert_eq!(known(&["K13"], 1, Ends::All), [both_ends]);
    }

    #[test]
    fn complete_claims_correct_the_rest() {
        let rows = vec![("A", 10.0), ("B", 20.0), ("C", 30.0)];
        let mut forecast = Forecast::of(rows, shipped(), 1.0);
        let seconds = |time: Duration| time.as_secs_f64().round() as u64;
        assert_eq!(seconds(forecast.left()), 60);
        let (least, most) = forecast.range();
        assert_eq!((seconds(least), seconds(most)), (42, 90));
        // Twice as slow: (20 + 7.5) / (10 + 7.5) times the other 50 s.
        forecast.complete("A", Duration::from_secs(20));
        assert_eq!(seconds(forecast.left()), 79);
        // A resumed claim is not in the forecast.
        forecast.complete("A", Duration::from_secs(20));
        assert_eq!(seconds(forecast.left()), 79);
        forecast.complete("C", Duration::from_secs(60));
        // (80 + 7.5) / (40 + 7.5) times 20 s.
        assert_eq!(seconds(forecast.left()), 37);
        forecast.complete("B", Duration::from_secs(40));
        assert_eq!(seconds(forecast.left()), 0);
        assert_eq!(seconds(forecast.spent()), 120);
    }

    #[test]
    fn a_record_learns_from_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("new").join("times");
        let record = Record::open(Some(file.clone()));
        assert_ne!(record.claim("K13").map(|row| row.seconds), Some(123.5));
        record.add("K13 123.5 2 all");
        let again = Record::open(Some(file));
        let learnt = Recorded {
            seconds: 123.5,
            seeds: 2,
            counterfactuals: true,
        };
        assert_eq!(again.claim("K13"), Some(learnt));
        assert_eq!(again.probe(), record.probe());
    }
}
