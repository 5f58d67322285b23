//! What the papers claim, as data, and what simulated machines say to it.
//!
//! A [`Claim`] is a row of the plan's list.  Its [`Part`]s are what can be computed:
//! an [`Experiment`], a [`Measure`] of its points, the paper's figure and the band in
//! which ours counts as the same.  [`run`] runs whatever the catalogue has the locks
//! for, so that a row comes alive with its locks; what a row needs beside locks it
//! says itself.  Rows that speak of the best composition have all of them searched first, and
//! rows that speak of a hierarchy have it discovered (`stands`).  Nothing here depends on this machine but the time it takes.

mod experiment;
mod judge;
mod measure;
pub mod page;
mod rows;
mod stands;

pub use experiment::{Experiment, Place, Sweep};
pub use judge::{Judged, JudgedPart, UNEXPLAINED, Verdict, judge};
pub use measure::{Band, Fold, Measure, Metric, Pick, Side, Threshold};
pub use rows::CLAIMS;
pub use stands::Found;

use crate::interrupt::{self, Interrupted};
use crate::rounds::Observer;
use crate::tune::sanl;
use crate::world::simulated::is_baseline;
use cohort::catalogue;
use cohort::name::Lock;
use experiment::{Point, Points, Simulators};
use rayon::prelude::*;
use stands::Search;
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// One row: what a paper claims.
#[derive(Clone, Copy, Debug)]
pub struct Claim {
    /// Its name: the paper's letter and a number.
    pub id: &'static str,
    /// The paper and section.
    pub source: &'static str,
    /// What is claimed.
    pub says: &'static str,
    /// What can be computed of it.
    pub parts: &'static [Part],
    /// What else it needs that is not here yet, beside locks.
    pub needs: Option<&'static str>,
    /// Why ours differs, as far as that was measured.
    pub because: Option<&'static str>,
}

/// What can be computed of a claim.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// What it says.
    pub says: &'static str,
    /// What is run.
    pub experiment: Experiment,
    /// What is computed of the points.
    pub measure: Measure,
    /// When ours agrees with the paper's.
    pub band: Band,
}

impl Part {
    /// The locks that it needs and the catalogue does not have, each once.
    #[must_use]
    pub fn missing(&self) -> Vec<&'static str> {
        let mut missing: Vec<&str> = Vec::new();
        for lock in self.measure.locks() {
            if !exists(lock, self.experiment.machine) && !missing.contains(&lock) {
                missing.push(lock);
            }
        }
        missing
    }

    /// The searches that find its locks.
    fn searches(&self) -> impl Iterator<Item = Search> {
        let locks = self.measure.locks().into_iter();
        locks.filter_map(|lock| Search::of(lock, self.experiment.machine))
    }

    /// The points that it needs, of the locks that its names stand for.
    fn points(&self, found: &Found) -> Vec<Point> {
        let names = self.measure.locks().into_iter();
        let stands = |name| found.locks(name, self.experiment.machine);
        let locks: Vec<&str> = names.flat_map(stands).collect();
        let mut points = self.experiment.points(&locks);
        if let Measure::Lift { .. } = self.measure {
            points.extend(self.experiment.without_timeout().points(&locks));
        }
        points
    }
}

/// Whether that simulated machine has a lock of that name.
fn exists(lock: &'static str, machine: &'static str) -> bool {
    catalogue::read_delegate(lock).is_some_and(|name| name.is_ok())
        || is_baseline(lock)
        || stands::is_known(lock, machine)
        || catalogue::read(lock).is_ok_and(|name| !matches!(name.lock, Lock::Best { .. }))
}

/// The claim of that name, in whatever case.
#[must_use]
pub fn find(id: &str) -> Option<&'static Claim> {
    CLAIMS
        .iter()
        .find(|claim| claim.id.eq_ignore_ascii_case(id))
}

