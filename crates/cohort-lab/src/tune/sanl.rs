//! Tunes the thresholds of `sanl` for a machine: the profiler of Zhang et al. 2017 §3.4.3, §4.1.
//!
//! Threads run critical sections of one line at intervals from 100 cycles, under an in-place lock
//! and two kinds of `sanl` that always delegate: to any server, and to a server of their own NUMA
//! node. The criterion is the time of a critical section from request to completed release, since
//! throughput hides it where threads mostly run outside. Contention is the share of the threads'
//! time that this takes.
//!
//! 1. `L_s` is a quadratic of the inverse contention. It is fitted to the best numbers of idle
//!    polls at the intervals where delegation pays, or nearly does.
//! 2. `θ_l` is the contention at which delegation to such servers equals the in-place lock.
//! 3. `θ_f` is the contention at which a server of the own node equals any server.
//!
//! Curves may cross more than once; the threshold is then the crossing with the least loss.

mod fit;
pub mod picture;

pub use cohort_measure::tuned::sanl as file;

use crate::bench::interval::Interval;
use crate::bench::report::Point;
use crate::bench::simulated::{self, Course, Failure, Until};
use crate::bench::{self, Info, Knobs, Setting, Span, Workload};
use crate::rounds::Observer;
use crate::world::simulated::Simulator;
use crate::world::{Placement, Tunings};
use cohort::{Idle, Thresholds, WHOLE};
use serde::Serialize;
use std::sync::Arc;

/// The in-place lock, and the two delegating kinds.
pub const LOCKS: [&str; 3] = ["mcs", "sanl-flat", "sanl-distance-first"];

/// Cycles between two critical sections.
pub const INTERVALS: [u64; 12] = [
    100, 300, 1_000, 2_000, 3_000, 5_000, 10_000, 20_000, 50_000, 100_000, 300_000, 1_000_000,
];

/// Numbers of idle polls to try.
pub const LOOKS: [u32; 8] = [0, 1, 3, 10, 30, 100, 300, 1_000];

/// A number of polls is as good as the best if its critical sections take at most this factor
/// longer.
const ALIKE: f64 = 1.01;

/// Contention below the threshold by up to this factor still counts for idle polls.
const MARGIN: f64 = 4.0;

/// Plan of a profile.
#[derive(Clone, Copy, Debug)]
pub struct SanlPlan {
    /// The number of threads.
    pub threads: usize,
    /// The seed of all random choices.
    pub seed: u64,
}

impl SanlPlan {
    /// One thread less than CPUs, and at least two (Zhang et al. 2017 §4.2).
    #[must_use]
    pub fn of(cpus: usize, seed: u64) -> Self {
        Self {
            threads: cpus.saturating_sub(1).max(2),
            seed,
        }
    }

    /// The workload.
    ///
    /// # Panics
    /// Never: it is one of the list.
    #[must_use]
    pub fn info() -> &'static Info {
        bench::find(Interval::NAME).expect("it is one of the list")
    }

    /// The maximum number of points.
    #[must_use]
    pub const fn points() -> usize {
        (LOCKS.len() + 1 + LOOKS.len()) * INTERVALS.len()
    }

    fn settings(&self, lock: &str, intervals: &[u64]) -> Vec<Setting> {
        let setting = |interval: &u64| Setting {
            lock: lock.to_owned(),
            threads: self.threads,
            knobs: Knobs {
                outside: Some(Span::Cycles(*interval)),
                ..Interval::DEFAULTS
            },
            seed: self.seed,
        };
        intervals.iter().map(setting).collect()
    }
}

/// Result of a lock at an interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Sample {
    /// Cycles between two critical sections.
    pub interval: u64,
    /// Cycles of a critical section, waiting included.
    pub cycles: f64,
    /// The share of the threads' time in critical sections, waiting included.
    pub contention: f64,
}

impl Sample {
    /// The sample of a point; none without timings.
    fn of(point: &Point) -> Option<Self> {
        Some(Self {
            interval: point.interval()?,
            cycles: point.middle.round_trip?.mean,
            contention: point.middle.share_at_locks()?.min(1.0),
        })
    }
}

/// Best number of idle polls at an interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Looks {
    /// The result with it.
    pub sample: Sample,
    /// The smallest of the equally good numbers.
    pub best: u32,
    /// Cycles of a critical section with the worst number.
    pub worst: f64,
}

