//! The papers' claims as data, and their verdicts on simulated machines.
//!
//! A [`Claim`] is a row of the list. Its [`Part`]s are computable: an [`Experiment`], a [`Measure`]
//! of its points, the paper's figure and the band of agreement. [`run`] runs each part whose locks
//! are in the catalogue, so that a row becomes active with its locks; a row states its other
//! prerequisites. For rows about the best composition, all compositions are searched first. For
//! rows about a hierarchy, the hierarchy is discovered (`stands`). The results are independent of
//! this machine, except for their duration.

mod estimates;
mod experiment;
mod forecast;
mod judge;
mod kept;
mod measure;
pub mod page;
mod rows;
mod stands;
mod variants;

pub use estimates::Ends;
pub use experiment::{Experiment, Place, Sweep};
pub use forecast::{Forecast, Record};
pub use judge::{Judged, JudgedEnd, JudgedPart, UNEXPLAINED, Verdict, judge};
pub use kept::{Kept, of_document};
pub use measure::{Band, Fold, Measure, Metric, Pick, Side};
pub use rows::CLAIMS;
pub use stands::{Found, Threshold};

use crate::interrupt::{self, Interrupted};
use crate::rounds::Observer;
use crate::tune::sanl;
use crate::world::simulated::is_baseline;
use cohort::catalogue;
use cohort::name::Lock;
use cohort_machine::description::End;
use experiment::{FIRST_SEED, Point, Points, Simulators, cpu_time, process_time};
use rayon::prelude::*;
use stands::Search;
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Duration;

/// Row: a paper's claim.
#[derive(Clone, Copy, Debug)]
pub struct Claim {
    /// Its ID: the paper's letter and a number.
    pub id: &'static str,
    /// The paper and section.
    pub source: &'static str,
    /// The claim.
    pub says: &'static str,
    /// Its computable parts.
    pub parts: &'static [Part],
    /// Missing prerequisites other than locks.
    pub needs: Option<&'static str>,
    /// Variants of the row with one change: another rival, another gap, another figure in the
    /// machine's file. Run if the row does not agree.
    pub counterfactuals: &'static [Part],
    /// The number of seeds.
    pub seeds: Seeds,
}

/// Number of seeds of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seeds {
    /// The requested number.
    All,
    /// One seed: the row compares the extremes of hundreds of runs, or has no random part.
    One,
}

impl Claim {
    /// The row's seeds, for `seeds` requested ones.
    fn seeds(&self, seeds: usize) -> Vec<u64> {
        let count = match self.seeds {
            Seeds::All => seeds.max(1) as u64,
            Seeds::One => 1,
        };
        (FIRST_SEED..FIRST_SEED + count).collect()
    }
}

/// Computable part of a claim.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Its statement.
    pub says: &'static str,
    /// Its experiment.
    pub experiment: Experiment,
    /// The figure computed from the points.
    pub measure: Measure,
    /// The band of agreement with the paper.
    pub band: Band,
}

impl Part {
    /// Required locks missing in the catalogue, each once.
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

    /// The searches for its locks.
    fn searches(&self) -> impl Iterator<Item = Search> {
        let locks = self.measure.locks().into_iter();
        locks.filter_map(|lock| Search::of(lock, self.experiment.machine))
    }

