//! Figures computed from an experiment's points, and their agreement with a paper.

use super::experiment::{Experiment, Points, Varied};
use super::stands::{Found, Threshold};
use crate::bench::Outcome;
use crate::bench::splay::TREES;
use crate::plot::figure;
use cohort::Counter;
use std::cmp::Ordering;

/// Figure of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// Operations per second.
    Throughput,
    /// Lines moved over the greatest distances, per critical section: the papers' remote misses.
    RemoteMisses,
    /// Lines from another private cache, from the last level or from memory, per critical section:
    /// all misses of a private cache.
    Misses,
    /// Relative standard deviation of the threads' work.
    Unfairness,
    /// Jain's index of the threads' work.
    Fairness,
    /// Mean cycles from the request of the lock to its completed release.
    RoundTrip,
    /// Mean cycles to acquire.
    Acquire,
    /// Median cycles to release.
    Release,
    /// Mean cycles to give up.
    GiveUp,
    /// The share of acquisitions that timed out.
    Abandoned,
    /// A counter of the workload, per second.
    Count(&'static str),
    /// A counter of the workload, over the whole run.
    Total(&'static str),
    /// The share of entries of queues, at any level, that resumed an abandoned node.
    Resumed,
    /// Bytes of the lock's nodes, and of the data.
    Memory,
    /// The number of adaptive locks that changed their mode.
    Changed,
    /// A maximum over single waits; 0 without any.
    Most(&'static str),
}

/// Representative of several locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// The lock with the greatest figure.
    Most,
    /// The lock with the least figure.
    Least,
}

/// Side of a ratio.
#[derive(Clone, Copy, Debug)]
pub struct Side {
    /// The representative.
    pub pick: Pick,
    /// The locks.
    pub locks: &'static [&'static str],
    /// Whether to skip a lock at points where it left a thread without any work: a lock that serves
    /// only few threads is no rival.
    pub serves_all: bool,
}

impl Side {
    /// The lock with the greatest figure.
    #[must_use]
    pub const fn most(locks: &'static [&'static str]) -> Self {
        Self {
            pick: Pick::Most,
            locks,
            serves_all: false,
        }
    }

    /// The lock with the greatest value among locks that serve every thread.
    #[must_use]
    pub const fn most_serving_all(locks: &'static [&'static str]) -> Self {
        Self {
            serves_all: true,
            ..Self::most(locks)
        }
    }

    /// The lock with the least figure.
    #[must_use]
    pub const fn least(locks: &'static [&'static str]) -> Self {
        Self {
            pick: Pick::Least,
            locks,
            serves_all: false,
        }
    }
}

/// Combination of the figures along the sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fold {
    /// The greatest: "up to".
    Greatest,
    /// The figure that agrees least: if it agrees, all do.
    Everywhere,
    /// Their geometric mean.
    GeometricMean,
}

/// Computation.
#[derive(Clone, Copy, Debug)]
pub enum Measure {
    /// One side's figure over the other's.
    Ratio {
        /// The numerator.
        of: Side,
        /// The denominator.
        over: Side,
        /// The figure.
        metric: Metric,
        /// Along the sweep.
        fold: Fold,
    },
    /// A side's figure itself.
    Value {
        /// The side.
        of: Side,
        /// The figure.
        metric: Metric,
        /// Along the sweep.
        fold: Fold,
    },
    /// A lock's throughput over another's, for a claim of zero throughput: no critical section
    /// counts as 0.
    Collapse {
        /// The lock.
        lock: &'static str,
        /// The lock in the denominator, which makes progress.
        over: &'static str,
    },
    /// A side's greatest throughput over its first: its scaling.
    Scaling {
        /// The side.
        of: Side,
    },
    /// A lock's last figure over its first, along the sweep.
    Change {
        /// The lock.
        lock: &'static str,
        /// The figure.
        metric: Metric,
    },
    /// The number of threads with a lock's greatest throughput.
    Peak {
        /// The lock.
        lock: &'static str,
    },
    /// The greatest throughput of some locks over the greatest of others, each at its own point of
    /// the sweep.
    Best {
        /// The numerator.
        of: &'static [&'static str],
        /// The denominator.
        over: &'static [&'static str],
    },
    /// A lock's greatest throughput over the greatest of another, or of its own, without a timeout.
    Lift {
        /// The lock.
        lock: &'static str,
        /// The lock without a timeout.
        over: &'static str,
    },
    /// The mean of a lock's shares of the most work, of two kinds, that any lock beside it did
    /// (Chabbi et al. 2017 §6.3).
    Efficiency {
        /// The lock, alone.
        lock: &'static [&'static str],
        /// The locks, itself among them.
        beside: &'static [&'static str],
        /// The workload's counters of the two kinds.
        of: [&'static str; 2],
    },
    /// One side's share of a counter over the other's, phase by phase of the first point.
    Phases {
        /// The numerator.
        of: Side,
        /// The denominator.
        over: Side,
        /// The workload's counter in each phase.
        counts: &'static [&'static str],
        /// Along the phases.
        fold: Fold,
    },
    /// Duration of a hand-over across the whole machine, relative to one within a level's cohorts,
    /// from `cohort discover`.
    Nearer {
        /// The level.
        level: &'static str,
    },
    /// A threshold of `sanl` as a share of a thread's time, from `cohort tune sanl`.
    Profiled(Threshold),
}

