//! `cohort tune`: the best composition for a machine, and a configuration that `cohort run`
//! takes.

mod written;

pub use written::From;

use crate::cohorts;
use crate::destination;
use crate::machines::MachineName;
use crate::page::{self, Origin};
use crate::problem::Problem;
use clap::ValueHint;
use cohort::compose::generated::Basic;
use cohort::door::Level;
use cohort_lab::bench::report::Point;
use cohort_lab::bench::simulated::{self, Course};
use cohort_lab::bench::{self, Info, Knobs, Setting, WORKLOADS, native};
use cohort_lab::interrupt;
use cohort_lab::progress::Progress;
use cohort_lab::tune::{self, Effort, Plan, Policy, Tuned, beam};
use cohort_lab::world::native::{Host, Settings};
use cohort_lab::world::simulated::Simulator;
use cohort_lab::world::{Placement, Topology, Wait};
use cohort_machine::description::{Machine, nearest};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// Options of `cohort tune`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = NOTES)]
pub struct Arguments {
    /// Tune on this simulated machine instead: a name of `cohort machines`, or a file
    #[arg(long, value_name = "MACHINE|FILE", value_hint = ValueHint::FilePath,
        value_parser = MachineName, hide_possible_values = true)]
    on: Option<String>,
    /// Cohorts that locks are told instead of the machine's, as `cohort discover -o`
    /// writes them
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    cohorts: Option<PathBuf>,
    /// The levels below the whole system [default: those that the machine has]
    #[arg(long, value_name = "A,B,…", value_delimiter = ',')]
    levels: Vec<String>,
    /// The basic locks: ticket, mcs, clh, hemlock [default: all]
    #[arg(long, value_name = "A,B,…", value_delimiter = ',')]
    basic: Vec<String>,
    /// What the threads do [default: leveldb]
    #[arg(long, value_name = "NAME")]
    workload: Option<String>,
    /// How many threads [default: eight numbers up to all CPUs but one]
    #[arg(long, value_name = "N,N,…", value_delimiter = ',')]
    threads: Vec<usize>,
    /// What numbers of threads weigh: `lc`, the fewer the more; `hc`, the more the more; or
    /// N=W,… [default: hc, and lc beside it]
    #[arg(long, value_name = "hc|lc|N=W,…")]
    policy: Option<String>,
    /// Drop no lock before it has run to its steady state
    #[arg(long)]
    exhaustive: bool,
    /// Write a configuration that `cohort run --config` takes
    #[arg(short, long, value_name = "FILE.toml", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,
    /// Draw all locks against the threads
    #[arg(long, value_name = "FILE.svg", value_hint = ValueHint::FilePath)]
    plot: Option<PathBuf>,
    /// What all random choices depend on
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

const NOTES: &str = "\
Every composition of the basic locks at the levels, any of which but the whole system may be left \
out, runs as a program has it under `cohort run`, beside hmcs-4, cna, futex and mcs. A lock's mark \
is the weighed mean of its throughputs, each over the best one's with as many threads. All run \
briefly first; what is behind by more than it is unsure of is dropped, and the others run longer. \
Of those that nothing sure parts from the best, the simplest is recommended, and all are named.

Examples:
  cohort tune --on epyc-7352x2 --levels cache,numa --basic ticket,mcs
  cohort tune --on xeon-e7-4850x4 --threads 1,10,39 -o best.toml --plot beam.svg
  cohort tune --on haswell-ep-2s --levels numa --policy 1=1,24=3 --json

Then: cohort run --config best.toml -- PROGRAM

Exit status: 0 if a lock was found; 2 for a mistake in the options; 125 if a run failed; 130 after \
Ctrl-C.";

/// Locks that are no compositions, to compare with.
const RIVALS: [&str; 4] = ["hmcs-4", "cna", "futex", "mcs"];

/// The workload that 002 §4.3 tunes for.
const WORKLOAD: &str = "leveldb";

/// Rounds on this machine in which points are measured, and the seconds of each.
const fn rounds(effort: Effort) -> (usize, f64) {
    match effort {
        Effort::Brief => (1, 0.02),
        Effort::Longer => (3, 0.05),
        Effort::Steady => (5, 0.2),
    }
}

/// Where it is tuned.
enum Place {
    Here(Host),
    There(Arc<Simulator>),
}

impl Place {
    fn topology(&self) -> &Topology {
        match self {
            Self::Here(host) => host.topology(),
            Self::There(simulator) => simulator.topology(),
        }
    }

