//! The envelope: the best lock's performance at each point of a grid of machines, workloads and
//! numbers of threads, and the share of it that a program gets from one lock.
//!
//! Everything is simulated. [`grid`] lists the points, [`measure`] runs them, [`heat`] draws them;
//! `cohort bench --envelope` shows them and `cohort bar envelope` judges.

pub mod grid;
pub mod heat;

pub use grid::{Extent, Grid, Spot};

use crate::bench::simulated::{Course, Until};
use crate::bench::{Info, Knobs, Outcome, Setting, Span, find, run};
use crate::interrupt::{self, Interrupted};
use crate::rounds::Observer;
use crate::world::served;
use crate::world::simulated::Simulator;
use crate::world::{Placement, Tunings, Wait};
use rayon::prelude::*;
use serde::Serialize;
use std::sync::{Arc, Mutex};

/// The reference: the C library's mutex.
pub const REFERENCE: &str = "posix";

/// The locks that form the envelope by their best: some of each kind, so that a point takes seconds and not
/// minutes, and current rivals.
pub const CANDIDATES: &[&str] = &[
    "futex-hmcs",
    "futex",
    REFERENCE,
    "bo",
    "ticket",
    "mcs",
    "clh",
    "cna",
    "shfl",
    "hmcs-2",
    "hmcs-4",
    "ahmcs-4",
    "c-bo-mcs",
    "c-tkt-mcs",
    "malthusian",
    "reciprocating",
    "fissile",
];

/// The locks judged by default.
pub const JUDGED: &[&str] = &[
    "futex-hmcs",
    "futex",
    REFERENCE,
    "mcs",
    "cna",
    "c-tkt-mcs",
    "hmcs-4",
];

/// The length of long critical sections, in nanoseconds.
pub const LONG: u64 = 20_000;

/// Minimum virtual seconds of a point, in total and per thread.
const SECONDS: f64 = 0.004;
const SECONDS_EACH: f64 = 0.000_02;
/// Per thread with long critical sections: four of each.
const SECONDS_EACH_LONG: f64 = 0.000_08;
/// With threads that share CPUs: several time slices.
const SECONDS_CROWDED: f64 = 0.04;

/// One lock at one point.
#[derive(Clone, Debug, Serialize)]
pub struct Run {
    /// The lock.
    pub lock: String,
    /// Whether it was raw, and so counts for the envelope.
    pub is_raw: bool,
    /// Whether it is judged: as served, or raw on request.
    pub is_judged: bool,
    /// Operations per second.
    pub per_second: f64,
    /// Work of the least-served thread, relative to an even share.
    pub least: f64,
    /// The 99.9th percentile of the time from the request of the lock to its acquisition, in
    /// nanoseconds; none without timings.
    pub waits_p999: Option<f64>,
    /// Estimated energy per critical section, in cycles of a running CPU; none without critical
    /// sections.
    pub energy: Option<f64>,
}

/// Measured point.
#[derive(Clone, Debug, Serialize)]
pub struct Point {
    /// The machine.
    pub machine: String,
    /// The fingerprint of its file.
    pub hash: String,
    /// The number of its CPUs.
    pub cpus: usize,
    /// The workload.
    pub workload: &'static str,
    /// The number of threads.
    pub threads: usize,
    /// Their placement.
    pub placement: Placement,
    /// The length of critical sections in nanoseconds; none for the workload's own.
    pub critical_ns: Option<u64>,
    /// Each lock.
    pub runs: Vec<Run>,
}

impl Point {
    /// The best raw lock.
    #[must_use]
    pub fn best(&self) -> Option<&Run> {
        let raw = self.runs.iter().filter(|run| run.is_raw);
        raw.max_by(|one, other| one.per_second.total_cmp(&other.per_second))
    }

    /// The run of a judged lock.
    #[must_use]
    pub fn judged(&self, lock: &str) -> Option<&Run> {
        let mut judged = self.runs.iter().filter(|run| run.is_judged);
        judged.find(|run| run.lock == lock)
    }

    /// A judged lock's throughput over that of the best raw lock.
    #[must_use]
    pub fn share(&self, lock: &str) -> Option<f64> {
        Some(over(self.judged(lock)?.per_second, self.best()?.per_second))
    }

    /// A figure of a judged lock over that of the reference; none if unknown.
    #[must_use]
    pub fn against(&self, lock: &str, of: impl Fn(&Run) -> Option<f64>) -> Option<f64> {
        Some(over(of(self.judged(lock)?)?, of(self.judged(REFERENCE)?)?))
    }

    /// Whether there are more threads than CPUs.
    #[must_use]
    pub const fn is_crowded(&self) -> bool {
        self.threads > self.cpus
    }

    /// The point in words.
    #[must_use]
    pub fn name(&self) -> String {
        format!(
            "{}, {}, {} threads{}",
            self.machine,
            self.workload,
            self.threads,
            match self.manner().as_str() {
                "" => String::new(),
                manner => format!(", {manner}"),
            }
        )
    }

