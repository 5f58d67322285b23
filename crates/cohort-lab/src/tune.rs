//! Which lock is best on a machine (Chehab et al. 2021 §4.3).
//!
//! The field is every composition of some basic locks at some levels, any of which but the
//! whole system may be left out; rivals that are no compositions run beside it ([`field`]).  A
//! lock's mark is the weighed mean of its throughputs, each over the best one's with as many
//! threads: under [`Policy::Low`] few threads weigh more, under [`Policy::High`] many; the
//! paper does not print its weights.
//!
//! All run briefly first.  How far such a look may be off is measured: some locks, from the best
//! to the worst, run to their steady state as well.  What is behind the best of these by more
//! than that is dropped; the others run longer, and what is left then to its steady state.  Each
//! policy drops by itself, and runs again only the numbers of threads that it weighs: those that
//! are left under [`Policy::Low`] need not know precisely what a crowd does.
//!
//! The same search finds what claims call the best composition ([`crate::claims`]), of another
//! field and exhaustively.
//!
//! [`mod@file`] is what is written of it, [`best`] finds what was written for a machine,
//! [`explain`] says what each part of a composition is worth, [`beam`] draws the field.  [`sanl`]
//! and [`glk`] tune locks of other kinds, by their thresholds.

pub mod beam;
pub mod best;
pub mod explain;
pub mod field;
pub mod file;
pub mod glk;
pub mod sanl;
pub mod shape;

use crate::bench::report::Point;
use crate::bench::{Info, Knobs, Setting};
use crate::plot::figure;
use crate::stats::median;
use cohort::recipe::{Basic, Level};
use field::{Entry, Size};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// What the numbers of threads weigh.
#[derive(Clone, Debug, PartialEq)]
pub enum Policy {
    /// The inverse of the number: LC-best.
    Low,
    /// The number: HC-best.
    High,
    /// What somebody says; others nothing.
    Said(Vec<(usize, f64)>),
}

impl Policy {
    /// What that many threads weigh.
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

    /// The weighed mean of what there is for some numbers of threads.
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

    /// The word for it.
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
    /// Long enough to tell what is hopeless.
    Brief,
    /// Some times as long.
    Longer,
    /// Until the throughput is steady.
    Steady,
}

/// The looks before the steady state.
const LOOKS: [Effort; 2] = [Effort::Brief, Effort::Longer];

/// What is to be tuned.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The levels below the whole system, smallest cohorts first.
    pub levels: Vec<Level>,
    /// The basic locks.
    pub basic: Vec<Basic>,
    /// The numbers of threads.
    pub threads: Vec<usize>,
    /// What they weigh; the first policy's best is what is recommended.
    pub policies: Vec<Policy>,
    /// Whether nothing is dropped.
    pub exhaustive: bool,
    /// The workload.
    pub info: &'static Info,
    /// Its knobs.
    pub knobs: Knobs,
    /// What all chance depends on.
    pub seed: u64,
}

/// A throughput, and how far it may be off, as a share of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Throughput {
    /// Operations a second.
    pub per_second: f64,
    /// On either side.
    pub interval: f64,
    /// Whether it is of a steady state; if not, of a look, made better by how far such looks are
    /// off in the median.
    pub steady: bool,
}