/// Computed figure, and its point along the sweep.
#[derive(Clone, Debug)]
pub struct Reading {
    /// The figure.
    pub value: f64,
    /// Its point.
    pub at: Option<Varied>,
    /// The runs that it was computed from.
    pub from: Vec<(&'static str, Outcome)>,
    /// For a mean: its figures with their points, the least first.
    pub mean_of: Vec<(Varied, f64)>,
}

impl Reading {
    /// A figure that is not a mean.
    const fn of_one(value: f64, at: Option<Varied>, from: Vec<(&'static str, Outcome)>) -> Self {
        Self {
            value,
            at,
            from,
            mean_of: Vec::new(),
        }
    }
}

/// Agreement with the paper. A figure above 1 means a win, one below 1 a loss, and ours must have
/// the same winner whatever the band.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Band {
    /// Within a quarter of this figure.
    About(f64),
    /// Within that share of this figure.
    Near(f64, f64),
    /// At least this.
    AtLeast(f64),
    /// At most this.
    AtMost(f64),
    /// Between these, both included.
    Between(f64, f64),
}

impl Band {
    /// Whether `value` agrees.
    #[must_use]
    pub fn holds(self, value: f64) -> bool {
        let (low, high) = self.bounds();
        low <= value && value <= high
    }

    /// The least and the greatest agreeing value.
    fn bounds(self) -> (f64, f64) {
        match self {
            Self::About(figure) => same_winner(figure, 0.25),
            Self::Near(figure, share) => same_winner(figure, share),
            Self::AtLeast(low) => (low, f64::INFINITY),
            Self::AtMost(high) => (f64::NEG_INFINITY, high),
            Self::Between(low, high) => (low, high),
        }
    }

    /// Whether `value` is below the band, inside or above.
    pub(super) fn side(self, value: f64) -> Ordering {
        let (low, high) = self.bounds();
        if value < low {
            Ordering::Less
        } else if value > high {
            Ordering::Greater
        } else {
            Ordering::Equal
        }
    }

    /// The distance of `value` from the band; negative inside.
    fn beyond(self, value: f64) -> f64 {
        let (low, high) = self.bounds();
        (low - value).max(value - high)
    }

