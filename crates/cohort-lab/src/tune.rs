//! Which composition is best on a machine (002 §4.3).
//!
//! The field is every composition of some basic locks at some levels, any of which but the
//! whole system may be left out; rivals that are no compositions run beside it.  A lock's mark
//! is the weighed mean of its throughputs, each over the best one's with as many threads:
//! under [`Policy::Low`] few threads weigh more, under [`Policy::High`] many; the paper does
//! not print its weights.
//!
//! All run briefly first.  What is behind the best by more than both are unsure of is dropped,
//! under every policy, and the others run longer, until the last run to their steady state.

pub mod beam;

use crate::bench::report::Point;
use crate::bench::{Info, Knobs, Setting};
use crate::plot::figure;
use cohort::compose::generated::{self, Basic};
use cohort::compose::stacked::{PREFIX, SYSTEM};
use cohort::door::Level;
use serde::Serialize;
use std::collections::BTreeMap;

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

impl Effort {
    /// What a throughput may be off beyond its interval: cohorts that keep the lock long have
    /// not taken all turns in a short run.
    const fn unsure(self) -> f64 {
        match self {
            Self::Brief => 0.08,
            Self::Longer => 0.03,
            Self::Steady => 0.0,
        }
    }
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

/// A lock of the field.
#[derive(Clone, Debug)]
struct Entry {
    name: String,
    /// How many levels it has, and the bytes of a lock and a context at each; none for rivals.
    size: Option<(usize, usize)>,
}

/// A throughput, and how far it may be off, as a share of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Throughput {
    /// Operations a second.
    pub per_second: f64,
    /// On either side.
    pub interval: f64,
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
    size: Option<(usize, usize)>,
}

/// What came of tuning.
#[derive(Clone, Debug)]
pub struct Tuned {
    /// Every lock, the best under the first policy first, those that were dropped last.
    pub scores: Vec<Score>,
    /// By policy: the simplest of the compositions that nothing sure parts from the best, and
    /// all of these.
    pub best: Vec<(String, Vec<String>)>,
    /// The worst composition under the first policy.
    pub worst: String,
    /// How many points were measured.
    pub points: usize,
}

/// What measures points; in their order.
pub type Measure<'a, E> = dyn FnMut(&[Setting], Effort) -> Result<Vec<Point>, E> + 'a;

/// The names of all compositions of a plan.
#[must_use]
pub fn field(levels: &[Level], basic: &[Basic]) -> Vec<String> {
    entries(levels, basic)
        .into_iter()
        .map(|entry| entry.name)
        .collect()
}

fn entries(levels: &[Level], basic: &[Basic]) -> Vec<Entry> {
    let mut entries = Vec::new();
    for set in 0..1_usize << levels.len() {
        let below: Vec<Level> = (0..levels.len())
            .filter(|at| set >> at & 1 == 1)
            .map(|at| levels[at])
            .collect();
        if below.len() >= generated::LEVELS {
            continue;
        }
        let at: Vec<&str> = below
            .iter()
            .map(|level| level.name())
            .chain([SYSTEM])
            .collect();
        let compositions = generated::all().filter(|(locks, depth)| {
            *depth == at.len() && locks[..*depth].iter().all(|lock| basic.contains(lock))
        });
        for (locks, depth) in compositions {
            let names: Vec<&str> = locks[..depth].iter().map(|lock| lock.name()).collect();
            let bytes = locks[..depth].iter().map(|lock| bytes(*lock)).sum();
            entries.push(Entry {
                name: format!("{PREFIX}{}@{}", names.join("-"), at.join(",")),
                size: Some((depth, bytes)),
            });
        }
    }
    entries.sort_by_key(|entry| entry.size);
    entries
}

/// The bytes of a lock with a context.
const fn bytes(lock: Basic) -> usize {
    use cohort::RawLock;
    use cohort::basic::{Clh, Hemlock, Mcs, Ticket};
    use cohort::wait::SpinOnly;
    const fn of<L: RawLock>() -> usize {
        size_of::<L>() + size_of::<L::Context>()
    }
    match lock {
        Basic::Ticket => of::<Ticket<SpinOnly>>(),
        Basic::Mcs | Basic::Near => of::<Mcs<SpinOnly>>(),
        Basic::Clh => of::<Clh>(),
        Basic::Hemlock => of::<Hemlock>(),
    }
}