    /// Its points, with the locks that its names resolve to, for that seed.
    fn points(&self, found: &Found, seed: u64) -> Vec<Point> {
        let names = self.measure.locks().into_iter();
        let stands = |name| found.locks(name, self.experiment.machine);
        let locks: Vec<&str> = names.flat_map(stands).collect();
        let mut points = self.experiment.points(&locks, seed);
        if let Measure::Lift { .. } = self.measure {
            points.extend(self.experiment.without_timeout().points(&locks, seed));
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

/// The claim of that ID, in any case.
#[must_use]
pub fn find(id: &str) -> Option<&'static Claim> {
    CLAIMS
        .iter()
        .find(|claim| claim.id.eq_ignore_ascii_case(id))
}

/// Estimated number of points that [`run`] runs for these claims with `seeds` seeds. Searches add
/// locks, and disagreeing rows add counterfactuals.
#[must_use]
pub fn planned(claims: &[&'static Claim], seeds: usize, ends: Ends) -> usize {
    let points: BTreeSet<Point> = claims
        .iter()
        .flat_map(|claim| planned_of(claim, seeds, ends))
        .collect();
    let machines: BTreeSet<&str> = claims
        .iter()
        .flat_map(|claim| profiled(claim.parts))
        .collect();
    points.len() + machines.len() * sanl::SanlPlan::points()
}

/// The points of a row known in advance.
fn planned_of(claim: &'static Claim, seeds: usize, ends: Ends) -> BTreeSet<Point> {
    let mut points = searched(&searches(claim.parts));
    let found = Found::default();
    let seeds = claim.seeds(seeds);
    points.extend(wanted(claim.parts, &found, &seeds));
    for (_, _, parts) in at_ends(claim, ends) {
        points.extend(wanted(&parts, &found, &seeds));
    }
    points
}

/// The parts with all locks available.
fn runnable(parts: &[Part]) -> impl Iterator<Item = &Part> {
    parts.iter().filter(|part| part.missing().is_empty())
}

/// The searches for these parts' locks, each once.
fn searches(parts: &[Part]) -> BTreeSet<Search> {
    runnable(parts).flat_map(Part::searches).collect()
}

/// The machines with hierarchies needed by these parts, each once.
fn discovered(parts: &[Part]) -> BTreeSet<&'static str> {
    let parts = runnable(parts).filter(|part| matches!(part.measure, Measure::Nearer { .. }));
    parts.map(|part| part.experiment.machine).collect()
}

/// The machines with thresholds needed by these parts, each once.
fn profiled(parts: &[Part]) -> BTreeSet<&'static str> {
    let parts = runnable(parts).filter(|part| matches!(part.measure, Measure::Profiled(_)));
    parts.map(|part| part.experiment.machine).collect()
}

/// The points of these searches, each once.
fn searched(searches: &BTreeSet<Search>) -> BTreeSet<Point> {
    let points = |search: &Search| search.experiment().points(&search.locks(), FIRST_SEED);
    searches.iter().flat_map(points).collect()
}

/// The points of every part with all locks available, with each of these seeds, each once.
fn wanted(parts: &[Part], found: &Found, seeds: &[u64]) -> BTreeSet<Point> {
    let parts = parts.iter().filter(|part| part.missing().is_empty());
    let points = |part: &Part| {
        let points = |seed: &u64| part.points(found, *seed);
        seeds.iter().flat_map(points).collect::<Vec<_>>()
    };
    parts.flat_map(points).collect()
}

/// The parts of a row at both ends of its estimates.
fn at_ends(claim: &Claim, ends: Ends) -> impl Iterator<Item = (&'static str, End, Vec<Part>)> {
    let estimates = estimates::of(claim, ends).into_iter();
    estimates.flat_map(move |estimate| {
        End::BOTH.map(|end| (estimate, end, estimates::parts(claim, estimate, end)))
    })
}

/// Runs and judges these claims with `seeds` seeds, in order. A point of several claims runs once.
/// A saved row is not run again; a completed row is saved, corrects the forecast, and is passed to
/// `done` with it. Blocks.
///
/// # Errors
/// A signal asked this process to end; the completed rows are saved.
pub fn run(
    claims: &[&'static Claim],
    seeds: usize,
    ends: Ends,
    kept: &mut Kept,
    forecast: &mut Forecast,
    observer: &mut (dyn Observer + Send),
    done: &mut dyn FnMut(&Judged, &Forecast),
) -> Result<Vec<Judged>, Interrupted> {
    let mut laboratory = Laboratory {
        simulators: Simulators::default(),
        points: Points::default(),
        found: Found::default(),
        spent: Duration::ZERO,
        observer: Mutex::new(observer),
    };
    let judged = claims.iter().map(|claim| {
        if let Some(row) = kept.find(claim) {
            return Ok(row.clone());
        }
        let before = laboratory.spent;
        let row = laboratory.row(claim, &claim.seeds(seeds), ends)?;
        kept.keep(&row);
        forecast.learn(&row, laboratory.spent.saturating_sub(before));
        done(&row, forecast);
        Ok(row)
    });
    judged.collect()
}

/// Runs and results so far.
struct Laboratory<'a> {
    simulators: Simulators,
    points: Points,
    found: Found,
    /// The CPU time so far.
    spent: Duration,
    observer: Mutex<&'a mut (dyn Observer + Send)>,
}

impl Laboratory<'_> {
    /// Runs the missing points of a row, and judges it.
    fn row(
        &mut self,
        claim: &'static Claim,
        seeds: &[u64],
        ends: Ends,
    ) -> Result<Judged, Interrupted> {
        let (mut all, mut took) = self.prepare(claim.parts)?;
        let own = wanted(claim.parts, &self.found, seeds);
        self.run(own.clone())?;
        all.extend(own);
        let mut judged = judge(claim, &self.points, &self.found, &self.simulators, seeds);
        for (estimate, end, parts) in at_ends(claim, ends) {
            let others = wanted(&parts, &self.found, seeds);
            self.run(others.clone())?;
            all.extend(others);
            judged.ends.push(JudgedEnd {
                estimate: estimate.to_owned(),
                end: end.name().to_owned(),
                parts: self.judged(&parts, seeds),
            });
        }
        judged.decide(claim);
        if !judged.verdict.is_settled() {
            let (points, others_took) = self.prepare(claim.counterfactuals)?;
            all.extend(points);
            took += others_took;
            let others = wanted(claim.counterfactuals, &self.found, seeds);
            self.run(others.clone())?;
            all.extend(others);
            judged.counterfactuals = self.judged(claim.counterfactuals, seeds);
        }
        self.spent += took;
        let points = all.iter().map(|point| self.points.took(point));
        judged.took = took + points.sum::<Duration>();
        Ok(judged)
    }