    /// The band in words.
    #[must_use]
    pub fn text(self) -> String {
        match self {
            Self::About(value) => around(value, 0.25),
            Self::Near(value, share) => around(value, share),
            Self::AtLeast(low) => format!("≥ {}", figure(low)),
            Self::AtMost(high) => format!("≤ {}", figure(high)),
            Self::Between(low, high) => format!("{} to {}", figure(low), figure(high)),
        }
    }
}

/// The bounds of that share around the figure, cut where the winner would change.
fn same_winner(figure: f64, share: f64) -> (f64, f64) {
    let (low, high) = (figure * (1.0 - share), figure * (1.0 + share));
    if figure > 1.0 {
        (low.max(1.0), high)
    } else if figure < 1.0 {
        (low, high.min(1.0))
    } else {
        (low, high)
    }
}

/// That share around the value, in words.
fn around(value: f64, share: f64) -> String {
    let (low, high) = same_winner(value, share);
    let cut = if value > 1.0 && low == 1.0 {
        ", ≥ 1"
    } else if value < 1.0 && high == 1.0 {
        ", ≤ 1"
    } else {
        ""
    };
    format!("{} ± {:.0} %{cut}", figure(value), share * 100.0)
}

impl Metric {
    /// The metric in words.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::Throughput => "throughput".to_owned(),
            Self::RemoteMisses => "remote misses per critical section".to_owned(),
            Self::Misses => "misses per critical section".to_owned(),
            Self::Unfairness => "relative deviation of the threads' work".to_owned(),
            Self::Fairness => "Jain's index of the threads' work".to_owned(),
            Self::RoundTrip => "cycles per critical section, including the wait".to_owned(),
            Self::Acquire => "cycles to acquire".to_owned(),
            Self::Release => "cycles to release".to_owned(),
            Self::GiveUp => "cycles to give up".to_owned(),
            Self::Abandoned => "share of timeouts".to_owned(),
            Self::Count(what) => format!("{what} per second"),
            Self::Total(what) => format!("{what} in the run"),
            Self::Resumed => "share of resumed entries of queues".to_owned(),
            Self::Memory => "bytes of data and nodes".to_owned(),
            Self::Changed => "locks with a mode change".to_owned(),
            Self::Most(what) => format!("most {what}"),
        }
    }

    /// The metric of a run; none if it was not counted.
    pub(super) fn of(self, outcome: &Outcome) -> Option<f64> {
        match self {
            Self::Throughput => Some(outcome.per_second),
            Self::RemoteMisses => {
                let transfers = &outcome.simulated.as_ref()?.transfers;
                let farthest = transfers
                    .iter()
                    .map(|one| within(&one.distance))
                    .next_back()?;
                let remote = transfers
                    .iter()
                    .filter(|one| within(&one.distance) == farthest);
                let remote: u64 = remote.map(|one| one.count.total()).sum();
                (outcome.sections > 0).then(|| remote as f64 / outcome.sections as f64)
            }
            Self::Misses => {
                let simulated = outcome.simulated.as_ref()?;
                let fetched = simulated.memory.total() + simulated.refills.total();
                let fetched = fetched as f64 / outcome.sections as f64;
                Some(outcome.transfers_each()? + fetched)
            }
            Self::Unfairness => Some(outcome.fairness.relative_deviation),
            Self::Fairness => Some(outcome.fairness.jain),
            Self::RoundTrip => outcome.round_trip.map(|latency| latency.mean),
            Self::Acquire => outcome.acquire.map(|latency| latency.mean),
            Self::Release => outcome.release.map(|latency| latency.p50 as f64),
            Self::GiveUp => outcome.give_up.map(|latency| latency.mean),
            Self::Abandoned => outcome.given_up(),
            Self::Count(what) => Some(counted(outcome, what) / outcome.seconds),
            Self::Total(what) => Some(counted(outcome, what)),
            Self::Resumed => {
                let [resumed, begun] =
                    [Counter::Resumed, Counter::Begun].map(|what| counted(outcome, what.name()));
                (resumed + begun > 0.0).then(|| resumed / (resumed + begun))
            }
            Self::Memory => Some(counted(outcome, TREES) + counted(outcome, Counter::Bytes.name())),
            Self::Changed => Some(outcome.heard.changed() as f64),
            Self::Most(what) => Some(outcome.most.get(what).copied().unwrap_or(0) as f64),
        }
    }
}

/// The count of that event.
fn counted(outcome: &Outcome, what: &str) -> f64 {
    outcome.counts.get(what).copied().unwrap_or(0) as f64
}

/// The level of a distance, without hops.
fn within(distance: &str) -> &str {
    distance.split(',').next().unwrap_or(distance)
}

