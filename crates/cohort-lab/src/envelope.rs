//! The envelope: what the best lock of all reaches at each point of a grid of machines,
//! workloads and numbers of threads, and what share of it a program gets from one lock.
//!
//! All of it is simulated.  [`grid`] says which points there are, [`measure`] runs them,
//! [`heat`] draws them; `cohort bench --envelope` shows them and `cohort bar envelope` judges.

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

/// What others are compared with: the C library's mutex.
pub const REFERENCE: &str = "posix";

/// The locks whose best is the envelope: some of each kind, so that a point takes seconds and not
/// minutes, and the rivals of today.
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

/// The locks that are judged unless others are named.
pub const JUDGED: &[&str] = &[
    "futex-hmcs",
    "futex",
    REFERENCE,
    "mcs",
    "cna",
    "c-tkt-mcs",
    "hmcs-4",
];

/// How long a section is where it is not as the workload has it, in nanoseconds.
pub const LONG: u64 = 20_000;

/// Virtual seconds that a point is measured at least, and for each thread.
const SECONDS: f64 = 0.004;
const SECONDS_EACH: f64 = 0.000_02;
/// The same for each thread where sections are long: four of each.
const SECONDS_EACH_LONG: f64 = 0.000_08;
/// Virtual seconds where threads share CPUs: some time slices.
const SECONDS_CROWDED: f64 = 0.04;

/// One lock at one point.
#[derive(Clone, Debug, Serialize)]
pub struct Run {
    /// The lock.
    pub lock: String,
    /// Whether it was raw, so that it counts for the envelope.
    pub is_raw: bool,
    /// Whether it is judged: as programs have it, or raw where that is asked for.
    pub is_judged: bool,
    /// Operations a second.
    pub per_second: f64,
    /// What the thread did that did least, as a share of what each would have done if all had
    /// done the same.
    pub least: f64,
    /// The time from asking for the lock to having it that all but one acquisition in a thousand
    /// stayed under, in nanoseconds; none if none was timed.
    pub waits_p999: Option<f64>,
    /// The energy proxy for each section, in cycles of a running CPU; none if there was none.
    pub energy: Option<f64>,
}

/// One point, measured.
#[derive(Clone, Debug, Serialize)]
pub struct Point {
    /// The machine.
    pub machine: String,
    /// The fingerprint of its file.
    pub hash: String,
    /// How many CPUs it has.
    pub cpus: usize,
    /// The workload.
    pub workload: &'static str,
    /// How many threads.
    pub threads: usize,
    /// Where they ran.
    pub placement: Placement,
    /// How long sections are, in nanoseconds; none where they are as the workload has them.
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

    /// A lock that is judged.
    #[must_use]
    pub fn judged(&self, lock: &str) -> Option<&Run> {
        let mut judged = self.runs.iter().filter(|run| run.is_judged);
        judged.find(|run| run.lock == lock)
    }

    /// A judged lock's throughput over that of the best raw one.
    #[must_use]
    pub fn share(&self, lock: &str) -> Option<f64> {
        Some(over(self.judged(lock)?.per_second, self.best()?.per_second))
    }

    /// A figure of a judged lock over that of the reference; none where it has none.
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

    /// What is unusual about it: threads that are not pinned, long sections.
    #[must_use]
    pub fn manner(&self) -> String {
        let free = (self.placement == Placement::Free).then(|| "free".to_owned());
        let long = self.critical_ns.map(|ns| format!("{} µs", ns / 1000));
        free.into_iter().chain(long).collect::<Vec<_>>().join(" ")
    }
}

/// A quotient; nothing over nothing is as good.
fn over(ours: f64, theirs: f64) -> f64 {
    if ours == theirs { 1.0 } else { ours / theirs }
}

/// The geometric mean; none of nothing.
#[must_use]
pub fn mean(values: &[f64]) -> Option<f64> {
    let logarithms: f64 = values.iter().map(|value| value.ln()).sum();
    (!values.is_empty()).then(|| (logarithms / values.len() as f64).exp())
}

/// All that was measured.
#[derive(Clone, Debug, Serialize)]
pub struct Envelope {
    /// Whether the judged locks are as programs have them.
    pub served: bool,
    /// Whether only a part of the grid was wanted.
    pub quick: bool,
    /// What all random choices depend on.
    pub seed: u64,
    /// How many points were wanted; a signal may have ended it before.
    pub wanted: usize,
    /// The locks that are judged.
    pub judged: Vec<String>,
    /// The points.
    pub points: Vec<Point>,
}

/// What is to be measured.
#[derive(Debug)]
pub struct Plan {
    /// The points.
    pub grid: Grid,
    /// The locks whose best is the envelope.
    pub candidates: &'static [&'static str],
    /// The locks that are judged, by their printed names; the reference is one of them.
    pub judged: Vec<String>,
    /// Whether they are as programs have them.
    pub served: bool,
    /// Virtual seconds that each run takes at most, if that is less than it needs.
    pub seconds: Option<f64>,
    /// What all random choices depend on.
    pub seed: u64,
}

/// A lock, raw or as programs have it.
struct Contestant {
    lock: String,
    is_raw: bool,
    is_judged: bool,
}

impl Plan {
    /// How many runs there will be.
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

/// Measures every point of a plan, several runs at a time.  The result depends on the plan alone,
/// but for a signal: then it has the points that were complete.  Blocks for as long as an hour.
///
/// # Errors
/// A run failed: which, and why.
pub fn measure(
    plan: &Plan,
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
        // One at a time, so that a signal leaves few points half done.
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

fn play(plan: &Plan, spot: &Spot, form: &Contestant, at: &Arc<Simulator>) -> Result<Run, String> {
    let is_crowded = spot.threads > at.topology().cpus().len();
    let served = plan.served && form.is_judged;
    let course = Course {
        until: Until::Seconds(seconds(spot, is_crowded).min(plan.seconds.unwrap_or(f64::INFINITY))),
        placement: spot.placement,
        // Where CPUs are scarce a spinning lock's waiters would only be in the way.
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
        // The shortest run has them all.
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

/// The workload of that name, which a grid names.
fn workload(name: &str) -> &'static Info {
    find(name).unwrap_or_else(|| panic!("the grid has a workload `{name}` that there is not"))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Silent;

    impl Observer for Silent {
        fn starts(&mut self, _name: &str, _again: bool) {}
        fn wrote(&mut self, _name: &str, _output: &str) {}
    }

    fn plan() -> Plan {
        let machine = cohort_machine::description::shipped::find("i5-12500").unwrap();
        let mut grid = Grid::of(vec![machine], &["lbench"], Extent::Full);
        grid.spots.truncate(2);
        Plan {
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
