//! Finds the best lock for a machine (Chehab et al. 2021 §4.3).
//!
//! The field is every composition of some basic locks at some levels; all levels but the whole
//! system are optional, plus rivals that are no compositions ([`field`]). A lock's mark is the
//! weighted mean of its throughputs, each relative to the best lock's with the same number of
//! threads. [`Policy::Low`] favours few threads, [`Policy::High`] many; the paper does not print
//! its weights.
//!
//! All locks run briefly first. The error of such a look is measured: some locks, from the best to
//! the worst, also run to their steady state. Locks behind the best of these by more than the error
//! are dropped; the others run longer, and the remaining ones to their steady state. Each policy
//! drops locks independently, and repeats only the numbers of threads with a weight: the locks left
//! under [`Policy::Low`] need no precise results for many threads.
//!
//! The same search finds the best composition for claims ([`crate::claims`]), in another field and
//! exhaustively.
//!
//! [`mod@file`] is the file format, [`best`] finds the file for a machine, [`explain`] measures the
//! worth of each part of a composition, [`beam`] draws the field. [`sanl`] and [`glk`] tune the
//! thresholds of other kinds of locks.

pub mod beam;
pub mod explain;
pub mod field;
pub mod glk;
pub mod sanl;

pub use cohort_measure::tuned::{best, file, origin, shape};

use crate::bench::report::Point;
use crate::bench::{Info, Knobs, Setting};
use crate::plot::figure;
use crate::stats::median;
use cohort::recipe::{Basic, Level};
use field::{Contender, Size};
use file::{File, Origin, rounded};
use serde::Serialize;
use shape::Shape;
use std::collections::{BTreeMap, BTreeSet};

/// Weights of the numbers of threads.
#[derive(Clone, Debug, PartialEq)]
pub enum Policy {
    /// The inverse of the number: LC-best.
    Low,
    /// The number: HC-best.
    High,
    /// Given weights; others are zero.
    Said(Vec<(usize, f64)>),
}

impl Policy {
    /// The weight of a number of threads.
    #[must_use]
    pub fn weight(&self, threads: usize) -> f64 {
        match self {
            Self::Low => 1.0 / threads as f64,
            Self::High => threads as f64,
            Self::Said(weights) => weights
                .iter()
                .find(|(count, _)| *count == threads)
                .map_or(0.0, |(_, weight)| *weight),
        }
    }

    /// The weighted mean of values for some numbers of threads.
    #[must_use]
    pub fn mean(&self, values: &[(usize, f64)]) -> f64 {
        let all: f64 = values
            .iter()
            .map(|(threads, _)| self.weight(*threads))
            .sum();
        let weighed = values
            .iter()
            .map(|(threads, value)| self.weight(*threads) * value);
        weighed.sum::<f64>() / all
    }

    /// The policy's name.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Low => "lc".to_owned(),
            Self::High => "hc".to_owned(),
            Self::Said(weights) => {
                let words = weights
                    .iter()
                    .map(|(count, weight)| format!("{count}={weight}"));
                words.collect::<Vec<_>>().join(",")
            }
        }
    }

    /// The policy of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let weight = |part: &str| {
            let (count, weight) = part.split_once('=')?;
            let weight: f64 = weight.parse().ok()?;
            let weighs = weight.is_finite() && weight > 0.0;
            weighs.then_some((count.parse().ok()?, weight))
        };
        match name {
            "lc" => Some(Self::Low),
            "hc" => Some(Self::High),
            name => {
                let weights = name.split(',').map(weight);
                weights.collect::<Option<_>>().map(Self::Said)
            }
        }
    }
}

/// How long locks run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Long enough to identify hopeless locks.
    Brief,
    /// Several times as long.
    Longer,
    /// Until the throughput is steady.
    Steady,
}

/// The looks before the steady state.
const LOOKS: [Effort; 2] = [Effort::Brief, Effort::Longer];

/// Plan of a search.
#[derive(Clone, Debug)]
pub struct TunePlan {
    /// The levels below the whole system, smallest cohorts first.
    pub levels: Vec<Level>,
    /// The basic locks.
    pub basic: Vec<Basic>,
    /// The numbers of threads.
    pub threads: Vec<usize>,
    /// Their weights; the first policy's best is recommended.
    pub policies: Vec<Policy>,
    /// Whether no lock is dropped.
    pub exhaustive: bool,
    /// The workload.
    pub info: &'static Info,
    /// Its knobs.
    pub knobs: Knobs,
    /// The seed of all random choices.
    pub seed: u64,
}