impl Measure {
    /// All locks involved, by the rows' names.
    #[must_use]
    pub fn locks(&self) -> Vec<&'static str> {
        match self {
            Self::Ratio { of, over, .. } | Self::Phases { of, over, .. } => {
                [of.locks, over.locks].concat()
            }
            Self::Value { of, .. } | Self::Scaling { of } => of.locks.to_vec(),
            Self::Change { lock, .. } | Self::Peak { lock } => vec![lock],
            Self::Best { of, over } => [*of, *over].concat(),
            Self::Lift { lock, over } if lock == over => vec![lock],
            Self::Lift { lock, over } | Self::Collapse { lock, over } => vec![lock, over],
            Self::Efficiency { beside, .. } => beside.to_vec(),
            Self::Nearer { .. } | Self::Profiled(_) => Vec::new(),
        }
    }

    /// The computation in words; `found` resolves names to locks on `machine`.
    #[must_use]
    pub fn text(&self, machine: &'static str, found: &Found) -> String {
        let side = |side: &Side| side.text(machine, found);
        let one = |lock: &'static str| found.text(lock, machine);
        match self {
            Self::Ratio {
                of,
                over,
                metric,
                fold,
            } => format!(
                "{} of {} over {}{}",
                metric.name(),
                side(of),
                side(over),
                fold.text()
            ),
            Self::Value { of, metric, fold } => {
                format!("{} of {}{}", metric.name(), side(of), fold.text())
            }
            Self::Collapse { lock, over } => {
                format!("throughput of {} over {}", one(lock), one(over))
            }
            Self::Scaling { of } => format!(
                "greatest throughput of {} over that of the first point",
                side(of)
            ),
            Self::Change { lock, metric } => {
                format!("{} of {}, last over first", metric.name(), one(lock))
            }
            Self::Peak { lock } => format!("threads at which {} is fastest", one(lock)),
            Self::Best { of, over } => {
                let [of, over] = [of, over].map(|locks| {
                    let names: Vec<String> = locks.iter().map(|lock| one(lock)).collect();
                    names.join(", ")
                });
                format!("greatest throughput of {of} over the greatest of {over}")
            }
            Self::Lift { lock, over } if lock == over => format!(
                "greatest throughput of {} over its greatest without a timeout",
                one(lock)
            ),
            Self::Lift { lock, over } => format!(
                "greatest throughput of {} over the greatest of {} without a timeout",
                one(lock),
                one(over)
            ),
            Self::Efficiency { lock, of, .. } => format!(
                "mean of {}'s shares of the most {} and the most {} lookups",
                side(&Side::most(lock)),
                of[0],
                of[1]
            ),
            Self::Phases { of, over, fold, .. } => format!(
                "sections of {} over {} in each phase{}",
                side(of),
                side(over),
                fold.text()
            ),
            Self::Nearer { level } => {
                format!("hand-overs between all CPUs over those within one {level}, as discovered")
            }
            Self::Profiled(Threshold::Brings) => "θ_l, as profiled".to_owned(),
            Self::Profiled(Threshold::Strict) => "θ_f, as profiled".to_owned(),
        }
    }

    /// Whether the experiment has the necessary points.
    #[must_use]
    pub fn fits(&self, experiment: &Experiment) -> bool {
        let points = experiment.settings().len();
        match self {
            Self::Scaling { .. } | Self::Change { .. } | Self::Peak { .. } | Self::Best { .. } => {
                points > 1
            }
            _ => points > 0,
        }
    }

    /// Computes the figure of the runs with that seed; `found` resolves names, `band` determines
    /// the point of the sweep that agrees least.
    ///
    /// # Errors
    /// A required run failed, or has no such figure.
    pub fn compute(
        &self,
        experiment: &Experiment,
        points: &Points,
        found: &Found,
        band: Band,
        seed: u64,
    ) -> Result<Reading, String> {
        let curves = Curves {
            experiment,
            points,
            found,
            seed,
        };
        match self {
            Self::Ratio {
                of,
                over,
                metric,
                fold,
            } => {
                let found = curves.along(|at| {
                    let (above, one) = curves.side(of, *metric, at)?;
                    let (below, other) = curves.side(over, *metric, at)?;
                    Ok((above / below, vec![one, other]))
                })?;
                fold.choose(found, band)
            }
            Self::Value { of, metric, fold } => {
                let found = curves.along(|at| {
                    let (value, from) = curves.side(of, *metric, at)?;
                    Ok((value, vec![from]))
                })?;
                fold.choose(found, band)
            }
            Self::Collapse { lock, over } => {
                let found = curves.along(|at| {
                    let above = curves.run(lock, at)?;
                    let below = curves.outcome(over, at)?;
                    let ratio = above.per_second / below.per_second;
                    Ok((ratio, vec![(*lock, above.clone()), (*over, below.clone())]))
                })?;
                Fold::Everywhere.choose(found, band)
            }
            Self::Scaling { of } => {
                let mut best: Option<Reading> = None;
                for lock in curves.locks(of.locks)? {
                    let values = curves.throughputs(lock)?;
                    let first = values[0].value;
                    for mut found in values {
                        found.value /= first;
                        if best.as_ref().is_none_or(|best| found.value > best.value) {
                            best = Some(found);
                        }
                    }
                }
                best.ok_or_else(|| "no point".to_owned())
            }
            Self::Change { lock, metric } => {
                let mut values = curves.figures(lock, *metric)?;
                let first = values.remove(0);
                let mut last = values.pop().ok_or("only one point")?;
                last.value /= first.value;
                last.from.extend(first.from);
                Ok(last)
            }
            Self::Peak { lock } => {
                let values = curves.throughputs(lock)?;
                let fastest = Fold::Greatest.choose(values, band)?;
                match fastest.at {
                    Some(Varied::Threads(threads)) => Ok(Reading {
                        value: threads as f64,
                        ..fastest
                    }),
                    _ => Err("only one number of threads".to_owned()),
                }
            }
            Self::Best { of, over } => {
                let mut best = curves.best(of, band)?;
                let other = curves.best(over, band)?;
                best.value /= other.value;
                best.from.extend(other.from);
                Ok(best)
            }
            Self::Lift { lock, over } => {
                let patient = experiment.without_timeout();
                let patient = Curves {
                    experiment: &patient,
                    ..curves
                };
                let mut peak = Fold::Greatest.choose(curves.throughputs(lock)?, band)?;
                let without = Fold::Greatest.choose(patient.throughputs(over)?, band)?;
                peak.value /= without.value;
                peak.from.extend(without.from);
                Ok(peak)
            }
            Self::Efficiency { lock, beside, of } => {
                let found = curves.along(|at| {
                    let mut shares = 0.0;
                    let mut from = Vec::new();
                    for what in of {
                        let metric = Metric::Count(what);
                        let (own, run) = curves.side(&Side::most(lock), metric, at)?;
                        let (most, _) = curves.side(&Side::most(beside), metric, at)?;
                        shares += own / most;
                        from = vec![run];
                    }
                    Ok((shares / of.len() as f64, from))
                })?;
                Fold::Everywhere.choose(found, band)
            }
            Self::Phases {
                of,
                over,
                counts,
                fold,
            } => {
                let at = experiment.settings().remove(0);
                let phase = |(number, what): (usize, &&'static str)| {
                    let metric = Metric::Total(what);
                    let (above, one) = curves.side(of, metric, &at)?;
                    let (below, other) = curves.side(over, metric, &at)?;
                    if above == 0.0 || below == 0.0 {
                        return Err(format!("phase {number}: one side is empty"));
                    }
                    let at = Some(Varied::Phase(number));
                    Ok(Reading::of_one(above / below, at, vec![one, other]))
                };
                let found = counts.iter().enumerate().map(phase);
                fold.choose(found.collect::<Result<_, _>>()?, band)
            }
            Self::Nearer { level } => {
                let value = found.nearer(experiment.machine, level)?;
                Ok(Reading::of_one(value, None, Vec::new()))
            }
            Self::Profiled(threshold) => {
                let value = found.threshold(experiment.machine, *threshold)?;
                Ok(Reading::of_one(value, None, Vec::new()))
            }
        }
    }
}

