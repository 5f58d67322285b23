//! Verdicts on each lock against the system's own, from interleaved rounds.

use crate::metric::{Metric, Words};
use crate::rounds::Series;
use crate::stats::{Estimate, median};
use serde::{Deserialize, Serialize};

/// Comparison, ready for display.
#[derive(Debug, Deserialize, Serialize)]
pub struct Comparison {
    /// The figures' title.
    pub metric: String,
    /// Whether less is better.
    pub lower_is_better: bool,
    /// One row for each lock, the system's first.
    pub rows: Vec<Row>,
}

/// Results of one lock.
#[derive(Debug, Deserialize, Serialize)]
pub struct Row {
    /// Its name.
    pub lock: String,
    /// The figure of every round.
    pub values: Vec<f64>,
    /// The figure's median.
    pub figure: Option<Estimate>,
    /// The gain over the system's locks, paired by rounds: 2 is twice as good.
    pub gain: Option<Estimate>,
    /// Median seconds from start to end.
    pub wall: Option<f64>,
    /// Median CPU seconds.
    pub cpu: Option<f64>,
    /// Median voluntary context switches.
    pub voluntary: Option<f64>,
    /// Median involuntary context switches.
    pub involuntary: Option<f64>,
    /// Rounds disturbed by other processes.
    pub disturbed: usize,
    /// The program's failure under this lock.
    pub failure: Option<String>,
    /// The answer; none for the system's own locks.
    pub answer: Option<Answer>,
    /// The answer in words.
    pub verdict: Option<String>,
}

/// Answer of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// Better than the system's locks.
    Better,
    /// Worse.
    Worse,
    /// No difference beyond noise.
    Noise,
    /// Too few rounds for an answer.
    Unsure,
    /// The program failed, or there was no reference.
    Failed,
}

impl Answer {
    /// The answer for an interval of gains.
    #[must_use]
    pub fn of(gain: Option<Estimate>) -> Self {
        match gain {
            None => Self::Failed,
            Some(gain) if !gain.is_sure() => Self::Unsure,
            Some(gain) if gain.holds(1.0) => Self::Noise,
            Some(gain) if gain.median > 1.0 => Self::Better,
            Some(_) => Self::Worse,
        }
    }
}

impl Comparison {
    /// Compares every series with the first, which is the system's.
    #[must_use]
    pub fn new(metric: &Metric, series: &[Series<f64>]) -> Self {
        let rows = series
            .iter()
            .enumerate()
            .map(|(place, one)| row(metric, one, (place > 0).then(|| &series[0])));
        Self {
            metric: metric.title(),
            lower_is_better: metric.lower_is_better(),
            rows: rows.collect(),
        }
    }

    /// A comparison for each of several metrics; each sample has the figures in that order.
    #[must_use]
    pub fn several(metrics: &[Metric], series: &[Series<Vec<f64>>]) -> Vec<Self> {
        let of = |place: usize| -> Vec<Series<f64>> {
            series.iter().map(|series| series.figure(place)).collect()
        };
        let metrics = metrics.iter().enumerate();
        metrics
            .map(|(place, metric)| Self::new(metric, &of(place)))
            .collect()
    }

    /// Whether the program failed under some lock.
    #[must_use]
    pub fn has_failures(&self) -> bool {
        self.rows.iter().any(|row| row.failure.is_some())
    }
}

fn row(metric: &Metric, series: &Series<f64>, system: Option<&Series<f64>>) -> Row {
    // A failed program's figures mean nothing, including earlier ones.
    let samples = match series.failure {
        Some(_) => &[],
        None => series.samples.as_slice(),
    };
    let of = |figure: fn(&crate::runner::Run) -> f64| {
        let figures: Vec<f64> = samples.iter().map(|sample| figure(&sample.run)).collect();
        median(&figures)
    };
    let values: Vec<f64> = samples.iter().map(|sample| sample.value).collect();
    let gain = system
        .filter(|system| series.failure.is_none() && system.failure.is_none())
        .and_then(|system| gain(metric, series, system));
    let (voluntary, involuntary) = (
        of(|run| run.voluntary as f64),
        of(|run| run.involuntary as f64),
    );
    Row {
        lock: series.name.clone(),
        figure: Estimate::of(&values),
        values,
        gain,
        wall: of(|run| run.wall),
        cpu: of(crate::runner::Run::cpu),
        voluntary,
        involuntary,
        disturbed: series.disturbed(),
        failure: series.failure.clone(),
        answer: system.map(|_| Answer::of(gain)),
        verdict: system.map(|system| {
            let disturbed = series.disturbed().max(system.disturbed());
            verdict(metric, series, gain, disturbed)
        }),
    }
}

/// The gain of `series` over `system`, round by round.
fn gain(metric: &Metric, series: &Series<f64>, system: &Series<f64>) -> Option<Estimate> {
    let pairs = series.samples.iter().zip(&system.samples);
    let gains: Vec<f64> = pairs
        .map(|(ours, theirs)| {
            if metric.lower_is_better() {
                theirs.value / ours.value
            } else {
                ours.value / theirs.value
            }
        })
        .collect();
    Estimate::of(&gains)
}

fn verdict(
    metric: &Metric,
    series: &Series<f64>,
    gain: Option<Estimate>,
    disturbed: usize,
) -> String {
    if series.failure.is_some() {
        return "the program failed".to_owned();
    }
    let Some(gain) = gain else {
        return "no baseline".to_owned();
    };
    let words = in_words(gain, metric.words());
    if disturbed == 0 {
        return words;
    }
    format!(
        "{words} (other processes used the CPUs in {disturbed} of {} rounds)",
        gain.count
    )
}