/// Throughput with its relative error.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Throughput {
    /// Operations a second.
    pub per_second: f64,
    /// On either side.
    pub interval: f64,
    /// Whether it is of a steady state; otherwise of a look, corrected by the median error of
    /// looks.
    pub steady: bool,
}

impl Throughput {
    /// The throughput of a point run with that effort.
    #[must_use]
    pub fn of(point: &Point, effort: Effort) -> Self {
        let of_rounds = (point.per_second.high - point.per_second.low) / 2.0;
        let interval = match &point.middle.simulated {
            // A run too short for an interval may have a large error.
            Some(facts) => facts.interval.unwrap_or(0.1),
            None => of_rounds / point.per_second.median.max(f64::MIN_POSITIVE),
        };
        Self {
            per_second: point.per_second.median,
            interval,
            steady: effort == Effort::Steady,
        }
    }
}

/// Result of a lock.
#[derive(Clone, Debug, Serialize)]
pub struct Score {
    /// The lock.
    pub lock: String,
    /// Whether it is a rival, not a composition.
    pub rival: bool,
    /// Whether it ran to its steady state with the numbers of threads that count under some policy;
    /// otherwise it was dropped.
    pub steady: bool,
    /// Whether it may still be the best, by policy.
    #[serde(skip)]
    open: Vec<bool>,
    /// Its mark under each policy.
    pub marks: Vec<f64>,
    /// The errors of the marks, on either side.
    pub unsure: Vec<f64>,
    /// Its throughput by the number of threads.
    pub throughputs: BTreeMap<usize, Throughput>,
    #[serde(skip)]
    size: Size,
}

/// Best lock under a policy.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Best {
    /// The simplest of the locks statistically tied with the best.
    pub lock: String,
    /// All tied locks, the simplest first.
    pub ties: Vec<String>,
    /// The simplest of the tied compositions.
    pub composition: String,
    /// How far its mark is below the best lock's, as a share of that.
    pub behind: f64,
}

/// Result of a search.
#[derive(Clone, Debug)]
pub struct Tuned {
    /// All locks, by mark under the first policy; dropped locks last.
    pub scores: Vec<Score>,
    /// The best lock, by policy.
    pub best: Vec<Best>,
    /// The worst composition under the first policy among those that ran to their steady state; the
    /// worst at the first look is one of them.
    pub worst: String,
    /// The number of points measured.
    pub points: usize,
}

impl Tuned {
    /// The configuration of the best lock, tuned by `plan` for a machine; none without
    /// measurements.
    #[must_use]
    pub fn file(
        &self,
        plan: &TunePlan,
        machine: &str,
        fingerprint: Option<&str>,
        shape: &Shape,
    ) -> Option<File> {
        let best = self.best.first().filter(|best| !best.lock.is_empty())?;
        let scores = self.scores.iter().map(|score| {
            let marks = score.marks.iter().map(|mark| rounded(*mark));
            (score.lock.clone(), marks.collect())
        });
        Some(File {
            lock: best.lock.clone(),
            cohorts: None,
            tuned: Origin {
                machine: machine.to_owned(),
                fingerprint: fingerprint.map(str::to_owned),
                shape: shape.to_string(),
                workload: plan.info.name.to_owned(),
                policies: plan.policies.iter().map(Policy::name).collect(),
                threads: plan.threads.clone(),
                seed: plan.seed,
                composition: best.composition.clone(),
                behind: rounded(best.behind),
                ties: best.ties.clone(),
                scores: scores.collect(),
            },
        })
    }

    /// The composition with the highest mark under a policy, ignoring ties.
    #[must_use]
    pub fn first(&self, policy: usize) -> Option<&Score> {
        let whole = self.whole();
        // The first of equals.
        whole.reduce(|best, next| {
            if next.marks[policy] > best.marks[policy] {
                next
            } else {
                best
            }
        })
    }

    /// The composition with the lowest mark among the locks in steady state.
    #[must_use]
    pub fn last(&self, policy: usize) -> Option<&Score> {
        let whole = self.whole();
        whole.min_by(|one, other| one.marks[policy].total_cmp(&other.marks[policy]))
    }

    /// The compositions that ran to their steady state with every number of threads.
    fn whole(&self) -> impl Iterator<Item = &Score> {
        let own = self.scores.iter().filter(|score| !score.rival);
        own.filter(|score| score.throughputs.values().all(|value| value.steady))
    }
}

/// Measures points; returns them in the same order.
pub type Measure<'a, E> = dyn FnMut(&[Setting], Effort) -> Result<Vec<Point>, E> + 'a;

/// Number of locks that determine the error of a brief look. A field of up to twice as many runs to
/// its steady state at once.
const SAMPLE: usize = 24;