impl Side {
    fn text(&self, machine: &'static str, found: &Found) -> String {
        let names = self.locks.iter().map(|lock| found.text(lock, machine));
        let names = names.collect::<Vec<_>>().join(", ");
        let locks = self
            .locks
            .iter()
            .map(|lock| found.locks(lock, machine).len());
        let serving = if self.serves_all {
            ", where each thread is served"
        } else {
            ""
        };
        match self.pick {
            _ if locks.sum::<usize>() == 1 => names,
            Pick::Most => format!("the most of {names}{serving}"),
            Pick::Least => format!("the least of {names}{serving}"),
        }
    }
}

impl Fold {
    const fn text(self) -> &'static str {
        match self {
            Self::Greatest => ", the greatest",
            Self::Everywhere => ", where it agrees least",
            Self::GeometricMean => ", geometric mean",
        }
    }

    fn choose(self, found: Vec<Reading>, band: Band) -> Result<Reading, String> {
        let by = |one: &Reading, other: &Reading| one.value.total_cmp(&other.value);
        let chosen = match self {
            Self::Greatest => found.into_iter().max_by(by),
            Self::Everywhere => {
                let beyond = |found: &Reading| band.beyond(found.value);
                found
                    .into_iter()
                    .max_by(|one, other| beyond(one).total_cmp(&beyond(other)))
            }
            Self::GeometricMean => {
                let values: Vec<f64> = found.iter().map(|found| found.value).collect();
                let mut mean_of: Vec<_> = found
                    .iter()
                    .filter_map(|found| Some((found.at?, found.value)))
                    .collect();
                mean_of.sort_by(|(_, one), (_, other)| one.total_cmp(other));
                crate::stats::geometric_mean(&values).map(|value| Reading {
                    value,
                    at: None,
                    from: Vec::new(),
                    mean_of,
                })
            }
        };
        chosen.ok_or_else(|| "no point".to_owned())
    }
}