    /// Searches, discovers and profiles for these parts, where that is missing; returns the points
    /// of the searches, and the CPU time of the rest.
    fn prepare(&mut self, parts: &[Part]) -> Result<(BTreeSet<Point>, Duration), Interrupted> {
        let searches = searches(parts);
        let points = searched(&searches);
        self.run(points.clone())?;
        self.found.search(&searches, &self.points);
        let began = process_time();
        let mut observer = self
            .observer
            .lock()
            .unwrap_or_else(|broken| broken.into_inner());
        for machine in discovered(parts) {
            if !self.found.has_discovered(machine) {
                self.found
                    .discover(machine, &self.simulators, &mut **observer)?;
            }
        }
        for machine in profiled(parts) {
            if !self.found.has_profiled(machine) {
                self.found
                    .profile(machine, &self.simulators, &mut **observer)?;
            }
        }
        let took = process_time().saturating_sub(began);
        Ok((points, took))
    }

    /// Judges parts, after the runs of all their points.
    fn judged(&self, parts: &[Part], seeds: &[u64]) -> Vec<JudgedPart> {
        let judged = |part| {
            let (points, found) = (&self.points, &self.found);
            judge::judge_part(part, points, found, &self.simulators, seeds).0
        };
        parts.iter().map(judged).collect()
    }

    fn run(&mut self, wanted: BTreeSet<Point>) -> Result<(), Interrupted> {
        self.spent += run_points(wanted, &mut self.points, &self.simulators, &self.observer)?;
        Ok(())
    }
}