    fn name(&self) -> &str {
        match self {
            Self::Here(_) => "this machine",
            Self::There(simulator) => &simulator.machine().name,
        }
    }

    fn fingerprint(&self) -> Option<&str> {
        match self {
            Self::Here(_) => None,
            Self::There(simulator) => Some(&simulator.machine().fingerprint),
        }
    }
}

/// Carries out `cohort tune`.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    if let Some(file) = &arguments.plot {
        destination::plot(file)?;
    }
    if let Some(file) = &arguments.output {
        destination::writable(file)?;
    }
    let place = match &arguments.on {
        None => Place::Here(Host::look().map_err(Problem::refused)?),
        Some(named) => {
            let machine = Machine::open(named).map_err(Problem::usage)?;
            Place::There(Arc::new(Simulator::new(machine)))
        }
    };
    let (told, shape) = told(arguments, &place)?;
    let plan = plan(arguments, &place, &shape)?;
    interrupt::arm()
        .map_err(|error| Problem::refused(format!("cannot watch for signals: {error}")))?;
    let tuned = match measured(&plan, &place, &told)? {
        Ok(tuned) => tuned,
        Err(status) => return Ok(status),
    };
    if let Some(file) = &arguments.plot {
        beam::save(&plan, &tuned, place.name(), file).map_err(Problem::refused)?;
    }
    if let Some(file) = &arguments.output {
        let cohorts = arguments.cohorts.as_deref();
        let shape = shape_of(&shape);
        let text = written::text(&plan, &tuned, place.name(), place.fingerprint(), &shape);
        let text = written::with_cohorts(&text?, cohorts, file)?;
        std::fs::write(file, text).map_err(|error| {
            Problem::refused(format!("{} cannot be written: {error}", file.display()))
        })?;
    }
    if arguments.json {
        let origin = match place {
            Place::Here(_) => Origin::here(),
            Place::There(_) => Origin::simulated(place.name()),
        };
        page::print_json(origin, &Sheet::of(&plan, &tuned, &place))?;
    } else {
        page::print(&text(&plan, &tuned, &place))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The cohorts that locks are told, by level, and the machine's shape by them.
type Told = Vec<(String, Vec<usize>)>;

fn told(arguments: &Arguments, place: &Place) -> Result<(Told, Topology), Problem> {
    let own = place.topology();
    let Some(file) = &arguments.cohorts else {
        return Ok((Vec::new(), own.clone()));
    };
    let text = cohorts::text(file)?;
    let cpus = own.cpus();
    let count = cpus.last().map_or(0, |last| last + 1);
    let table = cohorts::table(&text, count)
        .map_err(|problem| problem.within(&file.display().to_string()))?;
    if matches!(place, Place::Here(_)) {
        cohorts::tell(&text)?;
    }
    let mut levels: Told = table.clone();
    levels.sort_by_key(|(name, _)| Level::named(name).map(|level| level as usize));
    for (_, cohorts) in &mut levels {
        *cohorts = cpus.iter().map(|cpu| cohorts[*cpu]).collect();
    }
    levels.push(("system".to_owned(), vec![0; cpus.len()]));
    if let Some(pair) = levels
        .windows(2)
        .find(|pair| !nests(&pair[0].1, &pair[1].1))
    {
        return Err(Problem::usage(format!(
            "{}: the level `{}` does not nest in `{}`: CPUs of one cohort of the former are in \
             several of the latter",
            file.display(),
            pair[0].0,
            pair[1].0
        )));
    }
    Ok((table, Topology::new(cpus.to_vec(), levels)))
}

/// Whether CPUs that share one of the small cohorts share one of the large.
fn nests(small: &[usize], large: &[usize]) -> bool {
    let mut of = std::collections::BTreeMap::new();
    small
        .iter()
        .zip(large)
        .all(|(small, large)| *of.entry(small).or_insert(large) == large)
}

/// How many cohorts each level has, and how many CPUs there are.
pub fn shape_of(topology: &Topology) -> String {
    let levels = topology.levels().iter().enumerate();
    let levels = levels.filter(|(number, _)| topology.cohorts(*number) > 1);
    let mut words: Vec<String> = levels
        .map(|(number, level)| format!("{}:{}", level.name, topology.cohorts(number)))
        .collect();
    words.reverse();
    words.push(format!("cpus:{}", topology.cpus().len()));
    words.join(" ")
}

fn plan(arguments: &Arguments, place: &Place, shape: &Topology) -> Result<Plan, Problem> {
    let name = arguments.workload.as_deref().unwrap_or(WORKLOAD);
    let info = workload(name)?;
    let cpus = shape.cpus().len();
    let has: Vec<Level> = Level::ALL
        .into_iter()
        .filter(|level| {
            let mut levels = shape.levels().iter().enumerate();
            levels.any(|(number, of)| of.name == level.name() && shape.cohorts(number) > 1)
        })
        .collect();
    let levels = if arguments.levels.is_empty() {
        has
    } else {
        levels(&arguments.levels, &has, place)?
    };
    let threads = threads(&arguments.threads, cpus, place)?;
    let policies = policies(arguments.policy.as_deref(), &threads)?;
    Ok(Plan {
        levels,
        basic: basic(&arguments.basic)?,
        threads,
        policies,
        exhaustive: arguments.exhaustive,
        info,
        knobs: Knobs::NONE.over(info).map_err(Problem::usage)?,
        seed: arguments.seed,
    })
}

fn workload(name: &str) -> Result<&'static Info, Problem> {
    let info = bench::find(name).ok_or_else(|| {
        let hint = nearest::hint(name, WORKLOADS.iter().map(|info| info.name));
        Problem::usage(format!(
            "no workload is called `{name}`{hint}\n`cohort bench --list` shows every workload"
        ))
    })?;
    if info.name == "pingpong" || info.takes.contains(&"reads") {
        return Err(Problem::usage(format!(
            "the workload {name} is not one to tune a mutex for: its threads take turns, or \
             share an rwlock"
        )));
    }
    Ok(info)
}