    /// Arguments of `cohort` that measure a lock and the reference at this point.
    #[must_use]
    pub fn again(&self, lock: &str) -> String {
        let mut words = format!(
            "bench --on {} --served --workload {} --threads {} --locks {lock},{REFERENCE}",
            self.machine, self.workload, self.threads
        );
        if self.placement == Placement::Free {
            words.push_str(" --placement free");
        }
        if let Some(ns) = self.critical_ns {
            words.push_str(&format!(" --critical {ns}ns"));
        }
        if self.is_crowded() {
            words.push_str(" --oversubscribe --wait park");
        }
        words
    }

    /// Its special conditions: unpinned threads, long critical sections.
    #[must_use]
    pub fn manner(&self) -> String {
        let free = (self.placement == Placement::Free).then(|| "free".to_owned());
        let long = self.critical_ns.map(|ns| format!("{} µs", ns / 1000));
        free.into_iter().chain(long).collect::<Vec<_>>().join(" ")
    }
}

/// A quotient; 1 for two zeroes.
fn over(ours: f64, theirs: f64) -> f64 {
    if ours == theirs { 1.0 } else { ours / theirs }
}

/// The geometric mean; none without values.
#[must_use]
pub fn mean(values: &[f64]) -> Option<f64> {
    let logarithms: f64 = values.iter().map(|value| value.ln()).sum();
    (!values.is_empty()).then(|| (logarithms / values.len() as f64).exp())
}

/// Result of the envelope.
#[derive(Clone, Debug, Serialize)]
pub struct Envelope {
    /// Whether the judged locks were measured as served.
    pub served: bool,
    /// Whether only a part of the grid was requested.
    pub quick: bool,
    /// The seed of all random choices.
    pub seed: u64,
    /// The number of requested points; a signal may have ended it before.
    pub wanted: usize,
    /// The judged locks.
    pub judged: Vec<String>,
    /// The points.
    pub points: Vec<Point>,
}

/// Plan of the envelope.
#[derive(Debug)]
pub struct EnvelopePlan {
    /// The points.
    pub grid: Grid,
    /// The locks that form the envelope by their best.
    pub candidates: &'static [&'static str],
    /// The judged locks, by their printed names, including the reference.
    pub judged: Vec<String>,
    /// Whether they are measured as served.
    pub served: bool,
    /// Maximum virtual seconds of each run, if less than it needs.
    pub seconds: Option<f64>,
    /// The seed of all random choices.
    pub seed: u64,
}

/// Lock, raw or as served.
struct Contestant {
    lock: String,
    is_raw: bool,
    is_judged: bool,
}

impl EnvelopePlan {
    /// The number of runs.
    #[must_use]
    pub fn runs(&self) -> usize {
        self.grid.spots.len() * self.contestants().len()
    }

    fn contestants(&self) -> Vec<Contestant> {
        let is_judged = |lock: &str| self.judged.iter().any(|judged| judged == lock);
        let as_it_is = |lock: &str| !self.served || served::is_itself(lock);
        let mut raw: Vec<&str> = self.candidates.to_vec();
        let more = self.judged.iter().map(String::as_str);
        raw.extend(more.filter(|lock| as_it_is(lock) && !self.candidates.contains(lock)));
        let raw = raw.into_iter().map(|lock| Contestant {
            lock: lock.to_owned(),
            is_raw: true,
            is_judged: is_judged(lock) && as_it_is(lock),
        });
        let hosted = self.judged.iter().filter(|lock| !as_it_is(lock));
        raw.chain(hosted.map(|lock| Contestant {
            lock: lock.clone(),
            is_raw: false,
            is_judged: true,
        }))
        .collect()
    }
}

/// Measures every point of a plan, several runs at a time. The result depends only on the plan;
/// after a signal, it has the completed points. Blocks for up to an hour.
///
/// # Errors
/// The failed run, and the reason.
pub fn measure(
    plan: &EnvelopePlan,
    observer: &mut (dyn Observer + Send),
) -> Result<(Envelope, Option<Interrupted>), String> {
    let contestants = plan.contestants();
    let spots = &plan.grid.spots;
    let jobs: Vec<(&Spot, &Contestant)> = spots
        .iter()
        .flat_map(|spot| contestants.iter().map(move |form| (spot, form)))
        .collect();
    let observer = Mutex::new(observer);
    let runs: Vec<Option<Run>> = jobs
        .into_par_iter()
        // One at a time, so that a signal leaves few incomplete points.
        .with_max_len(1)
        .map(|(spot, form)| {
            if interrupt::check().is_err() {
                return Ok(None);
            }
            let simulator = &plan.grid.simulators[spot.machine];
            let name = format!(
                "{} × {}, {} on {}",
                form.lock,
                spot.threads,
                spot.workload.name,
                simulator.machine().name
            );
            if let Ok(mut observer) = observer.lock() {
                observer.starts(&name, false);
            }
            play(plan, spot, form, simulator)
                .map(Some)
                .map_err(|why| format!("{name}: {why}"))
        })
        .collect::<Result<_, String>>()?;
    let signal = interrupt::check().err();
    let points = spots.iter().zip(runs.chunks(contestants.len()));
    let points = points.filter_map(|(spot, runs)| {
        let machine = plan.grid.simulators[spot.machine].machine();
        Some(Point {
            machine: machine.name.clone(),
            hash: machine.fingerprint.clone(),
            cpus: machine.hierarchy.cpus(),
            workload: spot.workload.name,
            threads: spot.threads,
            placement: spot.placement,
            critical_ns: spot.is_long.then_some(LONG),
            runs: runs.iter().cloned().collect::<Option<_>>()?,
        })
    });
    let envelope = Envelope {
        served: plan.served,
        quick: plan.grid.extent == Extent::Quick,
        seed: plan.seed,
        wanted: spots.len(),
        judged: plan.judged.clone(),
        points: points.collect(),
    };
    Ok((envelope, signal))
}

