//! Speed targets by name: what is run, the figure that counts, and its threshold.

mod envelope;
mod experiment;
mod figure;
mod library;
mod reading;
mod table;

pub use self::envelope::Drawn;
pub use experiment::Setup;
pub use reading::{Reading, Unit};
pub use table::{BARS, Bar, families, find};

use crate::envelope::{Envelope, EnvelopePlan, measure};
use crate::interrupt::Interrupted;
use crate::rounds::{self, Observer, Series};
use crate::stats::Estimate;
use experiment::{Experiment, Played, Point};
use figure::Figure;
use serde::Serialize;

/// Threshold of a figure.
#[derive(Clone, Copy, Debug)]
pub enum Target {
    /// This or more.
    AtLeast(f64),
    /// This or less.
    AtMost(f64),
}

/// Result of a target.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "verdict")]
pub enum Verdict {
    /// The median reaches the target.
    Met,
    /// The median misses the target.
    Missed {
        /// The distance, in words.
        by: String,
    },
    /// A prerequisite is missing.
    CannotRun {
        /// The prerequisite, and its source.
        why: String,
    },
    /// A run failed.
    Failed {
        /// The failure.
        why: String,
    },
}

/// Measured target.
#[derive(Clone, Debug, Serialize)]
pub struct Judgement {
    /// The target's name.
    pub name: &'static str,
    /// What it requires.
    pub asks: &'static str,
    /// The figure's unit.
    pub unit: Unit,
    /// The threshold, in words.
    pub target: String,
    /// The figure; of several, the worst, which is judged.
    pub figure: Option<Estimate>,
    /// The figure's point, or another remark on it.
    pub at: String,
    /// Whether the target lies inside the figure's interval.
    pub near: bool,
    /// The figure at each point, where there are several.
    pub points: Vec<Reading>,
    /// Rounds disturbed by other processes.
    pub disturbed: usize,
    /// Rounds in all.
    pub rounds: usize,
    /// The words after `cohort` that rerun the figure's point, if it is simulated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub again: Option<String>,
    /// The result.
    #[serde(flatten)]
    pub verdict: Verdict,
}

/// Selected targets, prepared; targets with the same runs share them.
pub struct Session {
    bars: Vec<&'static Bar>,
    experiments: Vec<(Experiment, Result<Vec<Point>, String>)>,
    envelope: Option<EnvelopePlan>,
    rounds: usize,
}

impl Session {
    /// Prepares `bars`; runs only the checks of prerequisites.
    #[must_use]
    pub fn new(bars: Vec<&'static Bar>, setup: &Setup) -> Self {
        let mut experiments: Vec<(Experiment, _)> = Vec::new();
        for bar in &bars {
            if experiments
                .iter()
                .all(|(known, _)| *known != bar.experiment)
            {
                experiments.push((bar.experiment, bar.experiment.points(setup)));
            }
        }
        let is_wanted = bars
            .iter()
            .any(|bar| bar.experiment == Experiment::Envelope);
        Self {
            bars,
            experiments,
            envelope: is_wanted.then(|| envelope::plan(setup.quick, setup.drawn)),
            rounds: setup.rounds,
        }
    }

    /// The number of runs without disturbances.
    #[must_use]
    pub fn planned(&self) -> usize {
        let planned = |(experiment, points): &(Experiment, Result<Vec<Point>, String>)| {
            let rounds = experiment.rounds(self.rounds);
            let points = points.iter().flatten();
            let each = points.map(|point| rounds::planned(&point.contestants, rounds));
            each.sum::<usize>()
        };
        let played: usize = self.experiments.iter().map(planned).sum();
        played + self.envelope.as_ref().map_or(0, EnvelopePlan::runs)
    }