fn levels(names: &[String], has: &[Level], place: &Place) -> Result<Vec<Level>, Problem> {
    let mut levels = Vec::new();
    for name in names.iter().filter(|name| *name != "system") {
        let known = || has.iter().map(|level| level.name());
        let level = Level::named(name)
            .filter(|level| has.contains(level))
            .ok_or_else(|| {
                let there: Vec<&str> = known().collect();
                let there = match there.as_slice() {
                    [] => "it has none below the whole system".to_owned(),
                    there => format!(
                        "it has {}{}",
                        there.join(", "),
                        nearest::hint(name, known())
                    ),
                };
                Problem::usage(format!(
                    "--levels: {} has no level `{name}`; {there}",
                    place.name()
                ))
            })?;
        if !levels.contains(&level) {
            levels.push(level);
        }
    }
    levels.sort_by_key(|level| *level as usize);
    Ok(levels)
}

fn basic(names: &[String]) -> Result<Vec<Basic>, Problem> {
    if names.is_empty() {
        return Ok(Basic::ALL.to_vec());
    }
    let lock = |name: &String| {
        Basic::named(name)
            .filter(|lock| Basic::ALL.contains(lock))
            .ok_or_else(|| {
                let known = || Basic::ALL.into_iter().map(Basic::name);
                Problem::usage(format!(
                    "--basic: `{name}` is none of {}{}",
                    known().collect::<Vec<_>>().join(", "),
                    nearest::hint(name, known())
                ))
            })
    };
    names.iter().map(lock).collect()
}

fn threads(wanted: &[usize], cpus: usize, place: &Place) -> Result<Vec<usize>, Problem> {
    let mut threads = if wanted.is_empty() {
        let most = cpus.saturating_sub(1).max(1);
        vec![
            1,
            2,
            cpus / 16,
            cpus / 8,
            cpus / 4,
            cpus / 2,
            cpus * 3 / 4,
            most,
        ]
    } else {
        wanted.to_vec()
    };
    if let Some(count) = wanted.iter().find(|count| **count == 0 || **count > cpus) {
        return Err(Problem::usage(format!(
            "--threads: found {count}, expected 1 to {cpus}, the CPUs of {}",
            place.name()
        )));
    }
    threads.retain(|count| (1..=cpus).contains(count));
    threads.sort_unstable();
    threads.dedup();
    Ok(threads)
}

