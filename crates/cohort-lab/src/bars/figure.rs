//! The figure of an experiment that counts.

use super::envelope::Reach;
use super::experiment::Played;
use super::reading::{Reading, UNFELT, Unit};
use crate::rounds::{Sample, Series};
use crate::stats::{Estimate, geometric_mean, median};
use crate::workloads::Outcome;

/// Figure; except for bytes, nanoseconds, seconds and libraries, it is Cohort's over the other's,
/// round by round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// The time of an uncontended pair.
    PairTime,
    /// The same of each contestant; the last one is the reference.
    EachPairTime,
    /// The nanoseconds of an uncontended pair, without a reference.
    OwnPair,
    /// The nanoseconds of an uncontended pair beyond the reference's.
    PairBeyond,
    /// The time of an uncontended pair; the reference is the sum of all others'.
    PairTimeOfSum,
    /// A program's speed-up.
    Speed,
    /// A program's duration.
    Time,
    /// Its CPU time.
    CpuTime,
    /// Voluntary context switches.
    Switches,
    /// How often a lock was found held.
    FoundTaken,
    /// The time to acquire; the reference is the best of several.
    Wait(Which),
    /// The 99.9th percentile of the delay of timeouts; the reference is the best of several.
    Late,
    /// Throughput at each point.
    Throughput,
    /// Throughput of each contestant at each point; the last one is the reference.
    EachThroughput,
    /// Throughput at each point; the reference is the best of several.
    OfBest,
    /// Its geometric mean over all points.
    MeanOfBest,
    /// Throughput of the contestant of that name at each point; the last one is the reference.
    ThroughputOf(&'static str),
    /// A load's throughput beside a running command, over its own without.
    OfUnwatched,
    /// The 99.9th percentile of latency at each point; the last one is the reference.
    Tail,
    /// Operations of the least-served thread at each point; the last one is the reference.
    LeastServed,
    /// Bytes per object beyond the reference's.
    BytesEach,
    /// Bytes per object, without a reference.
    BytesInAll,
    /// This command's duration in seconds.
    Seconds,
    /// The size of the preload library.
    LibraryBytes,
    /// The number of libraries that it needs besides the C library.
    Needed,
    /// Figure of the envelope.
    Envelope(Reach),
}

/// Statistic of waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The median.
    P50,
    /// The 90th percentile.
    P90,
    /// The 99th percentile.
    P99,
    /// The mean.
    Mean,
}

/// The least number of timeouts for a 99.9th percentile.
const ENOUGH: u64 = 1_000;

/// Accidental switches, or lock conflicts: fewer count as this many.
const CHANCE: f64 = 300.0;

impl Figure {
    /// Its unit.
    pub fn unit(self) -> Unit {
        match self {
            Self::BytesEach | Self::BytesInAll | Self::LibraryBytes => Unit::Bytes,
            Self::PairBeyond | Self::OwnPair => Unit::Nanoseconds,
            Self::Needed => Unit::Libraries,
            Self::Seconds => Unit::Seconds,
            _ => Unit::Ratio,
        }
    }

    /// The figure at each point.
    ///
    /// # Errors
    /// A contestant lacks the value.
    pub fn read(self, played: &Played) -> Result<Vec<Reading>, String> {
        let mut all = Vec::new();
        for (point, series) in played {
            match self {
                Self::EachThroughput => all.extend(each(&point.label, series, throughput)?),
                Self::EachPairTime => all.extend(each(&point.label, series, pair)?),
                Self::Seconds => all.push((
                    point.label.clone(),
                    own(series, |outcome| Some(outcome.seconds))?,
                )),
                Self::OwnPair => all.push((point.label.clone(), own(series, pair)?)),
                Self::OfUnwatched => all.push((
                    point.label.clone(),
                    own(series, |outcome| outcome.of_unwatched)?,
                )),
                Self::BytesInAll => all.push((
                    point.label.clone(),
                    own(series, |outcome| outcome.bytes_each)?,
                )),
                _ => all.push((point.label.clone(), self.per_round(series)?)),
            }
        }
        if self == Self::MeanOfBest {
            all = vec![(String::new(), means(&all))];
        }
        all.into_iter()
            .map(|(at, figures)| {
                let figure = Estimate::of(&figures).ok_or("a figure is no number")?;
                Ok(Reading { at, figure })
            })
            .collect()
    }