impl Throughput {
    /// Of a point that was run with such an effort.
    #[must_use]
    pub fn of(point: &Point, effort: Effort) -> Self {
        let of_rounds = (point.per_second.high - point.per_second.low) / 2.0;
        let interval = match &point.middle.simulated {
            // A run that was too short to say how sure it is may be far off.
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

/// How a lock did.
#[derive(Clone, Debug, Serialize)]
pub struct Score {
    /// The lock.
    pub lock: String,
    /// Whether it is none of the compositions.
    pub rival: bool,
    /// Whether it ran to its steady state, with the numbers of threads that count under some
    /// policy; if not, it was dropped.
    pub steady: bool,
    /// Whether it may be the best, by policy.
    #[serde(skip)]
    open: Vec<bool>,
    /// Its mark under each policy.
    pub marks: Vec<f64>,
    /// What the marks are unsure of, on either side.
    pub unsure: Vec<f64>,
    /// Its throughput by the number of threads.
    pub throughputs: BTreeMap<usize, Throughput>,
    #[serde(skip)]
    size: Size,
}

/// What is best under a policy.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Best {
    /// The simplest of the locks that nothing sure parts from the best.
    pub lock: String,
    /// All of these, the simplest first.
    pub ties: Vec<String>,
    /// The same of compositions alone.
    pub composition: String,
    /// How far its mark is below the lock's, as a share of that.
    pub behind: f64,
}

/// What came of tuning.
#[derive(Clone, Debug)]
pub struct Tuned {
    /// Every lock, the best under the first policy first, those that were dropped last.
    pub scores: Vec<Score>,
    /// What is best, by policy.
    pub best: Vec<Best>,
    /// The composition that is the worst under the first policy of those that ran to their
    /// steady state; the worst at the first look is one of them.
    pub worst: String,
    /// How many points were measured.
    pub points: usize,
}

impl Tuned {
    /// The composition with the highest mark under a policy, whatever ties with it.
    #[must_use]
    pub fn first(&self, policy: usize) -> Option<&Score> {
        let whole = self.whole();
        // Of equals the first.
        whole.reduce(|best, next| {
            if next.marks[policy] > best.marks[policy] {
                next
            } else {
                best
            }
        })
    }

    /// The one with the lowest mark of those that ran to their steady state.
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

/// What measures points; in their order.
pub type Measure<'a, E> = dyn FnMut(&[Setting], Effort) -> Result<Vec<Point>, E> + 'a;

/// How many locks say how far a brief look is off; a field of twice as many is run to its steady
/// state at once.
const SAMPLE: usize = 24;

/// Numbers of threads that together weigh less than this share are not run again: what a look is
/// off there changes a mark by some thousandths.
const LIGHT: f64 = 0.05;

/// Marks that differ by more than this share do not tie, however unsure they are: what is simple
/// would win by what nobody knows.
const ALIKE: f64 = 0.05;

/// About how many points a plan takes.
#[must_use]
pub fn expected(plan: &Plan, rivals: usize) -> usize {
    let (field, threads) = (field::count(plan), plan.threads.len());
    if plan.exhaustive || field <= 2 * SAMPLE {
        return (field + rivals) * threads;
    }
    (field + field / 4 + SAMPLE + rivals) * threads
}

/// Runs a plan.  Blocks.
///
/// # Errors
/// The first of `measure`.
pub fn tune<E>(plan: &Plan, rivals: &[String], measure: &mut Measure<'_, E>) -> Result<Tuned, E> {
    let mut field = field::entries(&plan.levels, &plan.basic);
    field.extend(rivals.iter().map(|name| Entry::rival(name)));
    search(plan, field, measure)
}

/// Runs a plan with another field than that of its levels and basic locks.  Blocks.
///
/// # Errors
/// The first of `measure`.
pub fn search<E>(plan: &Plan, field: Vec<Entry>, measure: &mut Measure<'_, E>) -> Result<Tuned, E> {
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
    let best = best(&scores, true);
    mark(&mut scores, &plan.policies, &best);
    Ok(judge(plan, scores, points))
}

struct Search<'a, 'm, E> {
    plan: &'a Plan,
    measure: &'a mut Measure<'m, E>,
    points: usize,
}

impl<E> Search<'_, '_, E> {
    /// Runs locks with the numbers of threads that are wanted, keeps what came of it, and says
    /// of which lock with how many threads there is something new.
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

    /// Runs to their steady state those that may be the best, and rivals.
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
                let best = best(&*scores, false);
                mark(scores, &plan.policies, &best);
                let names = sample(scores);
                let chosen = scores.iter().filter(|score| names.contains(&score.lock));
                let mut chosen: Vec<Score> = chosen.cloned().collect();
                self.run(&mut chosen, Effort::Steady, &|_, _| true)?;
                let best = self::best(&chosen, true);
                mark(&mut chosen, &plan.policies, &best);
                let named = chosen.into_iter().map(|score| (score.lock.clone(), score));
                known.extend(named);
            }
            correct(scores, &new, &known, &plan.threads);
            let known: Vec<&Score> = known.values().collect();
            let best = best(known.iter().copied(), true);
            mark(scores, &plan.policies, &best);
            let off = doubt(scores, &known, plan.policies.len());
            drop_behind(scores, &known, &off);
        }
        self.run(scores, Effort::Steady, &|score, threads| {
            !known.contains_key(&score.lock) && !score.rival && counts(score, threads)
        })?;
        for score in scores {
            if let Some(known) = known.remove(&score.lock) {
                // It is judged by what is known, not by what looks made of it.
                score.open.fill(true);
                score.throughputs = known.throughputs;
            }
        }
        Ok(())
    }
}

/// The numbers of threads that count under a policy: all but the lightest.
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

/// The names of all rivals, and of some compositions from the best to the worst, the closer to
/// each other the better they are: half of them by each of the first two policies.
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
            // At first each one.
            ((last * way * way).round() as usize).max(number)
        });
        let chosen = places.filter_map(|place| own.get(place));
        names.extend(chosen.map(|score| score.lock.clone()));
    }
    names
}