fn policies(word: Option<&str>, threads: &[usize]) -> Result<Vec<Policy>, Problem> {
    let word = match word {
        None => return Ok(vec![Policy::High, Policy::Low]),
        Some("lc") => return Ok(vec![Policy::Low]),
        Some("hc") => return Ok(vec![Policy::High]),
        Some(word) => word,
    };
    let weight = |part: &str| {
        let pair = part.split_once('=').and_then(|(count, weight)| {
            let weight: f64 = weight.parse().ok()?;
            Some((count.parse::<usize>().ok()?, weight))
        });
        let (count, weight) = pair
            .filter(|(_, weight)| weight.is_finite() && *weight > 0.0)
            .ok_or_else(|| {
                Problem::usage(format!(
                    "--policy: found `{part}`, expected hc, lc, or weights such as 1=1,32=4"
                ))
            })?;
        if !threads.contains(&count) {
            let all: Vec<String> = threads.iter().map(usize::to_string).collect();
            return Err(Problem::usage(format!(
                "--policy: {count} threads are not run; there are {}",
                all.join(", ")
            )));
        }
        Ok((count, weight))
    };
    let weights = word.split(',').map(weight);
    Ok(vec![Policy::Said(weights.collect::<Result<_, _>>()?)])
}

/// What came of it, or the status to end with after a signal.
fn measured(plan: &Plan, place: &Place, told: &Told) -> Result<Result<Tuned, ExitCode>, Problem> {
    let rivals = RIVALS.map(str::to_owned);
    let field = tune::field(&plan.levels, &plan.basic).len() + rivals.len();
    let mut progress = Progress::new(field * plan.threads.len(), false);
    let tuned = tune::tune(plan, &rivals, &mut |settings, effort| match place {
        Place::There(simulator) => {
            let course = Course::tuning(effort, Placement::Cores, told.clone());
            simulated::measure(plan.info, simulator, &course, settings, &mut progress).map_err(
                |failure| match failure {
                    simulated::Failure::Interrupted(signal) => Err(signal.status()),
                    simulated::Failure::Run(why) => Ok(why),
                },
            )
        }
        Place::Here(host) => here(plan.info, host, settings, effort, &mut progress),
    });
    match tuned {
        Ok(tuned) => Ok(Ok(tuned)),
        Err(Err(status)) => Ok(Err(ExitCode::from(status))),
        Err(Ok(why)) => Err(Problem::refused(why)),
    }
}

/// Why there are no points: a status to end with, or what failed.
type Stop = Result<String, u8>;

fn here(
    info: &Info,
    host: &Host,
    settings: &[Setting],
    effort: Effort,
    progress: &mut Progress,
) -> Result<Vec<Point>, Stop> {
    let (rounds, seconds) = rounds(effort);
    let wanted = settings.iter().map(|setting| native::Wanted {
        setting: setting.clone(),
        settings: Settings {
            seconds,
            placement: Placement::Cores,
            wait: Wait::natural(&setting.lock, true),
            background: 0,
            served: true,
        },
    });
    let wanted: Vec<native::Wanted> = wanted.collect();
    native::measure(info, host, &wanted, rounds, progress).map_err(|failure| match failure {
        native::Failure::Interrupted(signal) => Err(signal.status()),
        native::Failure::Run(why) => Ok(why),
    })
}

fn policy_name(policy: &Policy) -> String {
    match policy {
        Policy::Low => "LC".to_owned(),
        Policy::High => "HC".to_owned(),
        Policy::Said(_) => "mark".to_owned(),
    }
}

/// As many compositions are shown.
const SHOWN: usize = 8;

