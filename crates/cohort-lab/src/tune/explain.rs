//! Measures the worth of each part of a composition: its locks and levels, one at a time, its
//! bound, and its performance elsewhere.

use super::best::{self, NODED};
use super::field::{self, RIVALS};
use super::{Effort, Policy, Throughput};
use crate::bench::report::Point;
use crate::bench::{self, Info, Knobs, Setting};
use cohort::name::SYSTEM;
use cohort::recipe::Basic;
use serde::Serialize;

/// Where points are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Where {
    /// On the composition's own machine.
    Home,
    /// On that shipped machine.
    On(&'static str),
}

/// Measures points to their steady state; returns them in the same order.
pub type Measure<'a, E> = dyn FnMut(Where, &'static Info, &[Setting]) -> Result<Vec<Point>, E> + 'a;

/// Plan of an explanation.
#[derive(Clone, Debug)]
pub struct ExplainPlan {
    /// The composition, with its levels.
    pub lock: String,
    /// Its machine.
    pub machine: String,
    /// Weights of the numbers of threads.
    pub policy: Policy,
    /// The numbers of threads.
    pub threads: Vec<usize>,
    /// The workload of its tuning.
    pub info: &'static Info,
    /// The seed of all random choices.
    pub seed: u64,
}

/// Gain or loss, relative to the composition.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Gain {
    /// Positive: the alternative is better.
    pub gain: f64,
    /// The half width of its 95 % interval.
    pub unsure: f64,
}

