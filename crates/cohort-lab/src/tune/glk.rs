//! Tunes `glk` for a machine: the sensitivity analysis of Antić et al. 2016 §3.1.
//!
//! 1. The number of threads from which `mcs` is faster than `ticket` (figure 5), for critical
//!    sections of several lengths. `up` is the largest number of threads for `ticket`, chosen to
//!    minimise the total loss over all lengths; `down` is one less, for hysteresis, if a queue can
//!    be shorter than that.
//! 2. The costs of sampling the queue and of considering the mode (figure 6): empty critical
//!    sections of two threads in the mode `ticket`, and of eight in the mode `mcs`, against the
//!    same lock without sampling. Each period is the shortest one that longer ones do not improve
//!    on. A mean has at least as many samples as the paper's.

pub mod picture;

pub use cohort_measure::tuned::glk as file;

use crate::bench::report::Point;
use crate::bench::simulated::{self, Course, Failure, Until};
use crate::bench::tight::Loop;
use crate::bench::{self, Info, Knobs, Setting, Span, Workload};
use crate::rounds::Observer;
use crate::world::in_mode::{FROM_MCS, IN_MCS, IN_TICKET};
use crate::world::simulated::Simulator;
use crate::world::{Placement, Tunings, Wait};
use cohort::adaptive::Tuning;
use serde::Serialize;
use std::sync::Arc;

/// The locks compared.
pub const LOCKS: [&str; 2] = ["ticket", "mcs"];

/// Cycles of a critical section.
pub const SECTIONS: [u64; 6] = [0, 256, 512, 1_024, 2_048, 4_096];

/// The numbers of threads compared, as far as there are CPUs.
pub const THREADS: [usize; 10] = [2, 3, 4, 5, 6, 7, 8, 10, 12, 16];

/// The longest periods tried: all powers of two up to these.
const LONGEST: Periods<u32> = Periods {
    consider: 1 << 15,
    sample: 1 << 12,
};

/// Numbers of threads for which the mode stays `ticket`, and `mcs`.
const SHORT: usize = 2;
const LONG: usize = 8;

/// With fewer threads, the queue is too short for `mcs`, and the mode alternates.
const LONG_AT_LEAST: usize = 5;

/// The least number of samples in a mean.
const LOOKS: u32 = Tuning::USUAL.consider / Tuning::USUAL.sample;

/// A period is as good as a longer one if it keeps this share of its throughput.
const ALIKE: f64 = 0.99;

/// The pause after each critical section, which the paper calls "short": short enough for two
/// threads to contend, even with empty critical sections.
const PAUSE: Option<Span> = Some(Span::Cycles(100));

/// Plan of an analysis.
#[derive(Clone, Copy, Debug)]
pub struct GlkPlan {
    /// The number of CPUs.
    pub cpus: usize,
    /// The seed of all random choices.
    pub seed: u64,
}

/// How waiters wait where `glk` is measured: the lock decides.
const CHOOSES: Option<Wait> = Some(Wait::Park);

impl GlkPlan {
    /// The workload.
    ///
    /// # Panics
    /// Never: it is one of the list.
    #[must_use]
    pub fn info() -> &'static Info {
        bench::find(Loop::NAME).expect("it is one of the list")
    }

    /// The numbers of threads compared.
    #[must_use]
    pub fn threads(&self) -> Vec<usize> {
        let all = THREADS.into_iter();
        all.filter(|threads| *threads <= self.cpus).collect()
    }

    /// The number of threads for the mode `mcs`, if there are enough CPUs.
    #[must_use]
    pub fn long(&self) -> Option<usize> {
        (self.cpus >= LONG_AT_LEAST).then(|| LONG.min(self.cpus))
    }

    /// The number of points.
    #[must_use]
    pub fn points(&self) -> usize {
        let modes = 1 + usize::from(self.long().is_some());
        let periods = powers(LONGEST.consider).count() + powers(LONGEST.sample).count();
        LOCKS.len() * SECTIONS.len() * self.threads().len() + modes * (1 + periods)
    }

    fn setting(&self, lock: &str, threads: usize, critical: u64) -> Setting {
        Setting {
            lock: lock.to_owned(),
            threads,
            knobs: Knobs {
                critical: Some(Span::Cycles(critical)),
                outside: PAUSE,
                ..Loop::DEFAULTS
            },
            seed: self.seed,
        }
    }

    /// The settings with periods to try, and those without sampling.
    fn modes(&self) -> [Vec<Setting>; 2] {
        let short = |lock| self.setting(lock, SHORT, 0);
        let long = |lock| self.long().map(|threads| self.setting(lock, threads, 0));
        [
            [Some(short("glk")), long(FROM_MCS)],
            [Some(short(IN_TICKET)), long(IN_MCS)],
        ]
        .map(|settings| settings.into_iter().flatten().collect())
    }
}