/// Makes what is new of looks better by how far it is off in the median with as many threads, and
/// says how unsure it is then.
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

/// How far nine in ten of some ratios are from one.
fn spread(ratios: impl Iterator<Item = f64>) -> f64 {
    let mut off: Vec<f64> = ratios.map(|ratio| (ratio - 1.0).abs()).collect();
    off.sort_by(f64::total_cmp);
    // Nothing is known of a look that cannot be compared.
    match off.len() {
        0 | 1 => 1.0,
        count => off[(9 * count).div_ceil(10) - 1],
    }
}

/// How far the marks of looks are off, as a share, by policy: as far as nine in ten of the better
/// half of those that are known.  What is worse has nothing to say of what may be the best.
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

/// Drops under each policy what is behind the best of the known compositions by more than its
/// mark may be off.
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

/// The best throughput by the number of threads; of steady states alone, or of looks too.
fn best<'a>(scores: impl IntoIterator<Item = &'a Score>, is_steady: bool) -> BTreeMap<usize, f64> {
    let mut best: BTreeMap<usize, f64> = BTreeMap::new();
    let all = scores.into_iter().flat_map(|score| &score.throughputs);
    for (threads, value) in all.filter(|(_, value)| value.steady || !is_steady) {
        let most = best.entry(*threads).or_default();
        *most = most.max(value.per_second);
    }
    best
}

/// Marks all of them under each policy by what they ran, against the best with as many threads.
fn mark(scores: &mut [Score], policies: &[Policy], best: &BTreeMap<usize, f64>) {
    for score in scores
        .iter_mut()
        .filter(|score| !score.throughputs.is_empty())
    {
        let share =
            |(threads, value): (&usize, &Throughput)| (*threads, value.per_second / best[threads]);
        let shares: Vec<(usize, f64)> = score.throughputs.iter().map(share).collect();
        let unsure = |policy: &Policy| {
            // Runs are as good as independent.
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

fn judge(plan: &Plan, mut scores: Vec<Score>, points: usize) -> Tuned {
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

/// Those that nothing sure parts from the best of them, the simplest first.
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
    /// Of a lock that has not run yet.
    fn new(entry: Entry, policies: usize) -> Self {
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

    /// Whether it may be the best under that policy: nothing sure has parted it from the best.
    #[must_use]
    pub fn is_open(&self, policy: usize) -> bool {
        self.open[policy]
    }

    /// Its throughput with that many threads, in few letters.
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
    use crate::rounds::Observer;
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

    fn plan(machine: &Simulator, basic: &[Basic], threads: Vec<usize>) -> Plan {
        let info = bench::find("leveldb").unwrap();
        let known = Level::REPORTED.into_iter().filter(|level| {
            let mut levels = machine.topology().levels().iter();
            levels.any(|known| known.name == level.name())
        });
        Plan {
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
        // What is unsure of everything ties with what is alike only.
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

    /// What was seen of three locks with eight threads, and what is known of them.
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
            let best = best(&known, true);
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

    struct Silent;

    impl Observer for Silent {
        fn starts(&mut self, _name: &str, _again: bool) {}
        fn wrote(&mut self, _name: &str, _output: &str) {}
    }

    fn run(plan: &Plan, simulator: &Arc<Simulator>) -> Tuned {
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
        // It has dropped, or agreeing is nothing.
        let steady = |tuned: &Tuned| {
            let all = tuned
                .scores
                .iter()
                .flat_map(|score| score.throughputs.values());
            all.filter(|value| value.steady).count()
        };
        if field::count(&plan) > 2 * SAMPLE {
            let (some, all) = (steady(&halved), steady(&whole));
            assert!(
                3 * some < 2 * all,
                "{machine}: {some} points of {all} ran on"
            );
        }
        let worst = |tuned: &Tuned| of(&tuned.worst).marks[0];
        assert!(worst(&halved) <= worst(&whole) + 0.05, "{machine}");
    }

    /// From -1 to 1, by what is given alone.
    fn chance(of: impl Hash) -> f64 {
        let mut hasher = DefaultHasher::new();
        of.hash(&mut hasher);
        hasher.finish() as f64 / (u64::MAX / 2) as f64 - 1.0
    }

    /// Of 500 locks whose throughputs are known, and looks that are off by known amounts, few run
    /// to their steady state, and the best of them is the best of all.
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
        // The more threads, the farther locks are apart.
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

    /// An hour of one CPU.
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
