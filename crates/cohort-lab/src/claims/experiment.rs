//! The experiments behind claims.

use super::variants;
use crate::bench::report::{self, Report};
use crate::bench::simulated::{Course, Until};
use crate::bench::{self, Knobs, Outcome, Setting, Span, curves};
use crate::tune::sanl::file::shipped_thresholds;
use crate::world::simulated::{Settings, Simulator};
use crate::world::{Placement, Topology, Tunings, Wait};
use cohort_machine::Length;
use cohort_machine::description::shipped;
use rustix::time::{ClockId, clock_gettime};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The first seed. Searches, hierarchies and profiles use it alone; every row judges their results
/// with all seeds.
pub(super) const FIRST_SEED: u64 = 1;

/// Number of distinguishable curves in a picture.
const DISTINCT: usize = 12;

/// Placement of an experiment's threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// By a placement.
    Placed(Placement),
    /// One thread in each cohort of the level `each`, all in one cohort of the level `within`.
    One {
        /// The level whose cohorts get one thread each.
        each: &'static str,
        /// The level of the cohort with all threads.
        within: &'static str,
    },
}

/// Independent variable.
#[derive(Clone, Copy, Debug)]
pub enum Sweep {
    /// The number of threads.
    Threads(&'static [usize]),
    /// The work between two critical sections, with that many threads.
    Outside(usize, &'static [Span]),
    /// The timeout, with that many threads.
    Timeout(usize, &'static [Span]),
}

/// Experiment for a part of a claim.
#[derive(Clone, Copy, Debug)]
pub struct Experiment {
    /// The machine.
    pub machine: &'static str,
    /// The workload.
    pub workload: &'static str,
    /// Its options other than the defaults.
    pub knobs: Knobs,
    /// The placement of its threads.
    pub place: Place,
    /// The independent variable.
    pub sweep: Sweep,
    /// The waiters' policy, if not the lock's default.
    pub wait: Option<Wait>,
    /// Additional threads that only compute.
    pub background: usize,
    /// Counted virtual milliseconds, after a warm-up of at most the same length; none to run until
    /// the throughput is steady.
    pub milliseconds: Option<u64>,
}

impl Experiment {
    /// An experiment on that machine, with its paper's placement.
    #[must_use]
    pub const fn new(
        machine: &'static str,
        workload: &'static str,
        placement: Placement,
        sweep: Sweep,
    ) -> Self {
        Self {
            machine,
            workload,
            knobs: Knobs::NONE,
            place: Place::Placed(placement),
            sweep,
            wait: None,
            background: 0,
            milliseconds: None,
        }
    }

    /// The experiment with other options of the workload.
    #[must_use]
    pub const fn with(self, knobs: Knobs) -> Self {
        Self { knobs, ..self }
    }

    /// The experiment without timeouts.
    #[must_use]
    pub const fn without_timeout(self) -> Self {
        self.with(Knobs {
            timeout: None,
            ..self.knobs
        })
    }

    /// The experiment with that counted time.
    #[must_use]
    pub const fn lasting(self, milliseconds: u64) -> Self {
        Self {
            milliseconds: Some(milliseconds),
            ..self
        }
    }

    /// The experiment with another placement.
    #[must_use]
    pub const fn at(self, place: Place) -> Self {
        Self { place, ..self }
    }

    /// The values of the independent variable, with threads and options.
    pub(super) fn settings(&self) -> Vec<(Varied, usize, Knobs)> {
        let knobs = self.knobs;
        match self.sweep {
            Sweep::Threads(counts) => counts
                .iter()
                .map(|threads| (Varied::Threads(*threads), *threads, knobs))
                .collect(),
            Sweep::Outside(threads, spans) => spans
                .iter()
                .map(|span| {
                    let outside = Some(*span);
                    (Varied::Outside(*span), threads, Knobs { outside, ..knobs })
                })
                .collect(),
            Sweep::Timeout(threads, spans) => spans
                .iter()
                .map(|span| {
                    let timeout = Some(*span);
                    (Varied::Timeout(*span), threads, Knobs { timeout, ..knobs })
                })
                .collect(),
        }
    }

    /// The points of these locks with that seed.
    pub(super) fn points(&self, locks: &[&'static str], seed: u64) -> Vec<Point> {
        let point = |lock: &'static str| {
            self.settings()
                .into_iter()
                .map(move |(_, threads, knobs)| self.point(lock, threads, knobs, seed))
        };
        locks.iter().copied().flat_map(point).collect()
    }

    pub(super) fn point(
        &self,
        lock: &'static str,
        threads: usize,
        knobs: Knobs,
        seed: u64,
    ) -> Point {
        Point {
            seed,
            machine: self.machine,
            workload: self.workload,
            knobs: Turned(knobs),
            place: self.place,
            wait: self.wait,
            background: self.background,
            milliseconds: self.milliseconds,
            lock,
            threads,
        }
    }

    /// Describes the experiment in words.
    pub(super) fn about(&self) -> String {
        let mut words = vec![self.workload.to_owned()];
        words.extend(
            self.knobs
                .shown()
                .into_iter()
                .map(|(name, value)| format!("{name} {value}")),
        );
        words.push(match self.place {
            Place::Placed(placement) => format!("{placement:?}").to_lowercase(),
            Place::One { each, within } => format!("one CPU of each {each} of one {within}"),
        });
        if let Some(wait) = self.wait {
            words.push(format!("waiters {}", wait.name()));
        }
        if self.background > 0 {
            words.push(format!("{} background threads", self.background));
        }
        if let Some(milliseconds) = self.milliseconds {
            words.push(format!("{milliseconds} virtual ms"));
        }
        words.join(", ")
    }
}

impl Experiment {
    /// The throughput of these locks against the threads, as SVG. None for another variable,
    /// without runs, or with too many locks.
    pub(super) fn curves(
        &self,
        locks: &[&'static str],
        hash: &str,
        points: &Points,
        seed: u64,
    ) -> Option<String> {
        let (Sweep::Threads(counts), Place::Placed(placement)) = (self.sweep, self.place) else {
            return None;
        };
        if locks.len() > DISTINCT {
            return None;
        }
        let info = bench::find(self.workload)?;
        let on = self.machine.to_owned();
        let mut report = Report::new(info, &self.knobs.over(info).ok()?, on, placement, seed);
        report.hash = Some(hash.to_owned());
        for lock in locks {
            for threads in counts {
                let point = self.point(lock, *threads, self.knobs, seed);
                if let Some(Ok(outcome)) = points.get(&point) {
                    let wait = self.wait.unwrap_or_else(|| Wait::natural(lock, false));
                    let rounds = vec![outcome.clone()];
                    let name = (*lock).to_owned();
                    report
                        .points
                        .extend(report::Point::of(name, wait, *threads, rounds));
                }
            }
        }
        (counts.len() > 1 && !report.points.is_empty())
            .then(|| curves::throughput(&report).ok())
            .flatten()
    }
}

/// Value of the independent variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Varied {
    /// The number of threads.
    Threads(usize),
    /// The work between two critical sections.
    Outside(Span),
    /// The timeout.
    Timeout(Span),
    /// The phase of the single point.
    Phase(usize),
}

impl std::fmt::Display for Varied {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Threads(1) => write!(f, "1 thread"),
            Self::Threads(threads) => write!(f, "{threads} threads"),
            Self::Outside(span) => write!(f, "an interval of {span}"),
            Self::Timeout(span) => write!(f, "a timeout of {span}"),
            Self::Phase(number) => write!(f, "phase {number}"),
        }
    }
}

/// Knobs with an order, to distinguish points.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turned(Knobs);

impl Turned {
    fn shown(&self) -> Vec<(&'static str, String)> {
        self.0.shown()
    }
}

impl PartialEq for Turned {
    fn eq(&self, other: &Self) -> bool {
        self.shown() == other.shown()
    }
}

impl Eq for Turned {}

impl PartialOrd for Turned {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Turned {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.shown().cmp(&other.shown())
    }
}

/// One run of one lock.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Point {
    machine: &'static str,
    workload: &'static str,
    knobs: Turned,
    place: Place,
    wait: Option<Wait>,
    background: usize,
    milliseconds: Option<u64>,
    lock: &'static str,
    threads: usize,
    seed: u64,
}