/// The powers of two up to one of them.
fn powers(longest: u32) -> impl Iterator<Item = u32> {
    (0..=longest.ilog2()).map(|power| 1 << power)
}

/// Critical sections per second of both locks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Pair {
    /// The number of threads.
    pub threads: usize,
    /// Under `ticket`.
    pub ticket: f64,
    /// Under `mcs`.
    pub mcs: f64,
}

impl Pair {
    /// Speed-up of `mcs`, as a logarithm.
    fn gain(&self) -> f64 {
        (self.mcs / self.ticket).ln()
    }
}

/// Results of both locks with critical sections of one length.
#[derive(Clone, Debug, Serialize)]
pub struct Length {
    /// Cycles of a section.
    pub critical: u64,
    /// With each number of threads, the least first.
    pub pairs: Vec<Pair>,
    /// The least number of threads with `mcs` faster from there on; none if never.
    pub crossing: Option<usize>,
}

/// Throughput with a period, relative to a lock without sampling.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// In sections.
    pub period: u32,
    /// In the mode `ticket`.
    pub ticket: f64,
    /// In the mode `mcs`; none with too few CPUs.
    pub mcs: Option<f64>,
}

/// A value for each period.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Periods<T> {
    /// For considering the mode.
    pub consider: T,
    /// For sampling the queue.
    pub sample: T,
}

/// Result of an analysis.
#[derive(Clone, Debug, Serialize)]
pub struct Analysis {
    /// `ticket` against `mcs`, the shortest sections first.
    pub lengths: Vec<Length>,
    /// The largest number of threads for `ticket`; none if `mcs` was never better.
    pub up: Option<usize>,
    /// The cost of each period, the shortest first.
    pub costs: Periods<Vec<Cost>>,
    /// The shortest period that no longer one improves on.
    pub periods: Periods<Option<u32>>,
}

impl Analysis {
    /// The result as a tuning.
    #[must_use]
    pub fn tuning(&self) -> Tuning {
        let usual = Tuning::USUAL;
        let tried = self.lengths.iter().flat_map(|length| &length.pairs);
        let tried = tried.map(|pair| pair.threads).max().unwrap_or(0);
        // If `mcs` was never better, the crossing may be beyond the range tried.
        let up = self.up.unwrap_or(tried.max(usual.up as usize));
        let up = (up as u32).clamp(Tuning::LEAST, Tuning::LONGEST);
        let sample = self.periods.sample.unwrap_or(LONGEST.sample);
        let consider = self.periods.consider.unwrap_or(LONGEST.consider);
        Tuning {
            up,
            down: (up - 1).max(Tuning::LEAST),
            sample,
            consider: consider.max(LOOKS * sample),
        }
    }
}

/// Measures settings, under locks with that wait and those parameters.
type Measure<'a, E> = dyn FnMut(&[Setting], Option<Wait>, &Tunings) -> Result<Vec<Point>, E> + 'a;