/// Worth of the choice at one level.
#[derive(Clone, Debug, Serialize)]
pub struct Choice {
    /// The level.
    pub level: &'static str,
    /// The lock at this level.
    pub lock: &'static str,
    /// The gain of each other lock in its place.
    pub swapped: Vec<(&'static str, Gain)>,
    /// The gain of omitting the level; none for the whole system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<Gain>,
}

/// Benefit and cost of a bound of hand-offs within a cohort (Dice et al. 2015 §5.1.4).
#[derive(Clone, Debug, Serialize)]
pub struct Bound {
    /// The bound, at each level.
    pub hand_offs: u32,
    /// Operations a second.
    pub per_second: f64,
    /// The gain over the usual bound.
    pub gain: Gain,
    /// Jain's index of the threads' work: 1 if all threads have done the same.
    pub jain: f64,
    /// Work of the least-served thread, as a share of the mean.
    pub least: f64,
}

/// Comparison under another workload.
#[derive(Clone, Debug, Serialize)]
pub struct Control {
    /// The number of threads.
    pub threads: usize,
    /// The gain of each rival over the composition.
    pub gains: Vec<(&'static str, Gain)>,
    /// Operations a second of the composition.
    pub per_second: f64,
}

/// Result of the composition on another machine.
#[derive(Clone, Debug, Serialize)]
pub struct Elsewhere {
    /// The machine.
    pub machine: &'static str,
    /// The number of threads.
    pub threads: usize,
    /// The composition as resolved there.
    pub lock: String,
    /// The machine's own best composition.
    pub own: String,
    /// The difference between the two.
    pub gain: Gain,
}

/// Complete explanation.
#[derive(Clone, Debug, Serialize)]
pub struct Explained {
    /// The lock explained.
    pub lock: String,
    /// Its levels, smallest cohorts first.
    pub choices: Vec<Choice>,
    /// With the most threads.
    pub bounds: Vec<Bound>,
    /// Under [`CONTROL`].
    pub control: Vec<Control>,
    /// On other machines.
    pub elsewhere: Vec<Elsewhere>,
}

/// Workload with longer critical sections and several locks.
pub const CONTROL: &str = "kyoto";

/// The bounds compared; the third is the usual one.
const BOUNDS: [u32; 5] = [8, 32, 128, 512, 2048];
const USUAL: u32 = BOUNDS[2];

/// The number of points of a plan.
#[must_use]
pub fn expected(plan: &ExplainPlan) -> usize {
    let locks = variants(&plan.lock).map_or(0, |variants| variants.len() + 1);
    locks * plan.threads.len()
        + BOUNDS.len()
        + (RIVALS.len() + 1) * some(&plan.threads).len()
        + 2 * NODED.len()
}

/// The first, the middle and the last.
#[must_use]
pub fn some(threads: &[usize]) -> Vec<usize> {
    let ends = [
        threads.first(),
        threads.get(threads.len() / 2),
        threads.last(),
    ];
    let mut some: Vec<usize> = ends.into_iter().flatten().copied().collect();
    some.dedup();
    some
}

/// Composition that differs at one level.
struct Variant {
    name: String,
    /// The level's index.
    at: usize,
    /// The other lock; none if the level is omitted.
    instead: Option<Basic>,
}

fn variants(lock: &str) -> Option<Vec<Variant>> {
    let (locks, below) = field::parts(lock)?;
    let mut variants = Vec::new();
    for at in 0..locks.len() {
        for other in Basic::ALL.into_iter().filter(|other| *other != locks[at]) {
            let mut swapped = locks.clone();
            swapped[at] = other;
            variants.push(Variant {
                name: field::name(&swapped, &below),
                at,
                instead: Some(other),
            });
        }
        if at < below.len() {
            let (mut locks, mut below) = (locks.clone(), below.clone());
            locks.remove(at);
            below.remove(at);
            variants.push(Variant {
                name: field::name(&locks, &below),
                at,
                instead: None,
            });
        }
    }
    Some(variants)
}

/// Explains a composition.  Blocks.
///
/// # Errors
/// The first of `measure`; or the lock is no composition with levels.
pub fn explain<E: From<String>>(
    plan: &ExplainPlan,
    measure: &mut Measure<'_, E>,
) -> Result<Explained, E> {
    let no_parts = || format!("`{}` is not a composition with levels", plan.lock);
    let (locks, below) = field::parts(&plan.lock).ok_or_else(no_parts)?;
    let variants = variants(&plan.lock).ok_or_else(no_parts)?;
    let mut names = vec![plan.lock.clone()];
    names.extend(variants.iter().map(|variant| variant.name.clone()));
    let points = run(plan, measure, Where::Home, plan.info, &names, &plan.threads)?;
    let mut of_each = points.chunks(plan.threads.len().max(1));
    let own = of_each.next().unwrap_or_default();
    let gains: Vec<Gain> = of_each.map(|points| weighed(plan, points, own)).collect();
    let choices = locks.iter().enumerate().map(|(at, lock)| {
        let of = |is: fn(&Variant) -> bool| {
            let all = variants.iter().zip(&gains);
            all.filter(move |(variant, _)| variant.at == at && is(variant))
        };
        let swapped = of(|variant| variant.instead.is_some());
        let named = |(variant, gain): (&Variant, &Gain)| Some((variant.instead?.name(), *gain));
        Choice {
            level: below.get(at).map_or(SYSTEM, |level| level.name()),
            lock: lock.name(),
            swapped: swapped.filter_map(named).collect(),
            left_out: of(|variant| variant.instead.is_none())
                .next()
                .map(|(_, gain)| *gain),
        }
    });
    Ok(Explained {
        lock: plan.lock.clone(),
        choices: choices.collect(),
        bounds: bounds(plan, measure)?,
        control: control(plan, measure)?,
        elsewhere: elsewhere(plan, measure)?,
    })
}

fn run<E: From<String>>(
    plan: &ExplainPlan,
    measure: &mut Measure<'_, E>,
    at: Where,
    info: &'static Info,
    locks: &[String],
    threads: &[usize],
) -> Result<Vec<Point>, E> {
    let knobs = Knobs::NONE.over(info)?;
    let settings = locks.iter().flat_map(|lock| {
        threads.iter().map(|threads| Setting {
            lock: lock.clone(),
            threads: *threads,
            knobs,
            seed: plan.seed,
        })
    });
    measure(at, info, &settings.collect::<Vec<_>>())
}

/// The gain of one point over another.
fn gain(of: &Point, over: &Point) -> Gain {
    let (of, over) = (
        Throughput::of(of, Effort::Steady),
        Throughput::of(over, Effort::Steady),
    );
    let ratio = of.per_second / over.per_second;
    Gain {
        gain: ratio - 1.0,
        unsure: ratio * (of.interval + over.interval),
    }
}

/// The weighted gain over several numbers of threads.
fn weighed(plan: &ExplainPlan, of: &[Point], over: &[Point]) -> Gain {
    let gains = of
        .iter()
        .zip(over)
        .map(|(of, over)| (of.threads, gain(of, over)));
    let gains: Vec<(usize, Gain)> = gains.collect();
    let mean = |value: fn(&Gain) -> f64| {
        let values = gains.iter().map(|(threads, gain)| (*threads, value(gain)));
        plan.policy.mean(&values.collect::<Vec<_>>())
    };
    Gain {
        gain: mean(|gain| gain.gain),
        unsure: mean(|gain| gain.unsure),
    }
}

fn bounds<E: From<String>>(
    plan: &ExplainPlan,
    measure: &mut Measure<'_, E>,
) -> Result<Vec<Bound>, E> {
    let names: Vec<String> = BOUNDS.map(|bound| format!("{}/{bound}", plan.lock)).into();
    let most: Vec<usize> = plan.threads.last().copied().into_iter().collect();
    let points = run(plan, measure, Where::Home, plan.info, &names, &most)?;
    let all = BOUNDS.into_iter().zip(&points);
    let Some((_, usual)) = all.clone().find(|(bound, _)| *bound == USUAL) else {
        return Ok(Vec::new());
    };
    let bound = |(hand_offs, point): (u32, &Point)| {
        let outcome = &point.middle;
        let even = outcome.operations as f64 / outcome.per_thread.len().max(1) as f64;
        Bound {
            hand_offs,
            per_second: point.per_second.median,
            gain: gain(point, usual),
            jain: outcome.fairness.jain,
            least: outcome.fairness.least as f64 / even.max(f64::MIN_POSITIVE),
        }
    };
    Ok(all.map(bound).collect())
}

fn control<E: From<String>>(
    plan: &ExplainPlan,
    measure: &mut Measure<'_, E>,
) -> Result<Vec<Control>, E> {
    let info = bench::find(CONTROL).ok_or_else(|| format!("unknown workload {CONTROL}"))?;
    let threads = some(&plan.threads);
    let mut names = vec![plan.lock.clone()];
    names.extend(RIVALS.iter().map(|(name, _)| (*name).to_owned()));
    let points = run(plan, measure, Where::Home, info, &names, &threads)?;
    let rows = threads.iter().enumerate().map(|(at, count)| {
        let with = |lock: usize| points.get(lock * threads.len() + at);
        let own = with(0);
        let rivals = RIVALS.iter().enumerate();
        let gains =
            rivals.filter_map(|(rival, (name, _))| Some((*name, gain(with(rival + 1)?, own?))));
        Control {
            threads: *count,
            gains: gains.collect(),
            per_second: own.map_or(0.0, |own| own.per_second.median),
        }
    });
    Ok(rows.collect())
}

fn elsewhere<E: From<String>>(
    plan: &ExplainPlan,
    measure: &mut Measure<'_, E>,
) -> Result<Vec<Elsewhere>, E> {
    let mut rows = Vec::new();
    for machine in NODED.iter().filter(|machine| **machine != plan.machine) {
        let file = best::shipped(machine)?;
        let threads: Vec<usize> = file.tuned.threads.last().copied().into_iter().collect();
        let lock = best::moved(&plan.lock, &file.tuned.shape.parse()?);
        let names = [lock.clone(), file.tuned.composition.clone()];
        let points = run(
            plan,
            measure,
            Where::On(machine),
            plan.info,
            &names,
            &threads,
        )?;
        if let ([count], [one, own]) = (&threads[..], &points[..]) {
            let [lock, own_lock] = names;
            rows.push(Elsewhere {
                machine,
                threads: *count,
                lock,
                own: own_lock,
                gain: gain(one, own),
            });
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_level_is_swapped_or_left_out_at_a_time() {
        let variants = variants("clof:mcs-ticket-clh@cache,numa,system").unwrap();
        let names: Vec<&str> = variants.iter().map(|variant| &*variant.name).collect();
        assert_eq!(names.len(), 3 * 3 + 2);
        assert!(names.contains(&"clof:mcs-hemlock-clh@cache,numa,system"));
        assert!(names.contains(&"clof:ticket-clh@numa,system"));
        assert!(names.contains(&"clof:mcs-clh@cache,system"));
        assert!(super::variants("hmcs-4").is_none());
    }

    #[test]
    fn the_first_the_middle_and_the_last() {
        assert_eq!(some(&[1, 2, 8, 16, 32, 64, 96, 127]), [1, 32, 127]);
        assert_eq!(some(&[1]), [1]);
        assert!(some(&[]).is_empty());
    }
}
