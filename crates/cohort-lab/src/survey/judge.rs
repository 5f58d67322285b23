//! Verdicts on a program's runs under Cohort's and under the system's locks.

use crate::rounds::Series;
use crate::runner::Run;
use crate::stats::{Estimate, median};
use serde::Serialize;

/// The tolerated slow-down of a program.
const SLOWER: f64 = 1.05;

/// The ratio of context switches from which a program is worse off.
const SWITCHES: f64 = 3.0;

/// Fewer additional switches than this cost about a millisecond, whatever their ratio.
const FEW: f64 = 500.0;

/// Verdict on a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "verdict")]
pub enum Verdict {
    /// It is not worse off.
    Fine,
    /// It takes longer, beyond the interval.
    Slower,
    /// It switches context several times as often.
    Switches,
    /// It may be worse off, but there were too few rounds to tell.
    Unsure,
    /// It failed, or its check did.
    Failed {
        /// The failure.
        why: String,
    },
}

impl Verdict {
    /// Whether the survey fails because of it.
    #[must_use]
    pub fn is_bad(&self) -> bool {
        !matches!(self, Self::Fine | Self::Unsure)
    }
}

/// A program's figures under Cohort's locks over those under the system's.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Ratios {
    /// Of the duration.
    pub wall: Option<Estimate>,
    /// Of the CPU seconds.
    pub cpu: Option<Estimate>,
    /// Of the context switches.
    pub switches: Option<Estimate>,
}

/// A ratio in three digits.
#[must_use]
pub fn in_digits(ratio: f64) -> String {
    match ratio {
        ratio if ratio >= 99.5 => format!("{ratio:.0}"),
        ratio if ratio >= 9.95 => format!("{ratio:.1}"),
        _ => format!("{ratio:.2}"),
    }
}

/// Medians under one kind of lock.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Medians {
    /// The counted seconds.
    pub wall: Option<f64>,
    /// CPU seconds.
    pub cpu: Option<f64>,
    /// Context switches, voluntary and involuntary.
    pub switches: Option<f64>,
}

impl Medians {
    /// The medians of a series.
    #[must_use]
    pub fn of(series: &Series<f64>) -> Self {
        Self {
            wall: median(&series.figures(|sample| sample.value)),
            cpu: median(&series.figures(|sample| sample.run.cpu())),
            switches: median(&series.figures(|sample| switches(&sample.run))),
        }
    }
}

fn switches(run: &Run) -> f64 {
    (run.voluntary + run.involuntary) as f64
}

impl Ratios {
    /// Cohort's figures over the system's, round by round.
    #[must_use]
    pub fn of(ours: &Series<f64>, system: &Series<f64>) -> Self {
        let ratio = |figure: fn(f64, &Run) -> f64, least: f64| {
            let pairs = ours.samples.iter().zip(&system.samples);
            let of =
                |sample: &crate::rounds::Sample<f64>| figure(sample.value, &sample.run).max(least);
            let ratios: Vec<f64> = pairs.map(|(ours, theirs)| of(ours) / of(theirs)).collect();
            Estimate::of(&ratios)
        };
        Self {
            wall: ratio(|wall, _| wall, f64::MIN_POSITIVE),
            // The kernel may count in ticks, and report zero.
            cpu: ratio(|_, run| run.cpu(), 1e-3),
            switches: ratio(|_, run| switches(run), 1.0),
        }
    }
}

/// The verdict on two series.
#[must_use]
pub fn verdict(ratios: &Ratios, ours: &Series<f64>, system: &Series<f64>) -> Verdict {
    if let Some(why) = &system.failure {
        let why = format!("under the C library's locks too: {why}");
        return Verdict::Failed { why };
    }
    if let Some(why) = &ours.failure {
        return Verdict::Failed { why: why.clone() };
    }
    let more = |series| Medians::of(series).switches.unwrap_or(0.0);
    let slower = ratios.wall.filter(|wall| wall.low > SLOWER);
    let switches = ratios
        .switches
        .filter(|switches| switches.median >= SWITCHES && switches.low > 1.0)
        .filter(|_| more(ours) - more(system) >= FEW);
    match (slower, switches) {
        (Some(wall), _) if wall.is_sure() => Verdict::Slower,
        (_, Some(switches)) if switches.is_sure() => Verdict::Switches,
        (None, None) => Verdict::Fine,
        _ => Verdict::Unsure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rounds::Sample;

    fn series(walls: &[f64], switches: u64) -> Series<f64> {
        let sample = |wall: &f64| Sample {
            value: *wall,
            run: Run {
                wall: *wall,
                voluntary: switches,
                ..Run::default()
            },
        };
        Series {
            name: String::new(),
            samples: walls.iter().map(sample).collect(),
            failure: None,
        }
    }

    fn judged(ours: &Series<f64>) -> Verdict {
        let system = series(&[1.0; 5], 1000);
        verdict(&Ratios::of(ours, &system), ours, &system)
    }

    #[test]
    fn slower_is_slower_only_beyond_the_interval() {
        assert_eq!(judged(&series(&[1.2; 5], 1000)), Verdict::Slower);
        let mixed = [1.3, 1.2, 1.04, 1.3, 1.2];
        assert_eq!(judged(&series(&mixed, 1000)), Verdict::Fine);
        assert_eq!(judged(&series(&[0.5; 5], 1000)), Verdict::Fine);
        assert_eq!(judged(&series(&[1.2; 3], 1000)), Verdict::Unsure);
    }

    #[test]
    fn three_times_the_switches_are_too_many() {
        assert_eq!(judged(&series(&[1.0; 5], 3000)), Verdict::Switches);
        assert_eq!(judged(&series(&[1.0; 5], 2900)), Verdict::Fine);
        let (ours, system) = (series(&[1.0; 5], 400), series(&[1.0; 5], 10));
        let ratios = Ratios::of(&ours, &system);
        assert_eq!(verdict(&ratios, &ours, &system), Verdict::Fine);
    }

    #[test]
    fn a_failure_is_no_figure() {
        let mut failed = series(&[], 0);
        failed.failure = Some("wrong".to_owned());
        let why = "wrong".to_owned();
        assert_eq!(judged(&failed), Verdict::Failed { why });
    }
}