/// "4.1 times faster", "3 % slower", "no difference shown", "negligible difference".
#[must_use]
pub fn in_words(gain: Estimate, words: Words) -> String {
    let difference = difference(gain.median, words);
    match Answer::of(Some(gain)) {
        Answer::Noise => "no difference shown".to_owned(),
        // An interval may exclude 1 by less than is worth reporting.
        _ if (gain.median - 1.0).abs() < 0.005 => "negligible difference".to_owned(),
        Answer::Unsure if gain.holds(1.0) => {
            format!("no difference shown; {} too few", rounds(gain.count))
        }
        Answer::Unsure => format!("{difference}; {} too few", rounds(gain.count)),
        _ => difference,
    }
}

/// A gain in words: a factor if large, per cent if small.
fn difference(gain: f64, words: Words) -> String {
    let factor = if gain >= 1.0 { gain } else { 1.0 / gain };
    let (Words::Rate(better, worse) | Words::Amount(better, worse)) = words;
    let word = if gain >= 1.0 { better } else { worse };
    match words {
        // Twice the gain is half the amount.
        Words::Amount(..) if gain >= 1.0 => format!("{} {word}", percent(1.0 - 1.0 / gain)),
        Words::Rate(..) if factor >= 1.095 => {
            format!("{} times {word}", times(factor).trim_end_matches('×'))
        }
        _ => format!("{} {word}", percent(factor - 1.0)),
    }
}

fn percent(share: f64) -> String {
    format!("{} %", (share * 100.0).round().max(1.0))
}

fn rounds(count: usize) -> String {
    match count {
        1 => "a single round is".to_owned(),
        count => format!("{count} rounds are"),
    }
}

/// A factor with suitable digits.
#[must_use]
pub fn times(factor: f64) -> String {
    match factor {
        factor if factor.is_infinite() => "∞".to_owned(),
        factor if factor >= 99.95 => format!("{factor:.0}×"),
        factor if factor >= 1.995 => format!("{factor:.1}×"),
        _ => format!("{factor:.2}×"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rounds::Sample;
    use crate::runner::Run;

    fn series(name: &str, values: &[f64]) -> Series<f64> {
        let samples = values.iter().map(|value| Sample {
            value: *value,
            run: Run {
                wall: *value,
                user: 0.0,
                system: 0.0,
                voluntary: 3,
                involuntary: 4,
                foreign: Some(0.0),
                output: String::new(),
            },
        });
        Series {
            name: name.to_owned(),
            samples: samples.collect(),
            failure: None,
        }
    }

    fn verdict_on(ours: &[f64]) -> String {
        let all = [
            series("system", &[4.0, 4.1, 4.2, 4.0, 4.1, 4.2, 4.3]),
            series("ours", ours),
        ];
        let comparison = Comparison::new(&Metric::Wall, &all);
        comparison.rows[1].verdict.clone().unwrap()
    }

    #[test]
    fn half_the_time_is_twice_as_fast() {
        assert_eq!(
            verdict_on(&[2.0, 2.05, 2.1, 2.0, 2.05, 2.1, 2.15]),
            "2.0 times faster"
        );
    }

    #[test]
    fn longer_is_slower() {
        let slower = verdict_on(&[8.0, 8.2, 8.4, 8.0, 8.2, 8.4, 8.6]);
        assert_eq!(slower, "2.0 times slower");
    }

    #[test]
    fn a_difference_that_no_figure_shows_is_not_named() {
        let hardly = verdict_on(&[4.01, 4.11, 4.21, 4.01, 4.11, 4.21, 4.31]);
        assert_eq!(hardly, "negligible difference");
    }

    #[test]
    fn small_gains_are_told_in_per_cent() {
        let rate = Words::Rate("faster", "slower");
        for (gain, words) in [
            (11.84, "11.8 times faster"),
            (1.15, "1.15 times faster"),
            (1.049, "5 % faster"),
            (0.98, "2 % slower"),
            (0.5, "2.0 times slower"),
        ] {
            assert_eq!(difference(gain, rate), words);
        }
        let amount = Words::Amount("less CPU time", "more CPU time");
        assert_eq!(difference(2.0, amount), "50 % less CPU time");
        assert_eq!(difference(0.5, amount), "100 % more CPU time");
    }

    #[test]
    fn what_straddles_one_is_noise() {
        let noise = verdict_on(&[3.9, 4.3, 4.1, 4.2, 4.0, 4.1, 4.4]);
        assert_eq!(noise, "no difference shown");
        let few = verdict_on(&[3.9, 4.3]);
        assert!(few.starts_with("no difference shown"), "{few}");
    }

    #[test]
    fn few_rounds_are_not_trusted() {
        assert!(verdict_on(&[2.0, 2.0]).contains("too few"));
    }

    #[test]
    fn a_failure_is_never_averaged() {
        let mut failed = series("ours", &[1.0; 6]);
        failed.failure = Some("it ended with exit status 1".to_owned());
        let all = [series("system", &[2.0; 7]), failed];
        let row = &Comparison::new(&Metric::Wall, &all).rows[1];
        assert!(row.figure.is_none() && row.gain.is_none() && row.cpu.is_none());
        assert_eq!(row.verdict.as_deref(), Some("the program failed"));
    }

    #[test]
    fn a_disturbed_round_is_told() {
        let mut ours = series("ours", &[2.0; 7]);
        ours.samples[2].run.foreign = Some(0.5);
        let all = [series("system", &[4.0; 7]), ours];
        let verdict = Comparison::new(&Metric::Wall, &all).rows[1].verdict.clone();
        assert_eq!(
            verdict.as_deref(),
            Some("2.0 times faster (other processes used the CPUs in 1 of 7 rounds)")
        );
    }
}