/// Numbers of threads with less than this total weight are not run again: an error there changes a
/// mark by a few thousandths.
const LIGHT: f64 = 0.05;

/// Marks that differ by more than this share do not tie, whatever their errors: otherwise simple
/// locks would win by lack of knowledge.
const ALIKE: f64 = 0.05;

/// Estimated number of points of a plan.
#[must_use]
pub fn expected(plan: &TunePlan, rivals: usize) -> usize {
    let (field, threads) = (field::count(&plan.levels, &plan.basic), plan.threads.len());
    if plan.exhaustive || field <= 2 * SAMPLE {
        return (field + rivals) * threads;
    }
    (field + field / 4 + SAMPLE + rivals) * threads
}

/// Runs a plan.  Blocks.
///
/// # Errors
/// The first of `measure`.
pub fn tune<E>(
    plan: &TunePlan,
    rivals: &[String],
    measure: &mut Measure<'_, E>,
) -> Result<Tuned, E> {
    let mut field = field::entries(&plan.levels, &plan.basic);
    field.extend(rivals.iter().map(|name| Contender::rival(name)));
    search(plan, field, measure)
}

/// Runs a plan with another field than that of its levels and basic locks.  Blocks.
///
/// # Errors
/// The first of `measure`.
pub fn search<E>(
    plan: &TunePlan,
    field: Vec<Contender>,
    measure: &mut Measure<'_, E>,
) -> Result<Tuned, E> {
    let field = field.into_iter();
    let mut scores: Vec<Score> = field
        .map(|entry| Score::new(entry, plan.policies.len()))
        .collect();
    let own = scores.iter().filter(|score| !score.rival).count();
    let mut search = Search {
        plan,
        measure,
        points: 0,
    };
    if plan.exhaustive || own <= 2 * SAMPLE {
        search.run(&mut scores, Effort::Steady, &|_, _| true)?;
    } else {
        search.halve(&mut scores)?;
    }
    let points = search.points;
    for score in &mut scores {
        score.steady = score.throughputs.values().any(|value| value.steady);
    }
    let best = fastest(&scores, true);
    mark(&mut scores, &plan.policies, &best);
    Ok(judge(plan, scores, points))
}

struct Search<'a, 'm, E> {
    plan: &'a TunePlan,
    measure: &'a mut Measure<'m, E>,
    points: usize,
}

impl<E> Search<'_, '_, E> {
    /// Runs locks with the wanted numbers of threads, stores the results, and returns which locks
    /// have new results with how many threads.
    fn run(
        &mut self,
        scores: &mut [Score],
        effort: Effort,
        wanted: &dyn Fn(&Score, usize) -> bool,
    ) -> Result<Vec<(usize, usize)>, E> {
        let (mut new, mut settings) = (Vec::new(), Vec::new());
        for (place, score) in scores.iter().enumerate() {
            for threads in &self.plan.threads {
                if wanted(score, *threads) {
                    new.push((place, *threads));
                    settings.push(Setting {
                        lock: score.lock.clone(),
                        threads: *threads,
                        knobs: self.plan.knobs,
                        seed: self.plan.seed,
                    });
                }
            }
        }
        self.points += settings.len();
        let measured = (self.measure)(&settings, effort)?;
        for ((place, threads), point) in new.iter().zip(measured) {
            let value = Throughput::of(&point, effort);
            scores[*place].throughputs.insert(*threads, value);
        }
        Ok(new)
    }

    /// Runs candidates for the best, and rivals, to their steady state.
    fn halve(&mut self, scores: &mut [Score]) -> Result<(), E> {
        let plan = self.plan;
        let heavy: Vec<Vec<usize>> = plan
            .policies
            .iter()
            .map(|of| heavy(of, &plan.threads))
            .collect();
        let counts = |score: &Score, threads: usize| {
            let mut policies = score.open.iter().zip(&heavy);
            policies.any(|(is_open, heavy)| *is_open && heavy.contains(&threads))
        };
        let mut known = BTreeMap::new();
        for look in LOOKS {
            let is_first = known.is_empty();
            let new = self.run(scores, look, &|score: &Score, threads| {
                let is_known = known.contains_key(&score.lock);
                !score.rival && (is_first || is_known || counts(score, threads))
            })?;
            if is_first {
                let best = fastest(&*scores, false);
                mark(scores, &plan.policies, &best);
                let names = sample(scores);
                let chosen = scores.iter().filter(|score| names.contains(&score.lock));
                let mut chosen: Vec<Score> = chosen.cloned().collect();
                self.run(&mut chosen, Effort::Steady, &|_, _| true)?;
                let best = fastest(&chosen, true);
                mark(&mut chosen, &plan.policies, &best);
                let named = chosen.into_iter().map(|score| (score.lock.clone(), score));
                known.extend(named);
            }
            correct(scores, &new, &known, &plan.threads);
            let known: Vec<&Score> = known.values().collect();
            let best = fastest(known.iter().copied(), true);
            mark(scores, &plan.policies, &best);
            let off = doubt(scores, &known, plan.policies.len());
            drop_behind(scores, &known, &off);
        }
        self.run(scores, Effort::Steady, &|score, threads| {
            !known.contains_key(&score.lock) && !score.rival && counts(score, threads)
        })?;
        for score in scores {
            if let Some(known) = known.remove(&score.lock) {
                // It is judged by its steady state, not by its looks.
                score.open.fill(true);
                score.throughputs = known.throughputs;
            }
        }
        Ok(())
    }
}