fn text(plan: &Plan, tuned: &Tuned, place: &Place) -> String {
    let compositions = tuned.scores.iter().filter(|score| !score.rival).count();
    let hash = place
        .fingerprint()
        .map_or_else(String::new, |hash| format!(", simulated ({hash})"));
    let head = format!(
        "{}{hash}: {} with {} compositions, {} points",
        place.name(),
        plan.info.name,
        compositions,
        tuned.points
    );
    let counts = [
        plan.threads.first(),
        plan.threads.get(plan.threads.len() / 2),
        plan.threads.last(),
    ];
    let mut counts: Vec<usize> = counts.into_iter().flatten().copied().collect();
    counts.dedup();
    let mut titles = vec!["lock".to_owned()];
    titles.extend(plan.policies.iter().map(policy_name));
    titles.extend(counts.iter().map(|count| format!("×{count}")));
    let mut table = page::titled(&titles);
    let bare = |lock: &str| lock.trim_start_matches("clof:").to_owned();
    let steady = tuned
        .scores
        .iter()
        .filter(|score| score.steady && !score.rival);
    let shown = steady
        .take(SHOWN)
        .chain(tuned.scores.iter().filter(|score| score.rival));
    let shown = shown.chain(
        tuned
            .scores
            .iter()
            .filter(|score| score.lock == tuned.worst),
    );
    for score in shown {
        let mut row = vec![bare(&score.lock)];
        row.extend(score.marks.iter().map(|mark| format!("{mark:.3}")));
        row.extend(counts.iter().map(|count| score.with(*count)));
        table.add_row(row);
    }
    let mut text = format!(
        "{}\n\n{}\n",
        page::prose(&head),
        page::lines(table, 1..titles.len())
    );
    for (policy, (lock, ties)) in plan.policies.iter().zip(&tuned.best) {
        let others: Vec<String> = ties[1.min(ties.len())..]
            .iter()
            .map(|lock| bare(lock))
            .collect();
        let others = match others.as_slice() {
            [] => String::new(),
            others => format!("; nothing sure parts it from {}", others.join(", ")),
        };
        let what = match policy {
            Policy::Said(_) => "Best".to_owned(),
            policy => format!("{}-best", policy_name(policy)),
        };
        text += &format!("\n{}\n", page::prose(&format!("{what}: {lock}{others}.")));
    }
    if plan.levels.is_empty() {
        let note = "There is no level below the whole system: compositions are plain locks here.";
        text += &format!("\n{}\n", page::prose(note));
    }
    text.trim_end().to_owned()
}

#[derive(Serialize)]
struct Sheet<'a> {
    on: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    hash: Option<&'a str>,
    workload: &'a str,
    threads: &'a [usize],
    policies: Vec<String>,
    best: Vec<&'a str>,
    ties: Vec<&'a [String]>,
    worst: &'a str,
    points: usize,
    scores: &'a [tune::Score],
}

impl<'a> Sheet<'a> {
    fn of(plan: &'a Plan, tuned: &'a Tuned, place: &'a Place) -> Self {
        Self {
            on: place.name(),
            hash: place.fingerprint(),
            workload: plan.info.name,
            threads: &plan.threads,
            policies: plan.policies.iter().map(Policy::name).collect(),
            best: tuned.best.iter().map(|(lock, _)| lock.as_str()).collect(),
            ties: tuned.best.iter().map(|(_, ties)| ties.as_slice()).collect(),
            worst: &tuned.worst,
            points: tuned.points,
            scores: &tuned.scores,
        }
    }
}

/// The shape of this machine, as [`shape_of`] writes it.
pub fn shape_here(cohorts: Option<&Path>) -> Result<String, Problem> {
    let own = cohort_lab::world::native::topology().map_err(Problem::refused)?;
    let Some(file) = cohorts else {
        return Ok(shape_of(&own));
    };
    let text = cohorts::text(file)?;
    let count = own.cpus().last().map_or(0, |last| last + 1);
    // Cohorts of another machine have another shape, whatever they say.
    let Ok(mut levels) = cohorts::table(&text, count) else {
        return Ok("that of another machine".to_owned());
    };
    levels.sort_by_key(|(name, _)| Level::named(name).map(|level| level as usize));
    for (_, cohorts) in &mut levels {
        *cohorts = own.cpus().iter().map(|cpu| cohorts[*cpu]).collect();
    }
    levels.push(("system".to_owned(), vec![0; own.cpus().len()]));
    Ok(shape_of(&Topology::new(own.cpus().to_vec(), levels)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_are_read_or_refused_with_what_was_found() {
        let threads = [1, 8];
        assert_eq!(
            policies(None, &threads).unwrap(),
            [Policy::High, Policy::Low]
        );
        let said = policies(Some("1=1,8=2.5"), &threads).unwrap();
        assert_eq!(said, [Policy::Said(vec![(1, 1.0), (8, 2.5)])]);
        for (word, why) in [
            ("xx", "`xx`"),
            ("9=1", "9 threads"),
            ("8=-1", "`8=-1`"),
            ("8", "`8`"),
        ] {
            let problem = policies(Some(word), &threads).unwrap_err().to_string();
            assert!(problem.contains(why), "{problem}");
        }
    }

    #[test]
    fn cohorts_nest_or_not() {
        assert!(nests(&[0, 0, 1, 1], &[0, 0, 0, 0]));
        assert!(!nests(&[0, 0, 1, 1], &[0, 1, 0, 1]));
    }
}