    /// The figure of every round at one point; Cohort's is the last contestant.
    fn per_round(self, series: &[Series<Outcome>]) -> Result<Vec<f64>, String> {
        let (ours, others) = series.split_last().ok_or("no contestant ran")?;
        let last = others.last().ok_or("no contestant to compare with")?;
        let time = |outcome: &Outcome| Some(outcome.seconds);
        let tail = |outcome: &Outcome| outcome.latency.map(|latency| latency.p999 as f64);
        let least = |outcome: &Outcome| outcome.least.map(|least| least as f64);
        let bytes = |outcome: &Outcome| outcome.bytes_each;
        let cpu_time = |outcome: &Outcome| outcome.cpu_seconds;
        let by_chance = |count: u64| (count as f64).max(CHANCE);
        match self {
            Self::PairTime => paired(ours, last, pair, ratio),
            Self::PairBeyond => paired(ours, last, pair, |ours, theirs| ours - theirs),
            Self::PairTimeOfSum => {
                let pairs = figures(ours, pair)?.into_iter().zip(sums(others, pair)?);
                Ok(pairs.map(|(ours, sum)| ratio(ours, sum)).collect())
            }
            Self::Speed => paired(last, ours, time, ratio),
            Self::Time => paired(ours, last, time, ratio),
            Self::CpuTime => paired(ours, last, cpu_time, ratio),
            Self::Switches => paired(ours, last, |outcome| outcome.switches.map(by_chance), ratio),
            Self::FoundTaken => paired(
                ours,
                last,
                |outcome| outcome.found_taken.map(by_chance),
                ratio,
            ),
            Self::Wait(which) => {
                let wait = |outcome: &Outcome| which.of(outcome);
                let quickest = best(others, |outcome| -wait(outcome).unwrap_or(f64::INFINITY));
                paired(ours, quickest, wait, ratio)
            }
            Self::Late => {
                let quickest = best(others, |outcome| -late(outcome).unwrap_or(f64::INFINITY));
                let pairs = ours.samples.iter().zip(&quickest.samples);
                let level = |(ours, theirs): (&Sample<Outcome>, &Sample<Outcome>)| {
                    let late = (late(&ours.value), late(&theirs.value));
                    let (Some(ours), Some(theirs)) = late else {
                        return 1.0;
                    };
                    ratio(ours, theirs)
                };
                Ok(pairs.map(level).collect())
            }
            Self::Throughput => paired(ours, last, throughput, ratio),
            Self::ThroughputOf(name) => {
                let named = others.iter().find(|series| series.name == name);
                paired(named.ok_or("it did not run")?, ours, throughput, ratio)
            }
            Self::OfBest | Self::MeanOfBest => {
                let best = best(others, |outcome| outcome.per_second);
                paired(ours, best, throughput, ratio)
            }
            Self::Tail => paired(ours, last, tail, ratio),
            Self::LeastServed => paired(ours, last, least, ratio),
            Self::BytesEach => paired(ours, last, bytes, |ours, theirs| ours - theirs),
            Self::EachThroughput
            | Self::EachPairTime
            | Self::OwnPair
            | Self::OfUnwatched
            | Self::BytesInAll
            | Self::LibraryBytes
            | Self::Seconds
            | Self::Needed
            | Self::Envelope(_) => Err("this figure is not of a single contestant".to_owned()),
        }
    }
}

impl Which {
    /// Its wait in nanoseconds, unless negligible.
    fn of(self, outcome: &Outcome) -> Option<f64> {
        let latency = outcome.latency?;
        let nanoseconds = match self {
            Self::P50 => latency.p50,
            Self::P90 => latency.p90,
            Self::P99 => latency.p99,
            Self::Mean => latency.mean,
        };
        Some((nanoseconds as f64).max(UNFELT))
    }
}

fn pair(outcome: &Outcome) -> Option<f64> {
    outcome.pair.map(|pair| pair.median)
}

/// The delay of timeouts in nanoseconds, unless negligible, if there were enough.
fn late(outcome: &Outcome) -> Option<f64> {
    let late = outcome.latency.filter(|late| late.sampled >= ENOUGH)?;
    Some((late.p999 as f64).max(UNFELT))
}

fn throughput(outcome: &Outcome) -> Option<f64> {
    Some(outcome.per_second)
}

/// The figure of a single contestant.
fn own(
    series: &[Series<Outcome>],
    figure: fn(&Outcome) -> Option<f64>,
) -> Result<Vec<f64>, String> {
    figures(series.first().ok_or("no contestant ran")?, figure)
}