/// The numbers of threads that count under a policy: all except the lightest.
fn heavy(policy: &Policy, threads: &[usize]) -> Vec<usize> {
    let mut threads = threads.to_vec();
    threads.sort_by(|one, other| policy.weight(*one).total_cmp(&policy.weight(*other)));
    let all: f64 = threads.iter().map(|threads| policy.weight(*threads)).sum();
    let mut light = 0.0;
    threads.retain(|threads| {
        light += policy.weight(*threads);
        light > LIGHT * all
    });
    threads
}

/// All rivals, and some compositions from the best to the worst, denser towards the best: half of
/// them by each of the first two policies.
fn sample(scores: &[Score]) -> BTreeSet<String> {
    let (own, rivals): (Vec<&Score>, Vec<&Score>) = scores.iter().partition(|score| !score.rival);
    let policies = own.first().map_or(1, |score| score.marks.len().min(2));
    let mut names: BTreeSet<String> = rivals.iter().map(|score| score.lock.clone()).collect();
    for policy in 0..policies {
        let mut own = own.clone();
        own.sort_by(|one, other| other.marks[policy].total_cmp(&one.marks[policy]));
        let (last, count) = (own.len().saturating_sub(1) as f64, SAMPLE / policies);
        let places = (0..count).map(|number| {
            let way = number as f64 / (count - 1) as f64;
            // The first places are consecutive.
            ((last * way * way).round() as usize).max(number)
        });
        let chosen = places.filter_map(|place| own.get(place));
        names.extend(chosen.map(|score| score.lock.clone()));
    }
    names
}

/// Corrects new looks by their median error with the same number of threads, and sets their
/// intervals.
fn correct(
    scores: &mut [Score],
    new: &[(usize, usize)],
    known: &BTreeMap<String, Score>,
    threads: &[usize],
) {
    for threads in threads {
        let new = || new.iter().filter(|(_, with)| with == threads);
        let ratio = |(place, _): &(usize, usize)| {
            let looked = &scores[*place];
            let steady = known.get(&looked.lock)?.throughputs.get(threads)?;
            let looked = looked.throughputs.get(threads)?;
            (looked.per_second > 0.0).then(|| steady.per_second / looked.per_second)
        };
        let ratios: Vec<f64> = new().filter_map(ratio).collect();
        let middle = median(&ratios).unwrap_or(1.0);
        let spread = spread(ratios.iter().map(|ratio| ratio / middle));
        for (place, _) in new() {
            if let Some(value) = scores[*place].throughputs.get_mut(threads) {
                value.per_second *= middle;
                value.interval = spread;
            }
        }
    }
}

/// The error that nine in ten of some ratios stay within.
fn spread(ratios: impl Iterator<Item = f64>) -> f64 {
    let mut off: Vec<f64> = ratios.map(|ratio| (ratio - 1.0).abs()).collect();
    off.sort_by(f64::total_cmp);
    // Without a comparison, a look's error is unknown.
    match off.len() {
        0 | 1 => 1.0,
        count => off[(9 * count).div_ceil(10) - 1],
    }
}

/// The relative error of looks' marks, by policy: the one that nine in ten of the better half of
/// the known locks stay within. Worse locks do not matter for the best.
fn doubt(scores: &[Score], known: &[&Score], policies: usize) -> Vec<f64> {
    let of = |policy: usize| {
        let own = known.iter().filter(|known| !known.rival);
        let mut own: Vec<&Score> = own.copied().collect();
        own.sort_by(|one, other| other.marks[policy].total_cmp(&one.marks[policy]));
        own.truncate(own.len().div_ceil(2).max(2));
        let ratios = own.iter().filter_map(|known| {
            let looked = scores.iter().find(|score| score.lock == known.lock)?;
            let looked = looked.marks[policy];
            (looked > 0.0).then(|| known.marks[policy] / looked)
        });
        spread(ratios)
    };
    (0..policies).map(of).collect()
}