/// The points of an experiment, by lock and along the sweep.
#[derive(Clone, Copy)]
struct Curves<'a> {
    experiment: &'a Experiment,
    points: &'a Points,
    found: &'a Found,
    seed: u64,
}

/// Point along the sweep.
type At = (Varied, usize, crate::bench::Knobs);

impl Curves<'_> {
    fn along(
        &self,
        compute: impl Fn(&At) -> Result<(f64, Vec<(&'static str, Outcome)>), String>,
    ) -> Result<Vec<Reading>, String> {
        let found = |at: At| {
            let (value, from) = compute(&at)?;
            if value.is_finite() {
                Ok(Reading::of_one(value, Some(at.0), from))
            } else {
                Err(format!("at {} one side is empty", at.0))
            }
        };
        self.experiment.settings().into_iter().map(found).collect()
    }

    fn outcome(&self, lock: &'static str, at: &At) -> Result<&Outcome, String> {
        let outcome = self.run(lock, at)?;
        // No critical section at all implies nothing: a livelock, not a slow lock. Timeouts,
        // however, are a result.
        if outcome.sections == 0 && outcome.abandoned == 0 {
            let point = self.experiment.point(lock, at.1, at.2, self.seed);
            return Err(format!("{}: no critical section in the run", point.name()));
        }
        Ok(outcome)
    }

    /// The run, with any outcome.
    fn run(&self, lock: &'static str, at: &At) -> Result<&Outcome, String> {
        let point = self.experiment.point(lock, at.1, at.2, self.seed);
        match self.points.get(&point) {
            Some(Ok(outcome)) => Ok(outcome),
            Some(Err(why)) => Err(format!("{}: {why}", point.name())),
            None => Err(format!("{} was not run", point.name())),
        }
    }

    /// The locks that these names resolve to.
    fn locks(&self, names: &[&'static str]) -> Result<Vec<&'static str>, String> {
        let mut all = Vec::new();
        for name in names {
            let locks = self.found.locks(name, self.experiment.machine);
            if locks.is_empty() {
                return Err(format!("no result for {name}"));
            }
            all.extend(locks);
        }
        Ok(all)
    }

    /// The figure and the run of a side's representative.
    fn side(
        &self,
        side: &Side,
        metric: Metric,
        at: &At,
    ) -> Result<(f64, (&'static str, Outcome)), String> {
        let mut best: Option<(f64, &'static str)> = None;
        for lock in self.locks(side.locks)? {
            let outcome = self.outcome(lock, at)?;
            if side.serves_all && outcome.fairness.least == 0 {
                continue;
            }
            let value = metric
                .of(outcome)
                .ok_or_else(|| format!("{lock} has no {} at {}", metric.name(), at.0))?;
            let better = best.is_none_or(|(best, _)| match side.pick {
                Pick::Most => value > best,
                Pick::Least => value < best,
            });
            if better {
                best = Some((value, lock));
            }
        }
        let (value, lock) = best.ok_or("no lock serves every thread")?;
        Ok((value, (lock, self.outcome(lock, at)?.clone())))
    }

    fn throughputs(&self, lock: &'static str) -> Result<Vec<Reading>, String> {
        self.figures(lock, Metric::Throughput)
    }

    /// The greatest throughput of any of these locks, along the sweep.
    fn best(&self, locks: &[&'static str], band: Band) -> Result<Reading, String> {
        let mut all = Vec::new();
        for lock in locks {
            all.extend(self.throughputs(lock)?);
        }
        Fold::Greatest.choose(all, band)
    }

    fn figures(&self, name: &'static str, metric: Metric) -> Result<Vec<Reading>, String> {
        let lock = self.locks(&[name])?[0];
        self.along(|at| {
            let outcome = self.outcome(lock, at)?;
            let value = metric
                .of(outcome)
                .ok_or_else(|| format!("{lock} has no {} at {}", metric.name(), at.0))?;
            Ok((value, vec![(lock, outcome.clone())]))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_hold_what_they_say() {
        assert!(Band::About(4.0).holds(3.0) && Band::About(4.0).holds(5.0));
        assert!(!Band::About(4.0).holds(2.9) && !Band::About(4.0).holds(5.1));
        assert!(Band::AtLeast(1.0).holds(1.0) && !Band::AtLeast(1.0).holds(0.99));
        assert!(Band::AtMost(0.25).holds(0.0) && !Band::AtMost(0.25).holds(f64::NAN));
        assert!(Band::Between(0.1, 0.5).holds(0.5));
        assert_eq!(Band::Near(12.18, 0.1).text(), "12.2 ± 10 %");
    }

    #[test]
    fn a_band_never_reaches_past_the_winner() {
        assert!(Band::Near(1.05, 0.1).holds(1.0) && !Band::Near(1.05, 0.1).holds(0.99));
        assert!(!Band::Near(0.95, 0.1).holds(1.01) && Band::About(1.0).holds(0.8));
        assert_eq!(Band::Near(1.05, 0.1).text(), "1.05 ± 10 %, ≥ 1");
    }

    #[test]
    fn everywhere_is_where_it_agrees_least() {
        let found = || {
            let values = [0.7, 1.0, 1.2].into_iter();
            let found = values.map(|value| Reading::of_one(value, None, Vec::new()));
            found.collect()
        };
        let worst = |band| Fold::Everywhere.choose(found(), band).unwrap().value;
        assert_eq!(worst(Band::AtLeast(1.0)), 0.7);
        assert_eq!(worst(Band::AtMost(1.0)), 1.2);
        assert_eq!(worst(Band::About(1.0)), 0.7);
        assert_eq!(worst(Band::Near(0.8, 0.2)), 1.2);
    }

    #[test]
    fn a_mean_says_what_it_is_of() {
        let found = [(3, 4.0), (7, 1.0)]
            .map(|(phase, value)| Reading::of_one(value, Some(Varied::Phase(phase)), Vec::new()));
        let mean = Fold::GeometricMean.choose(found.into(), Band::AtLeast(1.0));
        let mean = mean.unwrap();
        assert!((mean.value - 2.0).abs() < 1e-9, "{}", mean.value);
        assert_eq!(
            mean.mean_of,
            [(Varied::Phase(7), 1.0), (Varied::Phase(3), 4.0)]
        );
    }

    #[test]
    fn hops_are_one_distance() {
        assert_eq!(within("system, 2 hops"), "system");
        assert_eq!(within("numa"), "numa");
    }
}
