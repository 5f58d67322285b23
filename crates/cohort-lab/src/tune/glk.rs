//! Which numbers of `glk` suit a machine: the sensitivity analysis of Antić et al. 2016 §3.1.
//!
//! 1. Where `mcs` becomes faster than `ticket` (figure 5): sections of several lengths, by more and
//!    more threads.  `up` is the number of threads by which least is lost if `ticket` serves that
//!    many and `mcs` serves more, over all lengths; `down` is one less, so that no lock goes to and
//!    fro, if a queue can be shorter than that.
//! 2. What looking at the queue costs, and what considering the mode does (figure 6): empty sections
//!    of two threads in the mode `ticket` and of eight in the mode `mcs`, against the same lock that
//!    never does either.  Each period is the shortest from which on longer ones bring nothing; a mean
//!    has as many looks as the paper's at least.

pub mod file;
pub mod picture;

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

/// The locks that are compared.
pub const LOCKS: [&str; 2] = ["ticket", "mcs"];

/// Cycles of a section.
pub const SECTIONS: [u64; 6] = [0, 256, 512, 1_024, 2_048, 4_096];

/// The numbers of threads that are compared, as far as there are CPUs.
pub const THREADS: [usize; 10] = [2, 3, 4, 5, 6, 7, 8, 10, 12, 16];

/// The longest periods that are tried: all powers of two up to these.
const LONGEST: Periods<u32> = Periods {
    consider: 1 << 15,
    sample: 1 << 12,
};

/// With so many threads the mode stays `ticket`, and `mcs`.
const SHORT: usize = 2;
const LONG: usize = 8;

/// With fewer the queue is not longer than `mcs` needs: no mode lasts.
const LONG_AT_LEAST: usize = 5;

/// Looks at the queue that a mean has at least.
const LOOKS: u32 = Tuning::USUAL.consider / Tuning::USUAL.sample;

/// A period is as good as a longer one if it leaves that much of its throughput.
const ALIKE: f64 = 0.99;

/// The pause after each section, of which the paper says "short": so short that two threads want the
/// lock at once, also where sections are empty.
const PAUSE: Option<Span> = Some(Span::Cycles(100));

/// What is to be tried.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// How many CPUs there are.
    pub cpus: usize,
    /// What all chance depends on.
    pub seed: u64,
}

/// How waiters wait where `glk` is measured: it chooses.
const CHOOSES: Option<Wait> = Some(Wait::Park);

impl Plan {
    /// The workload.
    ///
    /// # Panics
    /// Never: it is one of the list.
    #[must_use]
    pub fn info() -> &'static Info {
        bench::find(Loop::NAME).expect("it is one of the list")
    }

    /// The numbers of threads that are compared.
    #[must_use]
    pub fn threads(&self) -> Vec<usize> {
        let all = THREADS.into_iter();
        all.filter(|threads| *threads <= self.cpus).collect()
    }

    /// The threads of the mode `mcs`, if there are CPUs enough.
    #[must_use]
    pub fn long(&self) -> Option<usize> {
        (self.cpus >= LONG_AT_LEAST).then(|| LONG.min(self.cpus))
    }

    /// How many points it takes.
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

    /// The locks with periods that are tried, and those that never look.
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

/// Sections a second of both locks.
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
    /// How much faster `mcs` is, as a logarithm.
    fn gain(&self) -> f64 {
        (self.mcs / self.ticket).ln()
    }
}

/// How both locks do with sections of one length.
#[derive(Clone, Debug, Serialize)]
pub struct Length {
    /// Cycles of a section.
    pub critical: u64,
    /// With each number of threads, the least first.
    pub pairs: Vec<Pair>,
    /// The number of threads from which on `mcs` is faster; none if it never is.
    pub crossing: Option<usize>,
}

/// What a period leaves of the throughput of a lock that never looks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// In sections.
    pub period: u32,
    /// In the mode `ticket`.
    pub ticket: f64,
    /// In the mode `mcs`; none where there are too few CPUs.
    pub mcs: Option<f64>,
}

/// One of each period.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Periods<T> {
    /// Of considering the mode.
    pub consider: T,
    /// Of looking at the queue.
    pub sample: T,
}

/// What came of it.
#[derive(Clone, Debug, Serialize)]
pub struct Analysis {
    /// `ticket` against `mcs`, the shortest sections first.
    pub lengths: Vec<Length>,
    /// The most threads by which `ticket` is to be taken; none if `mcs` was never better.
    pub up: Option<usize>,
    /// What each period costs, the shortest first.
    pub costs: Periods<Vec<Cost>>,
    /// The shortest period than which no longer one is better.
    pub periods: Periods<Option<u32>>,
}

impl Analysis {
    /// What it says as a tuning.
    #[must_use]
    pub fn tuning(&self) -> Tuning {
        let usual = Tuning::USUAL;
        let tried = self.lengths.iter().flat_map(|length| &length.pairs);
        let tried = tried.map(|pair| pair.threads).max().unwrap_or(0);
        // Where `mcs` was never better, it may be beyond what was tried.
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

/// Measures these settings, under locks that wait so and go by such numbers.
type Measure<'a, E> = dyn FnMut(&[Setting], Option<Wait>, &Tunings) -> Result<Vec<Point>, E> + 'a;

/// Analyses, with what `measure` measures.  Blocks.
///
/// # Errors
/// What `measure` could not do.
pub fn analyse<E: From<String>>(plan: &Plan, measure: &mut Measure<'_, E>) -> Result<Analysis, E> {
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
            .ok_or_else(|| E::from("nothing came of some point".to_owned()))
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

/// How long points of a simulated machine go on in which a mode lasts.
const LASTING: Until = Until::Seconds(0.006);

/// [`analyse`] a simulated machine.  Blocks.
///
/// # Errors
/// A run failed, or a signal arrived.
pub fn there(
    plan: &Plan,
    simulator: &Arc<Simulator>,
    observer: &mut (dyn Observer + Send),
) -> Result<Analysis, Failure> {
    analyse(plan, &mut |settings, wait, tunings| {
        let course = Course {
            until: match wait {
                Some(_) => LASTING,
                None => Until::Steady,
            },
            // Across NUMA nodes the order in which threads happen to queue decides more than the lock.
            placement: Placement::Cores,
            wait,
            background: 0,
            served: false,
            tunings: *tunings,
            cohorts: Vec::new(),
        };
        simulated::measure(Plan::info(), simulator, &course, settings, observer)
    })
}

/// Both locks with sections of that length, with the rates of `ticket` first.
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

/// Where one lock is to be taken rather than the other: the most threads for `ticket`, the fewest
/// for `mcs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Crossing {
    ticket: usize,
    mcs: usize,
}

/// That by which least is lost over all these lengths, with the same numbers of threads each; none
/// if `mcs` is to be taken nowhere.
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
        // One thread alone is faster with `ticket` wherever it was tried.
        ticket: taken.checked_sub(1).map_or(1, |before| gains[before].0),
        mcs,
    })
}

/// The shortest period than which no longer one is better, in either mode; none if there are none.
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
        // Over several lengths, the one that has more to lose decides.
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
        // One that is better by chance, and shorter than others, is none to measure them by.
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