fn play(
    plan: &EnvelopePlan,
    spot: &Spot,
    form: &Contestant,
    at: &Arc<Simulator>,
) -> Result<Run, String> {
    let is_crowded = spot.threads > at.topology().cpus().len();
    let served = plan.served && form.is_judged;
    let course = Course {
        until: Until::Seconds(seconds(spot, is_crowded).min(plan.seconds.unwrap_or(f64::INFINITY))),
        placement: spot.placement,
        // Under oversubscription, a spinning lock's waiters would only waste CPU time.
        wait: is_crowded.then_some(Wait::Park),
        background: 0,
        served,
        tunings: Tunings::USUAL,
        cohorts: Vec::new(),
    };
    let setting = Setting {
        lock: form.lock.clone(),
        threads: spot.threads,
        knobs: knobs(spot.workload, spot.is_long)?,
        seed: plan.seed,
    };
    let settings = course.settings(spot.workload, at, &setting);
    let outcome = run(spot.workload, at.world(settings), &setting)?;
    let nanoseconds = outcome.seconds * 1e9 / outcome.cycles.max(1) as f64;
    Ok(Run {
        lock: form.lock.clone(),
        is_raw: form.is_raw,
        is_judged: form.is_judged,
        per_second: outcome.per_second,
        least: least(&outcome),
        waits_p999: outcome.acquire.map(|waits| waits.p999 as f64 * nanoseconds),
        energy: outcome.energy_each(),
    })
}

fn knobs(info: &Info, is_long: bool) -> Result<Knobs, String> {
    let turned = Knobs {
        critical: is_long.then_some(Span::Nanoseconds(LONG)),
        // The shortest run includes all of them.
        phase: (info.phases > 0)
            .then(|| Span::Nanoseconds((SECONDS * 1e9) as u64 / info.phases as u64)),
        ..Knobs::NONE
    };
    turned.over(info)
}

fn seconds(spot: &Spot, is_crowded: bool) -> f64 {
    let each = if spot.is_long {
        SECONDS_EACH_LONG
    } else {
        SECONDS_EACH
    };
    let seconds = SECONDS + each * spot.threads as f64;
    if is_crowded {
        seconds.max(SECONDS_CROWDED)
    } else {
        seconds
    }
}

fn least(outcome: &Outcome) -> f64 {
    let even = outcome.operations as f64 / outcome.per_thread.len() as f64;
    over(outcome.fairness.least as f64, even)
}

/// The grid's workload of that name.
fn workload(name: &str) -> &'static Info {
    find(name).unwrap_or_else(|| panic!("unknown workload `{name}` in the grid"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rounds::Silent;

    fn plan() -> EnvelopePlan {
        let machine = cohort_machine::description::shipped::find("i5-12500").unwrap();
        let mut grid = Grid::of(vec![machine], &["lbench"], Extent::Full);
        grid.spots.truncate(2);
        EnvelopePlan {
            grid,
            candidates: CANDIDATES,
            judged: ["posix", "mcs"].map(str::to_owned).to_vec(),
            served: true,
            seconds: Some(0.001),
            seed: 1,
        }
    }

    #[test]
    fn each_point_has_its_best_and_the_shares_of_the_judged() {
        let plan = plan();
        let (envelope, signal) = measure(&plan, &mut Silent).unwrap();
        assert!(signal.is_none());
        assert_eq!(envelope.points.len(), envelope.wanted);
        for point in &envelope.points {
            assert_eq!(point.runs.len(), CANDIDATES.len() + 1, "mcs is served too");
            let best = point.best().unwrap();
            assert!(best.is_raw && best.per_second > 0.0);
            assert!(point.share("posix").unwrap() <= 1.0);
            assert!(point.share("mcs").is_some() && point.share("hmcs-4").is_none());
            let same = point.against("posix", |run| Some(run.per_second));
            assert_eq!(same, Some(1.0));
        }
    }

    #[test]
    fn means_are_geometric() {
        assert_eq!(mean(&[]), None);
        assert!((mean(&[0.5, 2.0]).unwrap() - 1.0).abs() < 1e-9);
    }
}