    /// Runs everything and judges every target; after a signal, the targets measured so far. Blocks
    /// for minutes.
    pub fn run(self, setup: &Setup, observer: &mut (dyn Observer + Send)) -> Judged {
        let mut judged = Judged::default();
        let measured = match &self.envelope {
            None => Err("not measured".to_owned()),
            Some(plan) => measure(plan, observer).map(|(envelope, signal)| {
                judged.signal = signal;
                judged.points = Some([envelope.points.len(), envelope.wanted]);
                envelope
            }),
        };
        let mut all: Vec<(Experiment, Result<Played, String>)> = Vec::new();
        for (experiment, points) in self.experiments {
            if judged.signal.is_some() {
                break;
            }
            let rounds = experiment.rounds(self.rounds);
            match points.map(|points| play(points, rounds, observer)) {
                Err(why) => all.push((experiment, Err(why))),
                Ok(Ok(played)) => all.push((experiment, Ok(played))),
                Ok(Err(signal)) => judged.signal = Some(signal),
            }
        }
        for bar in self.bars {
            let played = all
                .iter()
                .find(|(experiment, _)| *experiment == bar.experiment)
                .map(|(_, played)| played);
            let has_points = measured.as_ref().is_ok_and(|it| !it.points.is_empty());
            let is_measured = played.is_some() || bar.is_long() && has_points;
            if judged.signal.is_none() || is_measured {
                let judgement = judgement(bar, setup, played, &measured);
                judged.judgements.push(judgement);
            }
        }
        judged
    }
}

/// Result of a session.
#[derive(Debug, Default)]
pub struct Judged {
    /// Each measured target.
    pub judgements: Vec<Judgement>,
    /// The signal that ended it.
    pub signal: Option<Interrupted>,
    /// Simulated points: measured and planned.
    pub points: Option<[usize; 2]>,
}

fn play(
    points: Vec<Point>,
    rounds: usize,
    observer: &mut dyn Observer,
) -> Result<Played, Interrupted> {
    let mut played = Vec::new();
    for point in points {
        let series = rounds::play(&point.contestants, rounds, point.read, observer)?;
        played.push((point, series));
    }
    Ok(played)
}

fn judgement(
    bar: &'static Bar,
    setup: &Setup,
    played: Option<&Result<Played, String>>,
    measured: &Result<Envelope, String>,
) -> Judgement {
    let mut judgement = Judgement {
        name: bar.name,
        asks: bar.asks,
        unit: bar.figure.unit(),
        target: bar.target.in_words(bar.figure.unit()),
        figure: None,
        at: String::new(),
        near: false,
        points: Vec::new(),
        disturbed: 0,
        rounds: 0,
        again: None,
        verdict: Verdict::Met,
    };
    let readings = match (bar.figure, played) {
        (Figure::LibraryBytes | Figure::Needed, _) => library::read(bar.figure, &setup.interposer),
        (Figure::Envelope(reach), _) => match measured {
            Ok(measured) => envelope::read(reach, measured),
            Err(why) => Err(why.clone()),
        },
        (_, Some(Ok(played))) => {
            let series = || played.iter().flat_map(|(_, series)| series);
            judgement.disturbed = series().map(Series::disturbed).sum();
            judgement.rounds = series().map(|series| series.samples.len()).sum();
            let failure = series().find_map(|series| {
                let why = series.failure.as_ref()?;
                Some(format!("{}: {why}", series.name))
            });
            match failure {
                Some(why) => Err(why),
                None => bar.figure.read(played),
            }
        }
        (_, Some(Err(why))) => {
            judgement.verdict = Verdict::CannotRun { why: why.clone() };
            return judgement;
        }
        (_, None) => Err("not run".to_owned()),
    };
    let worst = readings.and_then(|readings| {
        let worst = bar.target.worst(&readings).cloned();
        judgement.points = readings;
        worst.ok_or_else(|| "no figure".to_owned())
    });
    match worst {
        Err(why) => judgement.verdict = Verdict::Failed { why },
        Ok(worst) => {
            let figure = worst.figure;
            judgement.figure = Some(figure);
            let again = |measured| envelope::again(&worst.at, measured);
            judgement.again = match bar.figure {
                Figure::Envelope(_) => measured.as_ref().ok().and_then(again),
                _ => None,
            };
            judgement.at = worst.at;
            judgement.near = figure.count > 1 && figure.holds(bar.target.value());
            judgement.verdict = bar.target.judge(figure.median, bar.figure.unit());
        }
    }
    judgement
}

impl Target {
    fn value(self) -> f64 {
        match self {
            Self::AtLeast(value) | Self::AtMost(value) => value,
        }
    }