/// Runs a plan.  Blocks.
///
/// # Errors
/// The first of `measure`.
pub fn tune<E>(plan: &Plan, rivals: &[String], measure: &mut Measure<'_, E>) -> Result<Tuned, E> {
    let rivals = rivals.iter().map(|name| Entry {
        name: name.clone(),
        size: None,
    });
    let mut left: Vec<Entry> = entries(&plan.levels, &plan.basic);
    left.extend(rivals);
    let efforts: &[Effort] = if plan.exhaustive {
        &[Effort::Steady]
    } else {
        &[Effort::Brief, Effort::Longer, Effort::Steady]
    };
    let mut points = 0;
    let mut dropped: Vec<Score> = Vec::new();
    let mut scores: Vec<Score> = Vec::new();
    for effort in efforts {
        let settings = left.iter().flat_map(|entry| {
            plan.threads.iter().map(|threads| Setting {
                lock: entry.name.clone(),
                threads: *threads,
                knobs: plan.knobs,
                seed: plan.seed,
            })
        });
        let settings: Vec<Setting> = settings.collect();
        points += settings.len();
        let measured = measure(&settings, *effort)?;
        let of_each = measured.chunks(plan.threads.len().max(1));
        scores = left
            .iter()
            .zip(of_each)
            .map(|(entry, points)| score(entry, points, *effort))
            .collect();
        mark(&mut scores, &plan.policies);
        let best = leads(&scores, plan.policies.len());
        let stays = |score: &Score| score.size.is_none() || is_close(score, &best);
        if *effort != Effort::Steady {
            dropped.extend(scores.iter().filter(|score| !stays(score)).cloned());
            let names: Vec<&str> = scores
                .iter()
                .filter(|s| stays(s))
                .map(|s| s.lock.as_str())
                .collect();
            left.retain(|entry| names.contains(&entry.name.as_str()));
        }
    }
    Ok(judge(plan, scores, dropped, points))
}

fn judge(plan: &Plan, mut scores: Vec<Score>, mut dropped: Vec<Score>, points: usize) -> Tuned {
    let by_first = |one: &Score, other: &Score| other.marks[0].total_cmp(&one.marks[0]);
    scores.sort_by(by_first);
    dropped.sort_by(by_first);
    let compositions = dropped.iter().chain(&scores).filter(|score| !score.rival);
    let worst = compositions.min_by(|one, other| one.marks[0].total_cmp(&other.marks[0]));
    let worst = worst.map_or_else(String::new, |score| score.lock.clone());
    let best = (0..plan.policies.len()).map(|policy| {
        let own = scores.iter().filter(|score| !score.rival);
        let first = own
            .clone()
            .max_by(|one, other| one.marks[policy].total_cmp(&other.marks[policy]));
        let Some(first) = first else {
            return (String::new(), Vec::new());
        };
        let least = first.marks[policy] - first.unsure[policy];
        let mut ties: Vec<&Score> = own
            .filter(|score| score.marks[policy] + score.unsure[policy] >= least)
            .collect();
        ties.sort_by(|one, other| {
            let by_size = one.size.cmp(&other.size);
            by_size.then(other.marks[policy].total_cmp(&one.marks[policy]))
        });
        let names: Vec<String> = ties.iter().map(|score| score.lock.clone()).collect();
        (names[0].clone(), names)
    });
    Tuned {
        best: best.collect(),
        worst,
        points,
        scores: {
            scores.extend(dropped);
            scores
        },
    }
}

fn score(entry: &Entry, points: &[Point], effort: Effort) -> Score {
    let throughput = |point: &Point| {
        let simulated = point.middle.simulated.as_ref();
        let of_rounds = (point.per_second.high - point.per_second.low) / 2.0;
        let interval = match simulated {
            // A run that was too short to say how sure it is may be far off.
            Some(facts) => facts.interval.unwrap_or(0.1),
            None => of_rounds / point.per_second.median.max(f64::MIN_POSITIVE),
        };
        let throughput = Throughput {
            per_second: point.per_second.median,
            interval: interval + effort.unsure(),
        };
        (point.threads, throughput)
    };
    Score {
        lock: entry.name.clone(),
        rival: entry.size.is_none(),
        steady: effort == Effort::Steady,
        marks: Vec::new(),
        unsure: Vec::new(),
        throughputs: points.iter().map(throughput).collect(),
        size: entry.size,
    }
}