/// Analyses with the measurements of `measure`. Blocks.
///
/// # Errors
/// Those of `measure`.
pub fn analyse<E: From<String>>(
    plan: &GlkPlan,
    measure: &mut Measure<'_, E>,
) -> Result<Analysis, E> {
    let mut rates = |settings: &[Setting], wait, glk: &Tuning| {
        let tunings = Tunings {
            glk: *glk,
            ..Tunings::USUAL
        };
        let points = measure(settings, wait, &tunings)?;
        let rates: Vec<f64> = points.iter().map(|point| point.per_second.median).collect();
        let is_whole = rates.len() == settings.len() && rates.iter().all(|rate| *rate > 0.0);
        is_whole
            .then_some(rates)
            .ok_or_else(|| E::from("a point has no result".to_owned()))
    };
    let threads = plan.threads();
    let mut settings = Vec::new();
    for critical in SECTIONS {
        for lock in LOCKS {
            let with = threads.iter().map(|n| plan.setting(lock, *n, critical));
            settings.extend(with);
        }
    }
    let found = rates(&settings, None, &Tuning::USUAL)?;
    let lengths: Vec<Length> = SECTIONS
        .into_iter()
        .zip(found.chunks(LOCKS.len() * threads.len()))
        .map(|(critical, found)| length(critical, &threads, found))
        .collect();
    let up = crossing(&lengths.iter().collect::<Vec<_>>());
    let [locks, still] = plan.modes();
    let still = rates(&still, CHOOSES, &Tuning::USUAL)?;
    let mut cost = |period, tuning: &Tuning| -> Result<Cost, E> {
        let found = rates(&locks, CHOOSES, tuning)?;
        let mut left = found
            .iter()
            .zip(&still)
            .map(|(with, without)| with / without);
        Ok(Cost {
            period,
            ticket: left.next().unwrap_or_default(),
            mcs: left.next(),
        })
    };
    let usual = Tuning::USUAL;
    let mut consider = Vec::new();
    for period in powers(LONGEST.consider) {
        let tuning = Tuning {
            sample: usual.sample.min(period),
            consider: period,
            ..usual
        };
        consider.push(cost(period, &tuning)?);
    }
    let mut sample = Vec::new();
    for period in powers(LONGEST.sample) {
        let tuning = Tuning {
            sample: period,
            ..usual
        };
        sample.push(cost(period, &tuning)?);
    }
    Ok(Analysis {
        up: up.map(|at| at.ticket),
        lengths,
        periods: Periods {
            consider: settled(&consider),
            sample: settled(&sample),
        },
        costs: Periods { consider, sample },
    })
}

/// Duration of a simulated machine's points with a stable mode.
const LASTING: Until = Until::Seconds(0.006);

/// [`analyse`] a simulated machine.  Blocks.
///
/// # Errors
/// A run failed, or a signal arrived.
pub fn there(
    plan: &GlkPlan,
    simulator: &Arc<Simulator>,
    observer: &mut (dyn Observer + Send),
) -> Result<Analysis, Failure> {
    analyse(plan, &mut |settings, wait, tunings| {
        let course = Course {
            until: match wait {
                Some(_) => LASTING,
                None => Until::Steady,
            },
            // Across NUMA nodes, the accidental order of the queue matters more than the lock.
            placement: Placement::Cores,
            wait,
            background: 0,
            served: false,
            tunings: *tunings,
            cohorts: Vec::new(),
        };
        simulated::measure(GlkPlan::info(), simulator, &course, settings, observer)
    })
}

/// Compares both locks with critical sections of that length; the rates of `ticket` come first.
fn length(critical: u64, threads: &[usize], rates: &[f64]) -> Length {
    let (ticket, mcs) = rates.split_at(threads.len());
    let rates = ticket.iter().zip(mcs);
    let pairs = threads.iter().zip(rates);
    let pairs = pairs.map(|(threads, (ticket, mcs))| Pair {
        threads: *threads,
        ticket: *ticket,
        mcs: *mcs,
    });
    let mut length = Length {
        critical,
        pairs: pairs.collect(),
        crossing: None,
    };
    length.crossing = crossing(&[&length]).map(|at| at.mcs);
    length
}

/// Crossing of two locks: the most threads for `ticket`, the fewest for `mcs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Crossing {
    ticket: usize,
    mcs: usize,
}