/// Result of a profile.
#[derive(Clone, Debug, Serialize)]
pub struct Profile {
    /// The number of threads.
    pub threads: usize,
    /// The samples of each of [`LOCKS`], shortest interval first.
    pub samples: [Vec<Sample>; LOCKS.len()],
    /// The best number of polls at each interval where delegation pays, or nearly does.
    pub looks: Vec<Looks>,
    /// `θ_l` as a share; none if delegation never pays.
    pub brings: Option<f64>,
    /// `θ_f` as a share; none if a server of the own node never pays.
    pub strict: Option<f64>,
    /// The quadratic's coefficients, the constant first.
    pub idle: [f64; 3],
}

impl Profile {
    /// The result as thresholds; unprofiled ones keep their defaults.
    #[must_use]
    pub fn thresholds(&self) -> Thresholds {
        Thresholds {
            brings: in_units(self.brings),
            strict: in_units(self.strict),
            idle: fitted(self.idle),
            ..Thresholds::USUAL
        }
    }
}

/// A quadratic in the form of thresholds.
fn fitted(coefficients: [f64; 3]) -> Idle {
    Idle {
        by: coefficients.map(file::millionths),
        most: Idle::USUAL.most,
    }
}

/// A share in units of thresholds; the whole for none.
fn in_units(share: Option<f64>) -> u32 {
    let whole = f64::from(WHOLE);
    share.map_or(WHOLE, |share| {
        (share * whole).round().clamp(1.0, whole) as u32
    })
}

/// Measures settings with locks under these thresholds.
type Measure<'a, E> = dyn FnMut(&[Setting], &Thresholds) -> Result<Vec<Point>, E> + 'a;

/// Profiles with the measurements of `measure` under given thresholds. Blocks.
///
/// # Errors
/// Those of `measure`.
pub fn profile<E: From<String>>(
    plan: &SanlPlan,
    measure: &mut Measure<'_, E>,
) -> Result<Profile, E> {
    let bringing = Thresholds {
        brings: 0,
        ..Thresholds::USUAL
    };
    let mut samples = |lock: &str, intervals: &[u64], thresholds: &Thresholds| {
        let points = measure(&plan.settings(lock, intervals), thresholds)?;
        let samples: Option<Vec<Sample>> = points.iter().map(Sample::of).collect();
        let samples = samples.filter(|samples| samples.len() == intervals.len());
        samples.ok_or_else(|| E::from(format!("{lock}: an interval has no timed critical section")))
    };
    let [in_place, flat, near] = LOCKS;
    let in_place = samples(in_place, &INTERVALS, &bringing)?;
    let any = samples(flat, &INTERVALS, &bringing)?;
    // Includes intervals where delegation hardly pays: servers poll most in vain there.
    let least = threshold(&any, &in_place).map_or(f64::INFINITY, |brings| brings / MARGIN);
    let counts = any.iter().filter(|sample| sample.contention >= least);
    let intervals: Vec<u64> = counts.map(|sample| sample.interval).collect();
    let mut tried = Vec::new();
    for looks in LOOKS {
        let thresholds = Thresholds {
            idle: Idle::constant(looks),
            ..bringing
        };
        tried.push((looks, samples(flat, &intervals, &thresholds)?));
    }
    let looks: Vec<Looks> = (0..intervals.len())
        .filter_map(|at| best(&tried, at))
        .collect();
    let at: Vec<(f64, f64)> = looks
        .iter()
        .map(|looks| (1.0 / looks.sample.contention, f64::from(looks.best)))
        .collect();
    let idle = fit::quadratic(&at);
    // The thresholds are measured with these servers.
    let settled = Thresholds {
        idle: idle.map_or(Idle::USUAL, fitted),
        ..bringing
    };
    let any = samples(flat, &INTERVALS, &settled)?;
    let near = samples(near, &INTERVALS, &settled)?;
    Ok(Profile {
        threads: plan.threads,
        brings: threshold(&any, &in_place),
        strict: threshold(&near, &any),
        samples: [in_place, any, near],
        looks,
        idle: idle.unwrap_or([2.0, 2.0, 0.0]),
    })
}

/// Duration of a simulated machine's point: long enough for servers to settle.
pub const LOOK: Until = Until::Seconds(0.004);

/// [`profile`] of a simulated machine.  Blocks.
///
/// # Errors
/// A run failed, or a signal arrived.
pub fn there(
    plan: &SanlPlan,
    simulator: &Arc<Simulator>,
    until: Until,
    observer: &mut (dyn Observer + Send),
) -> Result<Profile, Failure> {
    profile(plan, &mut |settings, thresholds| {
        let course = Course {
            until,
            placement: Placement::Compact,
            wait: None,
            background: 0,
            served: false,
            tunings: Tunings {
                sanl: *thresholds,
                ..Tunings::USUAL
            },
            cohorts: Vec::new(),
        };
        simulated::measure(SanlPlan::info(), simulator, &course, settings, observer)
    })
}