/// Marks all of them under each policy, against the best with as many threads.
fn mark(scores: &mut [Score], policies: &[Policy]) {
    let mut best: BTreeMap<usize, f64> = BTreeMap::new();
    for (threads, value) in scores.iter().flat_map(|score| &score.throughputs) {
        let most = best.entry(*threads).or_default();
        *most = most.max(value.per_second);
    }
    for score in scores {
        for policy in policies {
            let all: f64 = best.keys().map(|threads| policy.weight(*threads)).sum();
            let mean = |of: &dyn Fn(f64, &Throughput) -> f64| -> f64 {
                let weighed = score.throughputs.iter().map(|(threads, value)| {
                    policy.weight(*threads) * of(value.per_second / best[threads], value)
                });
                weighed.sum::<f64>() / all
            };
            score.marks.push(mean(&|share, _| share));
            score
                .unsure
                .push(mean(&|share, value| share * value.interval));
        }
    }
}

/// What the best composition reaches for sure under each policy.
fn leads(scores: &[Score], policies: usize) -> Vec<f64> {
    let sure = |policy: usize| {
        let own = scores.iter().filter(|score| !score.rival);
        let sure = own.map(|score| score.marks[policy] - score.unsure[policy]);
        sure.fold(0.0, f64::max)
    };
    (0..policies).map(sure).collect()
}

/// Whether a lock may be the best under some policy.
fn is_close(score: &Score, leads: &[f64]) -> bool {
    let might = score.marks.iter().zip(&score.unsure);
    might
        .zip(leads)
        .any(|((mark, unsure), lead)| mark + unsure >= *lead)
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

    struct Silent;

    impl Observer for Silent {
        fn starts(&mut self, _name: &str, _again: bool) {}
        fn wrote(&mut self, _name: &str, _output: &str) {}
    }

    #[test]
    fn the_field_is_every_composition_with_levels_left_out() {
        let levels = [Level::Core, Level::CacheGroup, Level::Numa];
        let all = field(&levels, &Basic::ALL);
        assert_eq!(all.len(), 500);
        assert!(all[..4].iter().all(|name| name.ends_with("@system")));
        assert!(all.contains(&"clof:ticket-mcs@cache,system".to_owned()));
        assert_eq!(field(&[], &[Basic::Mcs]), ["clof:mcs@system"]);
        // Of four levels below the system three stand in a composition.
        let four = field(&Level::ALL, &[Basic::Mcs]);
        assert_eq!(four.len(), 1 + 4 + 6 + 4);
    }

    #[test]
    fn few_threads_weigh_more_or_many() {
        assert_eq!(Policy::Low.weight(4), 0.25);
        assert_eq!(Policy::High.weight(4), 4.0);
        let said = Policy::Said(vec![(8, 2.0)]);
        assert_eq!((said.weight(8), said.weight(9)), (2.0, 0.0));
        assert_eq!(said.name(), "8=2");
    }

    /// On a small machine all of the field can be run to its end.
    #[test]
    fn halving_finds_what_an_exhaustive_search_finds() {
        let machine = shipped::find("xeon-e7-4850x4").unwrap();
        let simulator = Arc::new(Simulator::new(machine));
        let info = bench::find("leveldb").unwrap();
        let mut plan = Plan {
            levels: vec![Level::Numa],
            basic: Basic::ALL.to_vec(),
            threads: vec![1, 10, 39],
            policies: vec![Policy::High, Policy::Low],
            exhaustive: false,
            info,
            knobs: Knobs::NONE.over(info).unwrap(),
            seed: 1,
        };
        let run = |plan: &Plan| {
            tune(plan, &["mcs".to_owned()], &mut |settings, effort| {
                let course = Course::tuning(effort, Placement::Cores, Vec::new());
                simulated::measure(info, &simulator, &course, settings, &mut Silent)
            })
            .unwrap()
        };
        let halved = run(&plan);
        plan.exhaustive = true;
        let whole = run(&plan);
        assert!(halved.points != whole.points);
        for (policy, (found, _)) in halved.best.iter().enumerate() {
            let of = |name: &String| {
                whole
                    .scores
                    .iter()
                    .find(|score| score.lock == *name)
                    .unwrap()
            };
            let best = of(&whole.best[policy].0).marks[policy];
            assert!(of(found).marks[policy] >= 0.99 * best, "{found}");
        }
        assert!(halved.scores.iter().any(|score| score.rival));
    }
}
