//! Which lock is best on a machine (Chehab et al. 2021 §4.3).
//!
//! The field is every composition of some basic locks at some levels, any of which but the
//! whole system may be left out; rivals that are no compositions run beside it ([`field`]).  A
//! lock's mark is the weighed mean of its throughputs, each over the best one's with as many
//! threads: under [`Policy::Low`] few threads weigh more, under [`Policy::High`] many; the
//! paper does not print its weights.
//!
//! All run briefly first.  How far such a look may be off is measured: some locks, from the best
//! to the worst, run to their steady state as well.  What is behind the best composition by more
//! than that, under every policy, is dropped; the others run longer, and what is left then to
//! its steady state.
//!
//! [`mod@file`] is what is written of it, [`best`] finds what was written for a machine,
//! [`explain`] says what each part of a composition is worth, [`beam`] draws the field.

pub mod beam;
pub mod best;
pub mod explain;
pub mod field;
pub mod file;
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
}

impl Throughput {
    /// Of a point.
    #[must_use]
    pub fn of(point: &Point) -> Self {
        let of_rounds = (point.per_second.high - point.per_second.low) / 2.0;
        let interval = match &point.middle.simulated {
            // A run that was too short to say how sure it is may be far off.
            Some(facts) => facts.interval.unwrap_or(0.1),
            None => of_rounds / point.per_second.median.max(f64::MIN_POSITIVE),
        };
        Self {
            per_second: point.per_second.median,
            interval,
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
    /// Whether it ran to its steady state; if not, it was dropped.
    pub steady: bool,
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

/// What measures points; in their order.
pub type Measure<'a, E> = dyn FnMut(&[Setting], Effort) -> Result<Vec<Point>, E> + 'a;

/// How many locks say how far a brief look is off; a field of twice as many is run to its steady
/// state at once.
const SAMPLE: usize = 24;

/// Marks that differ by more than this share do not tie, however unsure they are: what is simple
/// would win by what nobody knows.
const ALIKE: f64 = 0.05;

/// About how many points a plan takes.
#[must_use]
pub fn expected(plan: &Plan, rivals: usize) -> usize {
    let (field, threads) = (field::count(plan) + rivals, plan.threads.len());
    if plan.exhaustive || field <= 2 * SAMPLE {
        return field * threads;
    }
    (field + field / 2 + SAMPLE + rivals) * threads
}

/// Runs a plan.  Blocks.
///
/// # Errors
/// The first of `measure`.
pub fn tune<E>(plan: &Plan, rivals: &[String], measure: &mut Measure<'_, E>) -> Result<Tuned, E> {
    let mut field = field::entries(&plan.levels, &plan.basic);
    field.extend(rivals.iter().map(|name| Entry::rival(name)));
    let mut search = Search {
        plan,
        measure,
        points: 0,
    };
    let mut scores = if plan.exhaustive || field.len() <= 2 * SAMPLE {
        search.run(&field, Effort::Steady)?
    } else {
        search.halve(&field)?
    };
    mark(&mut scores, &plan.policies);
    Ok(judge(plan, scores, search.points))
}

struct Search<'a, 'm, E> {
    plan: &'a Plan,
    measure: &'a mut Measure<'m, E>,
    points: usize,
}

impl<E> Search<'_, '_, E> {
    fn run(&mut self, entries: &[Entry], effort: Effort) -> Result<Vec<Score>, E> {
        let threads = &self.plan.threads;
        let settings = entries.iter().flat_map(|entry| {
            threads.iter().map(|threads| Setting {
                lock: entry.name.clone(),
                threads: *threads,
                knobs: self.plan.knobs,
                seed: self.plan.seed,
            })
        });
        let settings: Vec<Setting> = settings.collect();
        self.points += settings.len();
        let measured = (self.measure)(&settings, effort)?;
        let of_each = measured.chunks(threads.len().max(1));
        let scores = entries.iter().zip(of_each).map(|(entry, points)| Score {
            lock: entry.name.clone(),
            rival: entry.is_rival,
            steady: effort == Effort::Steady,
            marks: Vec::new(),
            unsure: Vec::new(),
            throughputs: points
                .iter()
                .map(|point| (point.threads, Throughput::of(point)))
                .collect(),
            size: entry.size,
        });
        Ok(scores.collect())
    }

    /// The scores of all; of those that may be the best, in their steady state.
    fn halve(&mut self, field: &[Entry]) -> Result<Vec<Score>, E> {
        let policies = &self.plan.policies;
        let mut left = self.run(field, Effort::Brief)?;
        mark(&mut left, policies);
        let known: BTreeSet<String> = sample(&left).into_iter().collect();
        let entries = |wanted: &dyn Fn(&str) -> bool| -> Vec<Entry> {
            let wanted = field.iter().filter(|entry| wanted(&entry.name));
            wanted.cloned().collect()
        };
        let mut steady = self.run(&entries(&|name| known.contains(name)), Effort::Steady)?;
        mark(&mut steady, policies);
        doubt(&mut left, &steady, policies.len());
        let mut dropped = Vec::new();
        left = close(left, policies.len(), &mut dropped);
        let again: BTreeSet<String> = left.into_iter().map(|score| score.lock).collect();
        let again = entries(&|name| again.contains(name) || known.contains(name));
        left = self.run(&again, Effort::Longer)?;
        mark(&mut left, policies);
        doubt(&mut left, &steady, policies.len());
        left = close(left, policies.len(), &mut dropped);
        let last: BTreeSet<String> = left.into_iter().map(|score| score.lock).collect();
        let last = entries(&|name| last.contains(name) && !known.contains(name));
        steady.extend(self.run(&last, Effort::Steady)?);
        dropped.retain(|score| !known.contains(&score.lock));
        steady.extend(dropped);
        Ok(steady)
    }
}

/// The names of all rivals, and of some compositions from the best to the worst under the first
/// policy, the closer to each other the better they are.
fn sample(scores: &[Score]) -> Vec<String> {
    let (mut own, rivals): (Vec<&Score>, Vec<&Score>) =
        scores.iter().partition(|score| !score.rival);
    own.sort_by(|one, other| other.marks[0].total_cmp(&one.marks[0]));
    let last = own.len().saturating_sub(1) as f64;
    let place = |number: usize| {
        let way = number as f64 / (SAMPLE - 1) as f64;
        // At first each one.
        ((last * way * way).round() as usize).max(number)
    };
    let places: BTreeSet<usize> = (0..SAMPLE).map(place).collect();
    let chosen = places.into_iter().filter_map(|place| own.get(place));
    let all = chosen.chain(&rivals);
    all.map(|score| score.lock.clone()).collect()
}

/// Says how unsure the marks of a look are: as far as nine in ten of those that are known are off
/// beyond what all of them are.
fn doubt(scores: &mut [Score], steady: &[Score], policies: usize) {
    for policy in 0..policies {
        let known = steady.iter().filter(|known| !known.rival);
        let ratios: Vec<f64> = known
            .filter_map(|known| {
                let looked = scores.iter().find(|score| score.lock == known.lock)?;
                let looked = looked.marks[policy];
                (looked > 0.0).then(|| known.marks[policy] / looked)
            })
            .collect();
        let middle = median(&ratios).unwrap_or(1.0);
        let off = ratios.iter().map(|ratio| (ratio / middle - 1.0).abs());
        let mut off: Vec<f64> = off.collect();
        off.sort_by(f64::total_cmp);
        // Nothing is known of a look that cannot be compared.
        let off = match off.len() {
            0 | 1 => 1.0,
            count => off[(9 * count).div_ceil(10) - 1],
        };
        for score in scores.iter_mut() {
            score.unsure[policy] = off * score.marks[policy];
        }
    }
}

/// The scores of locks that may be the best composition under some policy, and of rivals; all
/// others go to `dropped`.
fn close(scores: Vec<Score>, policies: usize, dropped: &mut Vec<Score>) -> Vec<Score> {
    let sure = |policy: usize| {
        let own = scores.iter().filter(|score| !score.rival);
        let sure = own.map(|score| score.marks[policy] - score.unsure[policy]);
        sure.fold(0.0, f64::max)
    };
    let leads: Vec<f64> = (0..policies).map(sure).collect();
    let might = |score: &Score| {
        let most = score.marks.iter().zip(&score.unsure).zip(&leads);
        score.rival
            || most
                .into_iter()
                .any(|((mark, unsure), lead)| mark + unsure >= *lead)
    };
    let (left, behind): (Vec<Score>, Vec<Score>) = scores.into_iter().partition(might);
    dropped.extend(behind);
    left
}

/// Marks all of them under each policy by what they ran, against the best with as many threads:
/// of those in their steady state, if there is one.
fn mark(scores: &mut [Score], policies: &[Policy]) {
    let is_any_steady = scores.iter().any(|score| score.steady);
    let mut best: BTreeMap<usize, f64> = BTreeMap::new();
    let counting = scores.iter().filter(|score| score.steady || !is_any_steady);
    for (threads, value) in counting.flat_map(|score| &score.throughputs) {
        let most = best.entry(*threads).or_default();
        *most = most.max(value.per_second);
    }
    for score in scores {
        let share =
            |(threads, value): (&usize, &Throughput)| (*threads, value.per_second / best[threads]);
        let shares: Vec<(usize, f64)> = score.throughputs.iter().map(share).collect();
        let unsure = |policy: usize, mark: f64| {
            // What was dropped is as unsure as it was then.
            let before = score.marks.get(policy).zip(score.unsure.get(policy));
            if let (false, Some((marked, unsure))) = (score.steady, before) {
                return unsure / marked * mark;
            }
            // Runs are as good as independent.
            let all = score.throughputs.values().zip(&shares);
            let (sum, weights) =
                all.fold((0.0, 0.0), |(sum, weights), (value, (threads, share))| {
                    let weight = policies[policy].weight(*threads);
                    let off = weight * share * value.interval;
                    (sum + off * off, weights + weight)
                });
            f64::sqrt(sum) / weights
        };
        let marks: Vec<f64> = policies.iter().map(|policy| policy.mean(&shares)).collect();
        let unsure = marks.iter().enumerate().map(|(at, mark)| unsure(at, *mark));
        (score.unsure, score.marks) = (unsure.collect(), marks.clone());
    }
}

fn judge(plan: &Plan, mut scores: Vec<Score>, points: usize) -> Tuned {
    scores.sort_by(|one, other| {
        let by_mark = other.marks[0].total_cmp(&one.marks[0]);
        other.steady.cmp(&one.steady).then(by_mark)
    });
    let steady: Vec<&Score> = scores.iter().filter(|score| score.steady).collect();
    let own: Vec<&Score> = steady
        .iter()
        .filter(|score| !score.rival)
        .copied()
        .collect();
    let worst = own
        .iter()
        .min_by(|one, other| one.marks[0].total_cmp(&other.marks[0]));
    let best = (0..plan.policies.len()).map(|policy| {
        let all = ties(&steady, policy);
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
    Tuned {
        best: best.collect(),
        worst: worst.map_or_else(String::new, |score| score.lock.clone()),
        points,
        scores,
    }
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
    use crate::world::Placement;
    use crate::world::simulated::Simulator;
    use cohort_machine::description::shipped;
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
            marks: vec![mark],
            unsure: vec![unsure],
            throughputs: BTreeMap::new(),
            size,
        }
    }

    fn plan(machine: &Simulator, basic: &[Basic], threads: Vec<usize>) -> Plan {
        let info = bench::find("leveldb").unwrap();
        let known = Level::ALL.into_iter().filter(|level| {
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

    #[test]
    fn what_a_look_is_off_is_what_the_known_ones_say() {
        let known: Vec<Score> = (0..4)
            .map(|at| {
                score(
                    &at.to_string(),
                    false,
                    0.9 + 0.01 * f64::from(at),
                    0.0,
                    (1, 1),
                )
            })
            .collect();
        // All looked at are half as good: that is no doubt.
        let mut looked = known.clone();
        looked.iter_mut().for_each(|score| score.marks[0] /= 2.0);
        doubt(&mut looked, &known, 1);
        assert!(looked.iter().all(|score| score.unsure[0] < 1e-9));
        looked[0].marks[0] *= 1.2;
        doubt(&mut looked, &known, 1);
        assert!(looked.iter().all(|score| score.unsure[0] > 0.05));
        // One alone says nothing.
        doubt(&mut looked, &known[..1], 1);
        assert!(looked.iter().all(|score| score.unsure[0] == score.marks[0]));
        let mut dropped = Vec::new();
        looked[3].marks[0] = 0.1;
        looked.iter_mut().for_each(|score| score.unsure[0] = 0.01);
        assert_eq!(close(looked, 1, &mut dropped).len(), 1);
        assert_eq!(dropped.len(), 3);
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
        let worst = |tuned: &Tuned| of(&tuned.worst).marks[0];
        assert!(worst(&halved) <= worst(&whole) + 0.05, "{machine}");
    }

    #[test]
    fn halving_finds_what_an_exhaustive_search_finds() {
        let basic = [Basic::Ticket, Basic::Mcs, Basic::Hemlock];
        agrees("ivy-bridge-2s", &basic, |_| vec![1, 6, 20]);
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