    fn worst(self, readings: &[Reading]) -> Option<&Reading> {
        let order = |a: &&Reading, b: &&Reading| a.figure.median.total_cmp(&b.figure.median);
        match self {
            Self::AtLeast(_) => readings.iter().min_by(order),
            Self::AtMost(_) => readings.iter().max_by(order),
        }
    }

    fn judge(self, figure: f64, unit: Unit) -> Verdict {
        let excess = match self {
            Self::AtLeast(value) => value - figure,
            Self::AtMost(value) => figure - value,
        };
        if excess <= 0.0 {
            return Verdict::Met;
        }
        let by = match unit {
            Unit::Ratio => self.distance(figure),
            Unit::Bytes => format!("{excess:.1} bytes"),
            Unit::Nanoseconds => format!("{excess:.1} ns"),
            Unit::Libraries => format!("{excess:.0} libraries"),
            Unit::Seconds => format!("{excess:.1} s"),
        };
        Verdict::Missed { by }
    }

    /// The distance of a ratio from the target, in percent while that is readable.
    fn distance(self, figure: f64) -> String {
        let factor = match self {
            Self::AtLeast(value) => value / figure,
            Self::AtMost(value) => figure / value,
        };
        match factor {
            factor if factor.is_infinite() => "everything".to_owned(),
            factor if factor >= 2.0 => format!("a factor of {factor:.1}"),
            _ => format!("{:.1} %", (figure / self.value() - 1.0).abs() * 100.0),
        }
    }

    fn in_words(self, unit: Unit) -> String {
        match self {
            Self::AtLeast(value) => format!("≥ {}", unit.show(value)),
            Self::AtMost(value) => format!("≤ {}", unit.show(value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(median: f64) -> Reading {
        Reading {
            at: String::new(),
            figure: Estimate::of(&[median]).unwrap(),
        }
    }

    #[test]
    fn the_worst_point_is_judged() {
        let readings = [reading(1.0), reading(0.5), reading(2.0)];
        let worst = |target: Target| target.worst(&readings).unwrap().figure.median;
        assert_eq!(worst(Target::AtLeast(1.0)), 0.5);
        assert_eq!(worst(Target::AtMost(1.0)), 2.0);
        assert!(Target::AtLeast(1.0).worst(&[]).is_none());
    }

    #[test]
    fn missing_is_told_in_the_figures_unit() {
        let missed = |target: Target, figure, unit| match target.judge(figure, unit) {
            Verdict::Missed { by } => by,
            other => panic!("{other:?}"),
        };
        assert_eq!(missed(Target::AtLeast(5.0), 4.0, Unit::Ratio), "20.0 %");
        assert_eq!(
            missed(Target::AtLeast(5.0), 1.0, Unit::Ratio),
            "a factor of 5.0"
        );
        assert_eq!(missed(Target::AtLeast(5.0), 0.0, Unit::Ratio), "everything");
        assert_eq!(missed(Target::AtMost(0.5), 16.5, Unit::Bytes), "16.0 bytes");
        assert_eq!(Target::AtMost(1.0).judge(1.0, Unit::Ratio), Verdict::Met);
        assert_eq!(
            Target::AtLeast(1.0).judge(f64::INFINITY, Unit::Ratio),
            Verdict::Met
        );
    }

    #[test]
    fn names_are_unique_and_found() {
        for (place, bar) in BARS.iter().enumerate() {
            let first = BARS.iter().position(|other| other.name == bar.name);
            assert_eq!(first, Some(place), "{}", bar.name);
            let found: Vec<&str> = find(bar.name).iter().map(|bar| bar.name).collect();
            assert_eq!(found, [bar.name]);
        }
        assert!(find("no-such-bar").is_empty() && find("").is_empty());
    }

    #[test]
    fn a_family_is_found_by_what_its_names_begin_with() {
        let waits: Vec<&str> = find("wait").iter().map(|bar| bar.name).collect();
        assert_eq!(
            waits,
            [
                "wait-p50",
                "wait-p90",
                "wait-p99",
                "wait-mean",
                "wait-rwlock"
            ]
        );
        let families = families();
        for family in ["wait", "oversubscribed", "python", "tune"] {
            assert!(families.contains(family), "{families:?}");
        }
        // A target with exactly that name precedes those with that prefix.
        assert!(!families.contains("composition"));
        assert_eq!(find("composition").len(), 1);
    }
}