/// Drops, under each policy, locks behind the best known composition by more than the error of
/// their marks.
fn drop_behind(scores: &mut [Score], known: &[&Score], off: &[f64]) {
    for (policy, off) in off.iter().enumerate() {
        let own = known.iter().filter(|score| !score.rival);
        let sure = own.map(|score| score.marks[policy] - score.unsure[policy]);
        let lead = sure.fold(0.0, f64::max);
        for score in scores.iter_mut().filter(|score| !score.rival) {
            score.unsure[policy] = off * score.marks[policy];
            score.open[policy] &= score.marks[policy] * (1.0 + off) >= lead;
        }
    }
}

/// The best throughput by the number of threads; of steady states only, or of looks too.
fn fastest<'a>(
    scores: impl IntoIterator<Item = &'a Score>,
    is_steady: bool,
) -> BTreeMap<usize, f64> {
    let mut best: BTreeMap<usize, f64> = BTreeMap::new();
    let all = scores.into_iter().flat_map(|score| &score.throughputs);
    for (threads, value) in all.filter(|(_, value)| value.steady || !is_steady) {
        let most = best.entry(*threads).or_default();
        *most = most.max(value.per_second);
    }
    best
}

/// Computes all marks under each policy, relative to the best lock with the same number of threads.
fn mark(scores: &mut [Score], policies: &[Policy], best: &BTreeMap<usize, f64>) {
    for score in scores
        .iter_mut()
        .filter(|score| !score.throughputs.is_empty())
    {
        let share =
            |(threads, value): (&usize, &Throughput)| (*threads, value.per_second / best[threads]);
        let shares: Vec<(usize, f64)> = score.throughputs.iter().map(share).collect();
        let unsure = |policy: &Policy| {
            // Runs count as independent.
            let all = score.throughputs.values().zip(&shares);
            let (sum, weights) =
                all.fold((0.0, 0.0), |(sum, weights), (value, (threads, share))| {
                    let weight = policy.weight(*threads);
                    let off = weight * share * value.interval;
                    (sum + off * off, weights + weight)
                });
            f64::sqrt(sum) / weights
        };
        score.unsure = policies.iter().map(unsure).collect();
        score.marks = policies.iter().map(|policy| policy.mean(&shares)).collect();
    }
}

fn judge(plan: &TunePlan, mut scores: Vec<Score>, points: usize) -> Tuned {
    scores.sort_by(|one, other| {
        let by_mark = other.marks[0].total_cmp(&one.marks[0]);
        other.steady.cmp(&one.steady).then(by_mark)
    });
    let own = || scores.iter().filter(|score| !score.rival);
    let best = (0..plan.policies.len()).map(|policy| {
        let is_open = |score: &&Score| score.steady && score.open[policy];
        let all: Vec<&Score> = scores.iter().filter(is_open).collect();
        let own: Vec<&Score> = own().filter(is_open).collect();
        let all = ties(&all, policy);
        let compositions = ties(&own, policy);
        let (Some(lock), Some(composition)) = (all.first(), compositions.first()) else {
            return Best::default();
        };
        Best {
            lock: lock.lock.clone(),
            ties: all.iter().map(|score| score.lock.clone()).collect(),
            composition: composition.lock.clone(),
            behind: 1.0 - composition.marks[policy] / lock.marks[policy],
        }
    });
    let mut tuned = Tuned {
        best: best.collect(),
        worst: String::new(),
        points,
        scores,
    };
    tuned.worst = tuned
        .last(0)
        .map_or_else(String::new, |score| score.lock.clone());
    tuned
}

/// The locks statistically tied with the best of them, the simplest first.
fn ties<'a>(scores: &[&'a Score], policy: usize) -> Vec<&'a Score> {
    let first = scores
        .iter()
        .max_by(|one, other| one.marks[policy].total_cmp(&other.marks[policy]));
    let Some(first) = first else {
        return Vec::new();
    };
    let least = first.marks[policy] - first.unsure[policy];
    let alike = (1.0 - ALIKE) * first.marks[policy];
    let reaches = |score: &&&Score| {
        score.marks[policy] + score.unsure[policy] >= least && score.marks[policy] >= alike
    };
    let mut ties: Vec<&Score> = scores.iter().filter(reaches).copied().collect();
    ties.sort_by(|one, other| {
        let by_size = one.size.cmp(&other.size);
        by_size.then(other.marks[policy].total_cmp(&one.marks[policy]))
    });
    ties
}