/// The crossing with the least total loss over all these lengths, with the same numbers of threads
/// each; none if `mcs` is never better.
fn crossing(lengths: &[&Length]) -> Option<Crossing> {
    let gains: Vec<(usize, f64)> = (0..lengths.first()?.pairs.len())
        .map(|at| {
            let pairs = lengths.iter().map(|length| &length.pairs[at]);
            (
                lengths[0].pairs[at].threads,
                pairs.map(Pair::gain).sum::<f64>(),
            )
        })
        .collect();
    let lost = |taken: usize| -> f64 {
        let (ticket, mcs) = gains.split_at(taken);
        let ticket: f64 = ticket.iter().map(|(_, gain)| gain.max(0.0)).sum();
        let mcs: f64 = mcs.iter().map(|(_, gain)| (-gain).max(0.0)).sum();
        ticket + mcs
    };
    let taken = (0..=gains.len()).min_by(|one, other| lost(*one).total_cmp(&lost(*other)))?;
    let (mcs, _) = *gains.get(taken)?;
    Some(Crossing {
        // A single thread is faster with `ticket` in all measurements.
        ticket: taken.checked_sub(1).map_or(1, |before| gains[before].0),
        mcs,
    })
}

/// The shortest period that no longer one improves on, in either mode; none without periods.
fn settled(costs: &[Cost]) -> Option<u32> {
    let (mut ticket, mut mcs) = (0.0_f64, 0.0_f64);
    let mut found = None;
    for cost in costs.iter().rev() {
        ticket = ticket.max(cost.ticket);
        mcs = mcs.max(cost.mcs.unwrap_or(0.0));
        let is_good = cost.ticket >= ticket * ALIKE && cost.mcs.unwrap_or(0.0) >= mcs * ALIKE;
        if is_good {
            found = Some(cost.period);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(critical: u64, gains: &[f64]) -> Length {
        let threads: Vec<usize> = (2..).take(gains.len()).collect();
        let rates: Vec<f64> = std::iter::repeat_n(1.0, gains.len())
            .chain(gains.iter().copied())
            .collect();
        length(critical, &threads, &rates)
    }

    #[test]
    fn the_crossing_is_where_least_is_lost() {
        let clear = of(0, &[0.9, 0.95, 1.1, 1.3]);
        assert_eq!(clear.crossing, Some(4));
        assert_eq!(of(0, &[0.9, 1.001, 0.95, 1.3]).crossing, Some(5));
        assert_eq!(of(0, &[0.9, 0.8]).crossing, None);
        assert_eq!(of(0, &[1.2, 1.3]).crossing, Some(2));
        // Over several lengths, the largest loss decides.
        let other = of(1_024, &[0.5, 0.5, 0.5, 1.1]);
        let both = crossing(&[&clear, &other]).unwrap();
        assert_eq!((both.ticket, both.mcs), (4, 5));
    }

    #[test]
    fn a_period_settles_where_longer_ones_bring_nothing() {
        let cost = |(at, (ticket, mcs)): (usize, &(f64, f64))| Cost {
            period: 1 << at,
            ticket: *ticket,
            mcs: Some(*mcs),
        };
        let costs = |left: &[(f64, f64)]| left.iter().enumerate().map(cost).collect::<Vec<_>>();
        let left = costs(&[(0.5, 0.7), (0.9, 0.99), (0.995, 0.99), (0.99, 0.995)]);
        assert_eq!(settled(&left), Some(4));
        // A short period that is better by chance must not become the reference.
        assert_eq!(
            settled(&costs(&[(0.5, 0.7), (0.9, 0.9), (0.8, 0.8)])),
            Some(2)
        );
        assert_eq!(settled(&costs(&[(0.5, 0.7)])), Some(1));
        assert_eq!(settled(&[]), None);
    }

    #[test]
    fn what_was_not_found_is_as_usual_or_beyond() {
        let mut analysis = Analysis {
            lengths: vec![of(0, &[0.9])],
            up: None,
            costs: Periods {
                consider: Vec::new(),
                sample: Vec::new(),
            },
            periods: Periods {
                consider: Some(64),
                sample: Some(16),
            },
        };
        let tuning = analysis.tuning();
        assert_eq!((tuning.up, tuning.down), (3, 2));
        assert_eq!((tuning.sample, tuning.consider), (16, 512));
        analysis.up = Some(1);
        assert_eq!(analysis.tuning().up, 2);
        analysis.lengths = vec![of(0, &[0.9; 7])];
        analysis.up = None;
        assert_eq!(analysis.tuning().up, 8);
        analysis.periods.sample = None;
        assert!(analysis.tuning().fault().is_none());
    }
}