/// Runs the missing points, several at a time; returns their CPU time.
fn run_points(
    wanted: BTreeSet<Point>,
    points: &mut Points,
    simulators: &Simulators,
    observer: &Mutex<&mut (dyn Observer + Send)>,
) -> Result<Duration, Interrupted> {
    let missing = wanted.into_iter().filter(|point| !points.knows(point));
    let mut missing: Vec<Point> = missing.collect();
    // Long ones first, so that they do not end up alone on one CPU.
    missing.sort_by_key(|point| std::cmp::Reverse(point.load(simulators)));
    let ran: Result<Vec<_>, Interrupted> = missing
        .into_par_iter()
        .map(|point| {
            interrupt::check()?;
            if let Ok(mut observer) = observer.lock() {
                observer.starts(&point.name(), false);
            }
            let began = cpu_time();
            let outcome = point.run(simulators);
            let took = cpu_time().saturating_sub(began);
            Ok((point, outcome, took))
        })
        .collect();
    let mut spent = Duration::ZERO;
    for (point, outcome, took) in ran? {
        spent += took;
        points.add(point, outcome, took);
    }
    Ok(spent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench;
    use crate::world::Placement;
    use cohort_machine::description::shipped;
    use std::path::Path;

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
            for part in claim.parts.iter().chain(claim.counterfactuals) {
                let experiment = &part.experiment;
                let info = bench::find(experiment.workload);
                let info = info.unwrap_or_else(|| panic!("{}: {}", claim.id, experiment.workload));
                assert!(experiment.knobs.over(info).is_ok(), "{}", claim.id);
                let machine = experiment.machine;
                let machine = variants::find(machine).or_else(|| shipped::find(machine));
                assert!(machine.is_some(), "{}", claim.id);
                if !matches!(part.measure, Measure::Nearer { .. } | Measure::Profiled(_)) {
                    assert!(!part.measure.locks().is_empty(), "{}", claim.id);
                    let searched = part.searches().next().is_some();
                    let points = part.points(&Found::default(), FIRST_SEED);
                    assert!(searched || !points.is_empty(), "{}", claim.id);
                }
                assert!(part.measure.fits(experiment), "{}: {}", claim.id, part.says);
            }
        }
    }

    /// Zhang et al. 2017 §4.3: RCL has as many clients as other locks, and separate CPUs for its
    /// servers: one for one lock, two for several.
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

    fn judged(claims: &[&'static Claim], seeds: usize) -> Vec<Judged> {
        let mut kept = Kept::nowhere();
        run(
            claims,
            seeds,
            Ends::Deciding,
            &mut kept,
            &mut Forecast::new(claims, seeds, Ends::Deciding, Record::open(None)),
            &mut Silent,
            &mut |_, _| (),
        )
        .unwrap()
    }

    /// These machines were calibrated on the ratios of Chehab et al. 2021, Table 2, so this row
    /// must agree with any set of locks, and reproducibly.
    #[test]
    fn the_calibrated_row_agrees_twice() {
        let claims = [find("f1").unwrap()];
        let text = || {
            let judged = judged(&claims, 5);
            assert_eq!(judged[0].verdict, Verdict::Agrees, "{judged:#?}");
            serde_json::to_string(&judged).unwrap()
        };
        assert_eq!(text(), text());
    }

    /// The verdicts in docs/claims.md, for five seeds.
    fn recorded() -> Vec<(String, String)> {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/claims.md");
        let page = std::fs::read_to_string(page).expect("the page is here");
        let rows = page.lines().filter_map(|line| line.strip_prefix("| "));
        let cells = rows.map(|row| row.split(" | ").map(str::trim).collect::<Vec<_>>());
        let of_rows = cells.filter(|cells| find(cells[0]).is_some());
        of_rows
            .map(|cells| (cells[0].to_owned(), cells[1].to_owned()))
            .collect()
    }

    #[test]
    fn every_row_has_a_recorded_verdict() {
        let rows: Vec<String> = recorded().into_iter().map(|(id, _)| id).collect();
        let ids: Vec<&str> = CLAIMS.iter().map(|claim| claim.id).collect();
        assert_eq!(rows, ids);
    }

    /// The recorded verdicts for five seeds; in the quick tier, of fast rows only.
    #[test]
    fn verdicts_are_as_recorded() {
        const QUICK: [&str; 3] = ["K13", "F6", "G1"];
        let full = std::env::var_os("COHORT_TIER").is_some_and(|tier| tier == "full");
        let is_run = |id: &str| full || QUICK.contains(&id);
        let held = |(id, verdict): &(String, String)| is_run(id) && verdict.ends_with("seeds");
        let recorded: Vec<_> = recorded().into_iter().filter(held).collect();
        assert!(recorded.len() >= QUICK.len());
        let claims: Vec<&Claim> = recorded.iter().filter_map(|(id, _)| find(id)).collect();
        let rows = judged(&claims, 5);
        let rows = rows
            .iter()
            .map(|row| (row.id.to_owned(), row.verdict_text()));
        assert_eq!(rows.collect::<Vec<_>>(), recorded);
    }

    /// Each lock counts at its own best number of threads.
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
            counterfactuals: &[],
            seeds: Seeds::All,
        };
        let judged = judged(&[&CLAIM], 1).remove(0);
        let [one, other, ratio] = &judged.parts[..] else {
            panic!("{judged:#?}");
        };
        assert_ne!(one.at, other.at, "{judged:#?}");
        let [above, below] = [one, other].map(|part| part.ours.unwrap());
        assert_eq!(ratio.ours, Some(above / below));
        // The explanation gives each lock's number of threads.
        let why = ratio.why.as_deref().unwrap();
        for part in [one, other] {
            let with = format!(" with {} has ", part.at.as_deref().unwrap());
            assert!(why.contains(&with), "{why}");
        }
    }
}