/// Each figure over the last one's, round by round.
fn each(
    label: &str,
    series: &[Series<Outcome>],
    figure: fn(&Outcome) -> Option<f64>,
) -> Result<Vec<(String, Vec<f64>)>, String> {
    let (last, others) = series.split_last().ok_or("no contestant ran")?;
    others
        .iter()
        .map(|other| {
            let at = match label {
                "" => other.name.clone(),
                _ => format!("{}, {label}", other.name),
            };
            Ok((at, paired(other, last, figure, ratio)?))
        })
        .collect()
}

/// The contestant with the greatest median.
fn best(others: &[Series<Outcome>], figure: impl Fn(&Outcome) -> f64) -> &Series<Outcome> {
    let middle = |series: &Series<Outcome>| {
        let figures = series.figures(|sample| figure(&sample.value));
        median(&figures).unwrap_or(f64::NEG_INFINITY)
    };
    others
        .iter()
        .max_by(|a, b| middle(a).total_cmp(&middle(b)))
        .unwrap_or(&others[0])
}

/// The sum of all figures, round by round.
fn sums(all: &[Series<Outcome>], figure: fn(&Outcome) -> Option<f64>) -> Result<Vec<f64>, String> {
    let mut sums = Vec::new();
    for series in all {
        let own = figures(series, figure)?;
        sums.resize(own.len().max(sums.len()), 0.0);
        for (sum, figure) in sums.iter_mut().zip(own) {
            *sum += figure;
        }
    }
    Ok(sums)
}

fn figures(
    series: &Series<Outcome>,
    figure: impl Fn(&Outcome) -> Option<f64>,
) -> Result<Vec<f64>, String> {
    let samples = series.samples.iter();
    samples
        .map(|sample| {
            figure(&sample.value).ok_or_else(|| format!("{} printed no figure", series.name))
        })
        .collect()
}

fn paired(
    a: &Series<Outcome>,
    b: &Series<Outcome>,
    figure: impl Fn(&Outcome) -> Option<f64>,
    combine: fn(f64, f64) -> f64,
) -> Result<Vec<f64>, String> {
    let (ours, theirs) = (figures(a, &figure)?, figures(b, &figure)?);
    let pairs = ours.into_iter().zip(theirs);
    Ok(pairs.map(|(ours, theirs)| combine(ours, theirs)).collect())
}

/// The ratio; 1 for two zeroes.
fn ratio(ours: f64, theirs: f64) -> f64 {
    if ours == theirs { 1.0 } else { ours / theirs }
}