/// How many points [`run`] runs for these claims, about: what searches find may have been
/// run for them.
#[must_use]
pub fn planned(claims: &[&'static Claim]) -> usize {
    let mut points = searched(&searches(claims));
    points.extend(wanted(claims, &Found::default()));
    points.len() + profiled(claims).len() * sanl::Plan::points()
}

/// The parts whose locks are there.
fn runnable(claims: &[&'static Claim]) -> impl Iterator<Item = &'static Part> {
    let parts = claims.iter().flat_map(|claim| claim.parts);
    parts.filter(|part| part.missing().is_empty())
}

/// The searches for these claims' locks, each once.
fn searches(claims: &[&'static Claim]) -> BTreeSet<Search> {
    runnable(claims).flat_map(Part::searches).collect()
}

/// The machines whose hierarchies these claims speak of, each once.
fn discovered(claims: &[&'static Claim]) -> BTreeSet<&'static str> {
    let parts = runnable(claims).filter(|part| matches!(part.measure, Measure::Nearer { .. }));
    parts.map(|part| part.experiment.machine).collect()
}

/// The machines that these claims need thresholds of, each once.
fn profiled(claims: &[&'static Claim]) -> BTreeSet<&'static str> {
    let parts = runnable(claims).filter(|part| matches!(part.measure, Measure::Profiled(_)));
    parts.map(|part| part.experiment.machine).collect()
}

/// The points of these searches, each once.
fn searched(searches: &BTreeSet<Search>) -> BTreeSet<Point> {
    let points = |search: &Search| search.experiment().points(&search.locks());
    searches.iter().flat_map(points).collect()
}

/// The points of every part whose locks are there, each once.
fn wanted(claims: &[&'static Claim], found: &Found) -> BTreeSet<Point> {
    let parts = runnable(claims);
    parts.flat_map(|part| part.points(found)).collect()
}

/// Runs all that these claims need and judges them, in their order.  A point that
/// several claims need is run once.  Blocks.
///
/// # Errors
/// A signal asked this process to end.
pub fn run(
    claims: &[&'static Claim],
    observer: &mut (dyn Observer + Send),
) -> Result<Vec<Judged>, Interrupted> {
    let simulators = Simulators::default();
    let observer = Mutex::new(observer);
    let mut points = Points::default();
    let searches = searches(claims);
    run_points(searched(&searches), &mut points, &simulators, &observer)?;
    let mut found = Found::new(&searches, &points);
    for machine in discovered(claims) {
        let mut observer = observer.lock().unwrap_or_else(|broken| broken.into_inner());
        found.discover(machine, &simulators, &mut **observer)?;
    }
    for machine in profiled(claims) {
        let mut observer = observer.lock().unwrap_or_else(|broken| broken.into_inner());
        found.profile(machine, &simulators, &mut **observer)?;
    }
    run_points(wanted(claims, &found), &mut points, &simulators, &observer)?;
    Ok(claims
        .iter()
        .map(|claim| {
            let mut judged = judge(claim, &points, &found, &simulators);
            judged.took = took(claim, &points, &found);
            judged
        })
        .collect())
}

/// Runs what has not been run, several points at a time.
fn run_points(
    wanted: BTreeSet<Point>,
    points: &mut Points,
    simulators: &Simulators,
    observer: &Mutex<&mut (dyn Observer + Send)>,
) -> Result<(), Interrupted> {
    let missing = wanted.into_iter().filter(|point| !points.knows(point));
    let missing: Vec<Point> = missing.collect();
    let ran: Result<Vec<_>, Interrupted> = missing
        .into_par_iter()
        .map(|point| {
            interrupt::check()?;
            if let Ok(mut observer) = observer.lock() {
                observer.starts(&point.name(), false);
            }
            let began = Instant::now();
            let outcome = point.run(simulators);
            Ok((point, outcome, began.elapsed()))
        })
        .collect();
    for (point, outcome, took) in ran? {
        points.add(point, outcome, took);
    }
    Ok(())
}

/// The time that one CPU needed for this claim's points, those that others need too
/// included.
fn took(claim: &'static Claim, points: &Points, found: &Found) -> Duration {
    let mut all = searched(&searches(&[claim]));
    all.extend(wanted(&[claim], found));
    all.iter().map(|point| points.took(point)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench;
    use crate::world::Placement;
    use cohort_machine::description::shipped;

    #[test]
    fn every_row_of_the_list_is_here_once_and_in_order() {
        let families = [('K', 15), ('S', 12), ('F', 12), ('T', 9), ('G', 8)];
        let ids: Vec<String> = families
            .into_iter()
            .flat_map(|(letter, last)| (1..=last).map(move |number| format!("{letter}{number}")))
            .collect();
        let ours: Vec<&str> = CLAIMS.iter().map(|claim| claim.id).collect();
        assert_eq!(ours, ids);
    }

    #[test]
    fn every_part_names_what_there_is() {
        for claim in CLAIMS {
            assert!(
                !claim.parts.is_empty() || claim.needs.is_some(),
                "{}",
                claim.id
            );
            for part in claim.parts {
                let experiment = &part.experiment;
                let info = bench::find(experiment.workload);
                let info = info.unwrap_or_else(|| panic!("{}: {}", claim.id, experiment.workload));
                assert!(experiment.knobs.over(info).is_ok(), "{}", claim.id);
                assert!(shipped::find(experiment.machine).is_some(), "{}", claim.id);
                if !matches!(part.measure, Measure::Nearer { .. } | Measure::Profiled(_)) {
                    assert!(!part.measure.locks().is_empty(), "{}", claim.id);
                    let searched = part.searches().next().is_some();
                    let points = part.points(&Found::default());
                    assert!(searched || !points.is_empty(), "{}", claim.id);
                }
                assert!(part.measure.fits(experiment), "{}: {}", claim.id, part.says);
            }
        }
    }

    /// Zhang et al. 2017 §4.3: clients under RCL are as many as under other locks, and its servers
    /// have CPUs beside theirs, one for one lock and two for several.
    #[test]
    fn clients_leave_cpus_to_the_servers() {
        let simulators = Simulators::default();
        let parts = CLAIMS.iter().flat_map(|claim| claim.parts);
        let mut served = 0;
        for part in parts.filter(|part| part.measure.locks().contains(&"rcl")) {
            let experiment = &part.experiment;
            let info = bench::find(experiment.workload).unwrap();
            let machine = simulators.get(experiment.machine);
            let cpus = machine.topology().cpus().len();
            for (_, threads, knobs) in experiment.settings() {
                let locks = knobs.over(info).unwrap().instances.unwrap_or(1);
                let servers = locks.min(2) as usize;
                assert!(threads + servers <= cpus, "{}: {threads}", part.says);
                served += 1;
            }
        }
        assert!(served > 0);
    }

    struct Silent;

    impl Observer for Silent {
        fn starts(&mut self, _name: &str, _again: bool) {}
        fn wrote(&mut self, _name: &str, _output: &str) {}
    }

    /// The ratios of Chehab et al. 2021, Table 2, are what these machines were calibrated on, so
    /// this row must agree, whichever locks exist; and every run gives the same.
    #[test]
    fn the_calibrated_row_agrees_twice() {
        let claims = [find("f1").unwrap()];
        let text = || {
            let judged = run(&claims, &mut Silent).unwrap();
            assert_eq!(judged[0].verdict, Verdict::Agrees, "{judged:#?}");
            serde_json::to_string(&judged).unwrap()
        };
        assert_eq!(text(), text());
    }

    /// Each lock stands where it is fastest, which need not be at one number of threads.
    #[test]
    fn the_best_of_each_lock_is_compared() {
        const EXPERIMENT: Experiment = Experiment::new(
            "xeon-e7-4850x4",
            "raytrace",
            Placement::Compact,
            Sweep::Threads(&[1, 8, 39]),
        )
        .lasting(1);
        const fn part(measure: Measure) -> Part {
            Part {
                says: "",
                experiment: EXPERIMENT,
                measure,
                band: Band::AtMost(0.0),
            }
        }
        const fn greatest(locks: &'static [&'static str]) -> Part {
            part(Measure::Value {
                of: Side::most(locks),
                metric: Metric::Throughput,
                fold: Fold::Greatest,
            })
        }
        static CLAIM: Claim = Claim {
            id: "",
            source: "",
            says: "",
            parts: &[
                greatest(&["sanl", "mcs"]),
                greatest(&["posix"]),
                part(Measure::Best {
                    of: &["sanl", "mcs"],
                    over: &["posix"],
                }),
            ],
            needs: None,
            because: None,
        };
        let judged = run(&[&CLAIM], &mut Silent).unwrap().remove(0);
        let [one, other, ratio] = &judged.parts[..] else {
            panic!("{judged:#?}");
        };
        assert_ne!(one.at, other.at, "{judged:#?}");
        let [above, below] = [one, other].map(|part| part.ours.unwrap());
        assert_eq!(ratio.ours, Some(above / below));
        // What is shown of the runs says which had how many threads.
        let why = ratio.why.as_deref().unwrap();
        for part in [one, other] {
            let with = format!(" with {} has ", part.at.as_deref().unwrap());
            assert!(why.contains(&with), "{why}");
        }
    }
}