impl Score {
    /// The score of a lock that has not run yet.
    fn new(entry: Contender, policies: usize) -> Self {
        Self {
            lock: entry.name,
            rival: entry.is_rival,
            steady: false,
            open: vec![true; policies],
            marks: vec![0.0; policies],
            unsure: vec![0.0; policies],
            throughputs: BTreeMap::new(),
            size: entry.size,
        }
    }

    /// Whether it may still be the best under that policy.
    #[must_use]
    pub fn is_open(&self, policy: usize) -> bool {
        self.open[policy]
    }

    /// Its throughput with that many threads, abbreviated.
    #[must_use]
    pub fn with(&self, threads: usize) -> String {
        let known = self.throughputs.get(&threads);
        known.map_or_else(String::new, |value| figure(value.per_second))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench;
    use crate::bench::simulated::{self, Course};
    use crate::rounds::Silent;
    use crate::world::simulated::Simulator;
    use crate::world::{Placement, Wait};
    use cohort_machine::description::shipped;
    use std::cell::RefCell;
    use std::hash::{DefaultHasher, Hash, Hasher};
    use std::sync::Arc;

    #[test]
    fn few_threads_weigh_more_or_many() {
        assert_eq!(Policy::Low.weight(4), 0.25);
        assert_eq!(Policy::High.weight(4), 4.0);
        let said = Policy::Said(vec![(8, 2.0)]);
        assert_eq!((said.weight(8), said.weight(9)), (2.0, 0.0));
        let values = [(1, 1.0), (100, 0.5)];
        assert!(Policy::High.mean(&values) < 0.51);
        assert!(Policy::Low.mean(&values) > 0.99);
        for policy in [Policy::Low, Policy::High, said] {
            assert_eq!(Policy::named(&policy.name()), Some(policy));
        }
        for other in ["", "xx", "8=-1", "8", "8=1,x"] {
            assert_eq!(Policy::named(other), None, "{other}");
        }
    }

    fn score(lock: &str, rival: bool, mark: f64, unsure: f64, size: Size) -> Score {
        Score {
            lock: lock.to_owned(),
            rival,
            steady: true,
            open: vec![true],
            marks: vec![mark],
            unsure: vec![unsure],
            throughputs: BTreeMap::new(),
            size,
        }
    }

    fn plan(machine: &Simulator, basic: &[Basic], threads: Vec<usize>) -> TunePlan {
        let info = bench::find("leveldb").unwrap();
        let known = Level::REPORTED.into_iter().filter(|level| {
            let mut levels = machine.topology().levels().iter();
            levels.any(|known| known.name == level.name())
        });
        TunePlan {
            levels: known.collect(),
            basic: basic.to_vec(),
            threads,
            policies: vec![Policy::High, Policy::Low],
            exhaustive: false,
            info,
            knobs: Knobs::NONE.over(info).unwrap(),
            seed: 1,
        }
    }

    #[test]
    fn a_rival_that_is_better_is_the_lock_and_the_simplest_composition_stands_beside_it() {
        let machine = shipped::find("xeon-e7-4850x4").unwrap();
        let mut plan = plan(&Simulator::new(machine), &Basic::ALL, vec![1]);
        plan.policies.truncate(1);
        let scores = |rival: f64| {
            vec![
                score("simple", false, 0.89, 0.01, (2, 8)),
                score("first", false, 0.90, 0.01, (3, 8)),
                score("behind", false, 0.5, 0.01, (1, 8)),
                score("rival", true, rival, 0.01, (4, 8)),
            ]
        };
        let best = |rival| judge(&plan, scores(rival), 0).best.remove(0);
        let better = best(1.0);
        assert_eq!(better.lock, "rival");
        assert_eq!(better.ties, ["rival"]);
        assert_eq!(better.composition, "simple");
        assert!((better.behind - 0.11).abs() < 1e-9);
        let worse = best(0.8);
        assert_eq!((&*worse.lock, worse.behind), ("simple", 0.0));
        assert_eq!(worse.ties, ["simple", "first"]);
        let judged = judge(&plan, scores(1.0), 0);
        assert_eq!(judged.worst, "behind");
        // Locks with large errors tie only with similar ones.
        let mut unsure = scores(0.8);
        unsure.iter_mut().for_each(|score| score.unsure[0] = 0.5);
        let judged = judge(&plan, unsure, 0);
        assert_eq!(judged.best[0].ties, ["simple", "first"]);
    }

    fn value(per_second: f64, steady: bool) -> Throughput {
        Throughput {
            per_second,
            interval: 0.01,
            steady,
        }
    }

    /// Looks at three locks with eight threads, and their steady states.
    fn looked() -> (Vec<Score>, BTreeMap<String, Score>) {
        let with = |name: &str, per_second: f64, steady: bool| {
            let mut score = score(name, false, 0.0, 0.0, (1, 1));
            score.throughputs.insert(8, value(per_second, steady));
            score
        };
        let seen = [("a", 50.0), ("b", 45.0), ("c", 30.0), ("d", 10.0)];
        let seen = seen.map(|(name, per_second)| with(name, per_second, false));
        let known = [("a", 100.0), ("b", 90.0), ("c", 75.0)];
        let known = known.map(|(name, per_second)| (name.to_owned(), with(name, per_second, true)));
        (seen.to_vec(), known.into_iter().collect())
    }

    #[test]
    fn a_look_is_made_better_by_what_it_is_off_in_the_median() {
        let (mut seen, known) = looked();
        let new: Vec<(usize, usize)> = (0..4).map(|place| (place, 8)).collect();
        correct(&mut seen, &new[..3], &known, &[8]);
        let corrected = |score: &Score| score.throughputs[&8].per_second;
        assert_eq!(
            seen.iter().map(corrected).collect::<Vec<_>>(),
            [100.0, 90.0, 60.0, 10.0],
            "what is not new stays"
        );
        assert_eq!(
            seen[0].throughputs[&8].interval, 0.25,
            "c's is that far off"
        );
        // One alone says nothing.
        let alone = BTreeMap::from([("a".to_owned(), known["a"].clone())]);
        correct(&mut seen, &new, &alone, &[8]);
        assert_eq!(seen[1].throughputs[&8].interval, 1.0);
    }

    #[test]
    fn what_is_behind_by_more_than_it_may_be_off_is_dropped() {
        let drop = |off: f64| {
            let (mut seen, known) = looked();
            let mut known: Vec<Score> = known.into_values().collect();
            let policies = [Policy::High];
            let best = fastest(&known, true);
            mark(&mut known, &policies, &best);
            mark(&mut seen, &policies, &best);
            let known: Vec<&Score> = known.iter().collect();
            assert_eq!(
                doubt(&seen, &known, 1),
                [1.0],
                "of a and b, which are half as good"
            );
            drop_behind(&mut seen, &known, &[off]);
            let left = seen.iter().filter(|score| score.open[0]);
            left.map(|score| score.lock.clone()).collect::<Vec<_>>()
        };
        assert_eq!(drop(1.0), ["a"]);
        assert_eq!(drop(1.3), ["a", "b"]);
        assert_eq!(drop(20.0).len(), 4);
    }

    #[test]
    fn light_numbers_of_threads_are_not_run_again() {
        let threads = [1, 2, 8, 16, 32, 64, 96, 127];
        let sorted = |policy: &Policy| {
            let mut heavy = heavy(policy, &threads);
            heavy.sort_unstable();
            heavy
        };
        assert_eq!(sorted(&Policy::Low), [1, 2, 8, 16]);
        assert_eq!(sorted(&Policy::High), [16, 32, 64, 96, 127]);
        assert_eq!(sorted(&Policy::Said(vec![(8, 1.0)])), [8]);
    }

    fn run(plan: &TunePlan, simulator: &Arc<Simulator>) -> Tuned {
        let rivals = ["mcs".to_owned()];
        tune(plan, &rivals, &mut |settings, effort| {
            let course = Course::tuning(effort, Placement::Cores, Vec::new());
            simulated::measure(plan.info, simulator, &course, settings, &mut Silent)
        })
        .unwrap()
    }

    /// What halving finds has under each policy 99 % of the mark of what is found if nothing is
    /// dropped.
    fn agrees(machine: &str, basic: &[Basic], threads: impl Fn(usize) -> Vec<usize>) {
        let simulator = Arc::new(Simulator::new(shipped::find(machine).unwrap()));
        let threads = threads(simulator.topology().cpus().len());
        let mut plan = plan(&simulator, basic, threads);
        let halved = run(&plan, &simulator);
        plan.exhaustive = true;
        let whole = run(&plan, &simulator);
        let of = |lock: &str| {
            let found = whole.scores.iter().find(|score| score.lock == lock);
            found.unwrap_or_else(|| panic!("{lock} is of the field"))
        };
        for (policy, (found, best)) in halved.best.iter().zip(&whole.best).enumerate() {
            let mark = |best: &Best| of(&best.composition).marks[policy];
            let (found, best) = (mark(found), mark(best));
            assert!(found >= 0.99 * best, "{machine}: {found} for {best}");
        }
        // If it dropped nothing, agreement would be trivial.
        let steady = |tuned: &Tuned| {
            let all = tuned
                .scores
                .iter()
                .flat_map(|score| score.throughputs.values());
            all.filter(|value| value.steady).count()
        };
        if field::count(&plan.levels, &plan.basic) > 2 * SAMPLE {
            let (some, all) = (steady(&halved), steady(&whole));
            assert!(
                3 * some < 2 * all,
                "{machine}: {some} points of {all} ran on"
            );
        }
        let worst = |tuned: &Tuned| of(&tuned.worst).marks[0];
        assert!(worst(&halved) <= worst(&whole) + 0.05, "{machine}");
    }

    /// From -1 to 1, determined by the argument.
    fn chance(of: impl Hash) -> f64 {
        let mut hasher = DefaultHasher::new();
        of.hash(&mut hasher);
        hasher.finish() as f64 / (u64::MAX / 2) as f64 - 1.0
    }

    /// Of 500 locks with known throughputs and looks with known errors, few run to their steady
    /// state, and the best of them is the best of all.
    #[test]
    fn halving_drops_most_and_keeps_the_best() {
        let simulator = Arc::new(Simulator::new(shipped::find("kunpeng-920x2").unwrap()));
        let mut plan = plan(&simulator, &Basic::ALL, vec![1, 2, 8, 16, 32, 64, 96, 127]);
        let course = Course::tuning(Effort::Brief, Placement::Cores, Vec::new());
        let setting = Setting {
            lock: "mcs".to_owned(),
            threads: 1,
            knobs: plan.knobs,
            seed: 1,
        };
        let point = simulated::measure(plan.info, &simulator, &course, &[setting], &mut Silent);
        let outcome = point.unwrap().remove(0).middle;
        // More threads spread the locks further.
        let known = |lock: &str, threads: usize| {
            let crowd = (1.0 + (threads as f64).log2()) / 8.0;
            1e6 * (1.0 + 0.3 * crowd * chance(lock) + 0.01 * chance((lock, threads)))
        };
        let counts = RefCell::new(BTreeMap::new());
        let mut made_up = |settings: &[Setting], effort: Effort| -> Result<Vec<Point>, ()> {
            let point = |setting: &Setting| {
                let (off, noise) = match effort {
                    Effort::Brief => (0.7, 0.03),
                    Effort::Longer => (0.9, 0.01),
                    Effort::Steady => (1.0, 0.002),
                };
                let (lock, threads) = (setting.lock.clone(), setting.threads);
                let noise = noise * chance((&lock, threads, effort as usize));
                let mut outcome = outcome.clone();
                outcome.per_second = known(&lock, threads) * off * (1.0 + noise);
                outcome
                    .simulated
                    .as_mut()
                    .expect("it was simulated")
                    .interval = Some(0.002);
                let wait = Wait::natural(&lock, true);
                Point::of(lock, wait, threads, vec![outcome]).ok_or(())
            };
            *counts.borrow_mut().entry(effort as usize).or_insert(0) += settings.len();
            settings.iter().map(point).collect()
        };
        let halved = tune(&plan, &["mcs".to_owned()], &mut made_up).unwrap();
        let steady = counts.borrow()[&(Effort::Steady as usize)];
        plan.exhaustive = true;
        let whole = tune(&plan, &["mcs".to_owned()], &mut made_up).unwrap();
        for policy in 0..plan.policies.len() {
            let mark = |of: &Tuned| {
                let lock = &of.best[policy].composition;
                let found = whole.scores.iter().find(|score| score.lock == *lock);
                found.map(|score| score.marks[policy]).unwrap()
            };
            assert!(mark(&halved) >= 0.99 * mark(&whole), "policy {policy}");
        }
        assert!(
            3 * steady < 501 * 8,
            "{steady} points ran to their steady state"
        );
        let dropped = halved.scores.iter().filter(|score| !score.steady);
        assert!(dropped.count() > 100);
    }

    #[test]
    fn halving_finds_what_an_exhaustive_search_finds() {
        agrees("ivy-bridge-2s", &Basic::ALL, |_| vec![1, 6, 20]);
    }

    /// Takes an hour of one CPU.
    #[test]
    fn halving_finds_it_on_all_ten_machines() {
        if std::env::var("COHORT_TIER").as_deref() != Ok("full") {
            eprintln!("skipped: COHORT_TIER=full tries all machines");
            return;
        }
        for file in &shipped::MACHINES[..10] {
            agrees(file.name, &Basic::ALL, |cpus| {
                vec![1, cpus / 8, cpus / 2, cpus - 1]
            });
        }
    }
}