/// The smallest number of polls as good as the best, at one of the intervals.
fn best(tried: &[(u32, Vec<Sample>)], at: usize) -> Option<Looks> {
    let at = tried.iter().map(|(looks, samples)| (*looks, samples[at]));
    let cycles = at.clone().map(|(_, sample)| sample.cycles);
    let least = cycles.clone().reduce(f64::min)?;
    let worst = cycles.reduce(f64::max)?;
    let (best, sample) = at
        .into_iter()
        .find(|(_, sample)| sample.cycles <= least * ALIKE)?;
    Some(Looks {
        sample,
        best,
        worst,
    })
}

/// The contention from which on `one` is preferable to `other`, if any: of all crossings between
/// two intervals, the one with the least loss. Both are sorted by interval, the shortest first,
/// with the highest contention.
///
/// The two locks have different contention at the same interval. The threshold must separate the
/// threads of both, so it lies between the least on one side and the greatest on the other.
fn threshold(one: &[Sample], other: &[Sample]) -> Option<f64> {
    let pairs: Vec<(&Sample, &Sample)> = one.iter().zip(other).collect();
    // The gain of the first, negative where the second is faster.
    let gains: Vec<f64> = pairs
        .iter()
        .map(|(one, other)| (other.cycles / one.cycles).ln())
        .collect();
    let lost = |taken: usize| -> f64 {
        let (with, without) = gains.split_at(taken);
        let with: f64 = with.iter().map(|gain| (-gain).max(0.0)).sum();
        let without: f64 = without.iter().map(|gain| gain.max(0.0)).sum();
        with + without
    };
    let taken = (0..=gains.len()).min_by(|one, other| lost(*one).total_cmp(&lost(*other)))?;
    let last = pairs.get(taken.checked_sub(1)?)?;
    let last = last.0.contention.min(last.1.contention);
    let (Some(next), Some(loss)) = (pairs.get(taken), gains.get(taken)) else {
        return Some(last);
    };
    let next = next.0.contention.max(next.1.contention);
    let gain = gains[taken - 1];
    let part = if gain > 0.0 && *loss < 0.0 {
        gain / (gain - loss)
    } else {
        0.5
    };
    Some(last + part * (next - last))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(cycles: &[f64]) -> Vec<Sample> {
        let shares = [1.0, 0.5, 0.25, 0.125];
        cycles
            .iter()
            .zip(shares)
            .map(|(cycles, contention)| Sample {
                interval: 0,
                cycles: *cycles,
                contention,
            })
            .collect()
    }

    #[test]
    fn a_threshold_is_where_the_curves_cross() {
        let other = samples(&[1.0; 4]);
        let half = samples(&[0.5, 0.5, 2.0, 2.0]);
        assert_eq!(threshold(&half, &other), Some(0.375));
        let late = samples(&[0.5, 0.999, 2.0, 2.0]);
        assert!(threshold(&late, &other) > Some(0.49));
        assert_eq!(threshold(&samples(&[2.0; 4]), &other), None);
        assert_eq!(threshold(&samples(&[0.5; 4]), &other), Some(0.125));
        // Loses a little at first, and wins by more.
        let mixed = samples(&[1.1, 0.5, 2.0, 0.99]);
        assert_eq!(threshold(&mixed, &other), Some(0.375));
        assert_eq!(threshold(&[], &[]), None);
    }

    #[test]
    fn the_smallest_number_that_is_as_good_is_best() {
        let tried = [
            (0, samples(&[200.0, 100.0])),
            (10, samples(&[100.5, 100.0])),
            (1_000, samples(&[100.0, 300.0])),
        ];
        let looks = |at| best(&tried, at).map(|looks| (looks.best, looks.worst));
        assert_eq!(looks(0), Some((10, 200.0)));
        assert_eq!(looks(1), Some((0, 300.0)));
        assert!(best(&[], 0).is_none());
    }

    #[test]
    fn what_never_pays_is_never_reached() {
        let profile = Profile {
            threads: 2,
            samples: [const { Vec::new() }; LOCKS.len()],
            looks: Vec::new(),
            brings: None,
            strict: Some(0.4),
            idle: [1e9, -0.25, f64::NAN],
        };
        let thresholds = profile.thresholds();
        assert_eq!((thresholds.brings, thresholds.strict), (WHOLE, 410));
        assert_eq!(thresholds.idle.by, [Idle::LARGEST, -250_000, 0]);
        assert!(thresholds.are_sound());
    }
}