/// Points with their results: an outcome or an error, and the CPU time.
#[derive(Debug, Default)]
pub struct Points(BTreeMap<Point, (Result<Outcome, String>, Duration)>);

impl Points {
    /// Adds the result of a point.
    pub(super) fn add(&mut self, point: Point, outcome: Result<Outcome, String>, took: Duration) {
        self.0.insert(point, (outcome, took));
    }

    /// Whether the point has a result.
    pub(super) fn knows(&self, point: &Point) -> bool {
        self.0.contains_key(point)
    }

    /// The result of a point, if any.
    pub(super) fn get(&self, point: &Point) -> Option<&Result<Outcome, String>> {
        self.0.get(point).map(|(outcome, _)| outcome)
    }

    /// Its CPU time.
    pub(super) fn took(&self, point: &Point) -> Duration {
        let known = self.0.get(point);
        known.map_or(Duration::ZERO, |(_, took)| *took)
    }
}

impl Point {
    /// Description of the point, for display.
    pub(super) fn name(&self) -> String {
        format!(
            "{} on {}: {} × {}",
            self.workload, self.machine, self.lock, self.threads
        )
    }

    /// Its least virtual time, in nanoseconds, times its threads.
    pub(super) fn load(&self, simulators: &Simulators) -> u64 {
        let simulator = simulators.get(self.machine);
        let length = self
            .setting()
            .map(|(info, setting)| self.settings(info, &simulator, &setting).length);
        length.map_or(0, |length| {
            (length.warm_up + length.least) * self.threads as u64
        })
    }