/// The geometric mean over all points, round by round.
fn means(all: &[(String, Vec<f64>)]) -> Vec<f64> {
    let rounds = all.iter().map(|(_, figures)| figures.len()).min();
    (0..rounds.unwrap_or(0))
        .filter_map(|round| {
            let of_round: Vec<f64> = all.iter().map(|(_, figures)| figures[round]).collect();
            geometric_mean(&of_round)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bars::experiment::Point;
    use crate::runner::Run;
    use crate::workloads::Latency;

    fn series(outcomes: &[(f64, u64)]) -> Series<Outcome> {
        let samples = outcomes.iter().map(|(per_second, least)| Sample {
            value: Outcome {
                per_second: *per_second,
                least: Some(*least),
                ..Outcome::default()
            },
            run: Run::default(),
        });
        Series {
            name: "x".to_owned(),
            samples: samples.collect(),
            failure: None,
        }
    }

    #[test]
    fn the_best_of_the_others_counts() {
        let all = [
            series(&[(10.0, 1), (10.0, 1)]),
            series(&[(40.0, 2), (20.0, 4)]),
            series(&[(20.0, 1), (30.0, 0)]),
        ];
        assert_eq!(Figure::OfBest.per_round(&all).unwrap(), [0.5, 1.5]);
        assert_eq!(Figure::Throughput.per_round(&all).unwrap(), [0.5, 1.5]);
        assert_eq!(Figure::LeastServed.per_round(&all).unwrap(), [0.5, 0.0]);
    }

    #[test]
    fn each_is_compared_with_the_last() {
        let mut all = [
            series(&[(10.0, 1), (40.0, 1)]),
            series(&[(40.0, 1), (20.0, 1)]),
            series(&[(20.0, 1), (20.0, 1)]),
        ];
        all[1].name = "y".to_owned();
        let figures = each("200 ns", &all, throughput).unwrap();
        let expected = [("x, 200 ns", [0.5, 2.0]), ("y, 200 ns", [2.0, 1.0])];
        assert_eq!(figures.len(), expected.len());
        for ((at, figures), (name, ratios)) in figures.iter().zip(expected) {
            assert_eq!((at.as_str(), figures.as_slice()), (name, &ratios[..]));
        }
    }

    fn waiting(waits: &[u64]) -> Series<Outcome> {
        let mut series = series(&vec![(1.0, 1); waits.len()]);
        for (sample, wait) in series.samples.iter_mut().zip(waits) {
            sample.value.latency = Some(Latency {
                p50: 1_000,
                p90: *wait,
                p99: *wait,
                p999: *wait,
                most: *wait,
                mean: *wait / 2,
                sampled: 1,
            });
        }
        series
    }

    #[test]
    fn the_quickest_of_the_others_counts_as_far_as_waits_are_felt() {
        let all = [
            waiting(&[40_000, 40_000]),
            waiting(&[20_000, 10_000]),
            waiting(&[20_000, 30_000]),
        ];
        let figure = |which| Figure::Wait(which).per_round(&all).unwrap();
        assert_eq!(figure(Which::P90), [1.0, 3.0]);
        assert_eq!(figure(Which::Mean), [1.0, 3.0]);
        assert_eq!(figure(Which::P50), [1.0, 1.0]);
        let unfelt = [waiting(&[10]), waiting(&[4_000])];
        let figures = Figure::Wait(Which::P99).per_round(&unfelt).unwrap();
        assert_eq!(figures, [1.0]);
    }

    #[test]
    fn lateness_counts_where_enough_give_up() {
        let giving_up = |waits: &[u64], sampled: u64| {
            let mut series = waiting(waits);
            for sample in &mut series.samples {
                let late = sample.value.latency.as_mut().unwrap();
                late.sampled = sampled;
            }
            series
        };
        let figure = |all: &[Series<Outcome>]| Figure::Late.per_round(all).unwrap();
        let others = || {
            [
                giving_up(&[40_000, 40_000], ENOUGH),
                giving_up(&[20_000, 10_000], ENOUGH),
            ]
        };
        let [one, other] = others();
        let ours = giving_up(&[30_000, 1_000], ENOUGH);
        assert_eq!(figure(&[one, other, ours]), [1.5, 0.5]);
        let [one, other] = others();
        let few = giving_up(&[30_000, 30_000], ENOUGH - 1);
        assert_eq!(figure(&[one, other, few]), [1.0, 1.0]);
        let [one, _] = others();
        let few = giving_up(&[10, 10], ENOUGH - 1);
        let ours = giving_up(&[80_000, 20_000], ENOUGH);
        assert_eq!(figure(&[few, one, ours]), [2.0, 0.5]);
    }

    #[test]
    fn few_switches_are_chance() {
        let mut all = [series(&[(1.0, 1)]), series(&[(1.0, 1)])];
        for (series, count) in all.iter_mut().zip([20, 250]) {
            series.samples[0].value.switches = Some(count);
            series.samples[0].value.found_taken = Some(3 * count);
        }
        assert_eq!(Figure::Switches.per_round(&all).unwrap(), [1.0]);
        assert_eq!(Figure::FoundTaken.per_round(&all).unwrap(), [2.5]);
    }

    #[test]
    fn what_was_not_told_is_no_figure() {
        let all = [series(&[(1.0, 1)]), series(&[(1.0, 1)])];
        assert!(Figure::Tail.per_round(&all).is_err());
        assert!(Figure::LibraryBytes.per_round(&all).is_err());
    }

    #[test]
    fn bytes_are_told_of_one_by_itself() {
        let mut only = series(&[(1.0, 1)]);
        only.samples[0].value.bytes_each = Some(96.5);
        let point = Point {
            label: "at random".to_owned(),
            contestants: Vec::new(),
            read: Outcome::read,
        };
        let readings = Figure::BytesInAll.read(&vec![(point, vec![only])]).unwrap();
        assert_eq!(readings.len(), 1);
        assert_eq!(readings[0].at, "at random");
        assert_eq!(readings[0].figure.median, 96.5);
    }

    #[test]
    fn starved_alike_is_even() {
        assert_eq!(ratio(0.0, 0.0), 1.0);
        assert_eq!(ratio(3.0, 0.0), f64::INFINITY);
        assert_eq!(ratio(0.0, 3.0), 0.0);
    }

    #[test]
    fn means_are_taken_round_by_round() {
        let all = [
            (String::new(), vec![4.0, 1.0]),
            (String::new(), vec![1.0, 1.0]),
        ];
        assert_eq!(means(&all), [2.0, 1.0]);
    }
}