    fn setting(&self) -> Result<(&'static bench::Info, Setting), String> {
        let info = bench::find(self.workload)
            .ok_or_else(|| format!("unknown workload `{}`", self.workload))?;
        let setting = Setting {
            lock: self.lock.to_owned(),
            threads: self.threads,
            knobs: self.knobs.0.over(info)?,
            seed: self.seed,
        };
        Ok((info, setting))
    }

    /// Runs it.
    pub(super) fn run(&self, simulators: &Simulators) -> Result<Outcome, String> {
        let simulator = simulators.get(self.machine);
        let (info, setting) = self.setting()?;
        let mut settings = self.settings(info, &simulator, &setting);
        settings.cpus = self.cpus(simulator.topology())?;
        bench::run(info, simulator.world(settings), &setting)
    }

    /// Its settings, except for explicit CPUs.
    fn settings(&self, info: &bench::Info, simulator: &Simulator, setting: &Setting) -> Settings {
        let placement = match self.place {
            Place::Placed(placement) => placement,
            Place::One { .. } => Placement::Compact,
        };
        let course = Course {
            until: Until::Steady,
            placement,
            wait: self.wait,
            background: self.background,
            served: false,
            tunings: tunings(self.machine),
            cohorts: nodes(self.machine, simulator.topology()),
        };
        let mut settings = course.settings(info, simulator, setting);
        if let Some(milliseconds) = self.milliseconds {
            let counted = milliseconds * 1_000_000;
            settings.length = Length {
                warm_up: settings.length.warm_up.min(counted),
                least: counted,
                most: counted,
                given_up: counted,
                unserved: 0,
                ..settings.length
            };
        }
        settings
    }

    /// The CPUs, if listed explicitly.
    fn cpus(&self, topology: &Topology) -> Result<Option<Vec<usize>>, String> {
        let level = |name: &str| {
            let found = topology
                .levels()
                .iter()
                .position(|level| level.name == name);
            found.ok_or_else(|| format!("{} has no level {name}", self.machine))
        };
        let all = topology.cpus();
        let cpus: Vec<usize> = match self.place {
            Place::Placed(_) => return Ok(None),
            Place::One { each, within } => {
                let (each, within) = (level(each)?, level(within)?);
                let mut met = Vec::new();
                let first = |cpu: &&usize| {
                    let cohort = topology.cohort_of(**cpu, each);
                    let here = topology.cohort_of(**cpu, within) == Some(0);
                    let new = here && !met.contains(&cohort);
                    if new {
                        met.push(cohort);
                    }
                    new
                };
                all.iter().filter(first).copied().collect()
            }
        };
        if cpus.len() == self.threads {
            Ok(Some(cpus))
        } else {
            Err(format!(
                "{} threads for {} such CPUs",
                self.threads,
                cpus.len()
            ))
        }
    }
}

/// The CPUs' nodes, for a paper with other cohorts as nodes than the kernel reports: each core of
/// the T4-1 (Dice et al. 2015 §4).
fn nodes(machine: &str, topology: &Topology) -> Vec<(String, Vec<usize>)> {
    if variants::unchanged(machine) != "sparc-t4-1" {
        return Vec::new();
    }
    let mut levels = topology.levels().iter();
    let core = levels.position(|level| level.name == "core");
    let cores = topology.cpus().iter();
    let cores = cores
        .filter_map(|cpu| topology.cohort_of(*cpu, core?))
        .collect();
    vec![("numa".to_owned(), cores)]
}

/// The tunings profiled for a machine, as its paper did; otherwise the defaults.
fn tunings(machine: &str) -> Tunings {
    Tunings {
        sanl: shipped_thresholds(variants::unchanged(machine)).unwrap_or(Tunings::USUAL.sanl),
        ..Tunings::USUAL
    }
}

/// The CPU time of the calling thread, which runs one point.
pub(super) fn cpu_time() -> Duration {
    clock(ClockId::ThreadCPUTime)
}

/// The CPU time of all threads, which discover and profile machines.
pub(super) fn process_time() -> Duration {
    clock(ClockId::ProcessCPUTime)
}

fn clock(id: ClockId) -> Duration {
    let time = clock_gettime(id);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

/// The machines, each prepared once.
#[derive(Debug, Default)]
pub struct Simulators(Mutex<BTreeMap<&'static str, Arc<Simulator>>>);

impl Simulators {
    /// That machine.
    ///
    /// # Panics
    /// If it is not shipped; a test of the list excludes that.
    pub fn get(&self, name: &'static str) -> Arc<Simulator> {
        let mut known = self.0.lock().unwrap_or_else(|broken| broken.into_inner());
        let prepared = known.entry(name).or_insert_with(|| {
            let machine = variants::find(name).or_else(|| shipped::find(name));
            let machine = machine.unwrap_or_else(|| panic!("{name} is not shipped"));
            Arc::new(Simulator::new(machine))
        });
        Arc::clone(prepared)
    }
}
