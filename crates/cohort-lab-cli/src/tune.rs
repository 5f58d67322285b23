//! `cohort tune`: finds the best composition for a machine, and writes a configuration for `cohort
//! run`.

mod analysis;
mod explain;
mod glk;
mod sanl;
mod show;

use crate::machines::MACHINES;
use crate::testbed::Testbed;
use clap::ValueHint;
use cohort::recipe::{Basic, Level};
use cohort_cli::best;
use cohort_cli::cohorts::{self, Table};
use cohort_cli::destination;
use cohort_cli::page::{self, Origin};
use cohort_cli::problem::{self, Problem};
use cohort_cli::program::command_line;
use cohort_cli::toml_file;
use cohort_cli::tune as program;
use cohort_lab::bench::report::Point;
use cohort_lab::bench::simulated::{self, Course};
use cohort_lab::bench::{self, Info, Knobs, Setting, WORKLOADS, native};
use cohort_lab::interrupt;
use cohort_lab::progress::Progress;
use cohort_lab::tune::field::RIVALS;
use cohort_lab::tune::file::File;
use cohort_lab::tune::shape::Shape;
use cohort_lab::tune::{self, Effort, Policy, TunePlan, Tuned, beam};
use cohort_lab::world::native::{Host, Settings};
use cohort_lab::world::{Placement, Topology, Tunings, Wait};
use cohort_machine::description::nearest;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Options of `cohort tune`.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, after_long_help = NOTES)]
pub struct Arguments {
    #[command(subcommand)]
    other: Option<Other>,
    /// Tune for this simulated machine: a name from `cohort machines`, or a file
    #[arg(long, value_name = "MACHINE|FILE", value_hint = ValueHint::FilePath,
        value_parser = MACHINES, hide_possible_values = true, conflicts_with = "subject")]
    on: Option<String>,
    /// Take the cohorts from this file, written by `cohort discover -o`, instead of
    /// the machine
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "subject")]
    cohorts: Option<PathBuf>,
    /// Use these levels below the system [default: the machine's]
    #[arg(
        long,
        value_name = "A,B,…",
        value_delimiter = ',',
        conflicts_with = "subject"
    )]
    levels: Vec<String>,
    /// Use these basic locks: ticket, mcs, clh, hemlock [default: all]
    #[arg(
        long,
        value_name = "A,B,…",
        value_delimiter = ',',
        conflicts_with = "subject"
    )]
    basic: Vec<String>,
    /// Run this workload [default: leveldb]
    #[arg(long, value_name = "NAME", conflicts_with = "subject")]
    workload: Option<String>,
    /// Run these numbers of threads [default: eight numbers below that of CPUs]
    #[arg(
        long,
        value_name = "N,N,…",
        value_delimiter = ',',
        conflicts_with = "subject"
    )]
    threads: Vec<usize>,
    /// Weight thread counts: `lc` favours low contention, `hc` high; or N=W,…
    /// [default: hc, with lc for comparison]
    #[arg(long, value_name = "hc|lc|N=W,…", conflicts_with = "subject")]
    policy: Option<String>,
    /// Run every lock to its steady state
    #[arg(long, conflicts_with = "subject")]
    exhaustive: bool,
    /// Plot the throughput of all locks over threads
    #[arg(long, value_name = "FILE.svg", value_hint = ValueHint::FilePath, conflicts_with = "subject")]
    plot: Option<PathBuf>,
    /// Seed all random choices
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        conflicts_with = "subject"
    )]
    seed: u64,
    /// Explain the contribution of each part of a composition in a file written by -o
    #[arg(long, value_name = "FILE.toml", value_hint = ValueHint::FilePath,
        conflicts_with_all = ["cohorts", "levels", "basic", "workload", "threads", "policy",
            "exhaustive", "output", "plot", "seed", "mean", "subject"])]
    explain: Option<PathBuf>,
    /// Select the best lock on average over several files written by -o, without a run
    #[arg(long, value_name = "FILE.toml,…", value_delimiter = ',',
        value_hint = ValueHint::FilePath,
        conflicts_with_all = ["on", "cohorts", "levels", "basic", "workload", "threads", "policy",
            "exhaustive", "plot", "seed", "subject"])]
    mean: Vec<PathBuf>,
    #[command(flatten)]
    program: program::Arguments,
}

/// What is tuned beside compositions.
#[derive(Debug, clap::Subcommand)]
enum Other {
    /// Tune the thresholds of the lock `sanl` for `cohort bench --config`
    Sanl(sanl::Arguments),
    /// Tune the mode thresholds of the lock `glk` for `cohort run --config`
    Glk(glk::Arguments),
}

const NOTES: &str = "\
The tuner runs every composition of the basic locks, over every choice of levels, as pthread_mutex_t; \
and for comparison futex-hmcs (the default), hmcs-4, cna, futex and mcs. A lock's score is the \
weighted mean of its throughputs relative to the best lock with as many threads. Short runs first \
eliminate locks that trail by more than the measured error; the rest run longer. Among locks \
statistically tied with the best, the one with the fewest levels, then the fewest bytes, is \
recommended. If another lock beats all compositions, it is recommended instead.

--explain shows the gain by another lock at each level, or without the level; throughput and fairness \
by hand-off bound; and the result under kyoto and on other machines.

With a program, or a server and its client, a dozen locks run it once, then the best three and the \
default again, the best one also with other rwlocks and wait policies; a final round alternates the \
best one and the default. A proven gain writes a configuration: -o, or PROGRAM.cohort.toml.

Examples:
  cohort tune -- kccachetest wicked -th 2 -capcnt 500000 400000
  cohort tune --server 'memcached -u nobody -l 127.0.0.1 -p {port}' \\
      --client 'memcaslap -s 127.0.0.1:{port} -t 3s' --metric tps='TPS: ([0-9]+)'
  cohort tune --on epyc-7352x2 --levels cache,numa --basic ticket,mcs
  cohort tune --on xeon-e7-4850x4 --threads 1,10,39 -o best.toml --plot beam.svg
  cohort tune --on haswell-ep-2s --levels numa --policy 1=1,24=3 --json
  cohort tune --explain best.toml

Then: cohort run --config best.toml -- PROGRAM
The file ~/.config/cohort/best.toml defines `clof:best`.

Exit status: 0 with a result; 2 for invalid options; 125 if a run failed; 130 after Ctrl-C.";

/// The workload of Chehab et al. 2021 §4.3.
const WORKLOAD: &str = "leveldb";

/// Measuring rounds on this machine, and their duration in seconds.
const fn rounds(effort: Effort) -> (usize, f64) {
    match effort {
        Effort::Brief => (1, 0.02),
        Effort::Longer => (3, 0.05),
        Effort::Steady => (5, 0.2),
    }
}

/// Executes `cohort tune`.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    match &arguments.other {
        Some(Other::Sanl(arguments)) => return sanl::run(arguments),
        Some(Other::Glk(arguments)) => return glk::run(arguments),
        None => {}
    }
    if arguments.program.has_subject() {
        return program::run(&arguments.program);
    }
    if let Some(file) = &arguments.explain {
        return explain::run(arguments, file);
    }
    if let Some(file) = &arguments.plot {
        destination::plot(file)?;
    }
    if let Some(file) = &arguments.program.output {
        make_place(file)?;
        destination::writable(file)?;
    }
    if !arguments.mean.is_empty() {
        return mean(arguments);
    }
    let place = Testbed::of(arguments.on.as_deref())?;
    let (told, topology) = cohorts_of(arguments.cohorts.as_deref(), &place)?;
    let plan = plan(arguments, &place, &topology)?;
    arm()?;
    let tuned = match measured(&plan, &place, &told) {
        Ok(tuned) => tuned,
        Err(Stop::Signal(status)) => {
            problem::tell("interrupted: a ranking needs all measurements");
            return Ok(ExitCode::from(status));
        }
        Err(Stop::Failed(why)) => return Err(Problem::refused(why)),
    };
    if let Some(file) = &arguments.plot {
        beam::save(&plan, &tuned, place.name(), file).map_err(Problem::refused)?;
    }
    if let Some(file) = &arguments.program.output {
        let shape = Shape::of(&topology);
        let written = tuned.file(&plan, place.name(), place.fingerprint(), &shape);
        let mut written = written.ok_or_else(|| Problem::refused("no lock was measured"))?;
        if let Some(cohorts) = &arguments.cohorts {
            written.cohorts = Some(beside(cohorts, file)?);
        }
        write(file, &written)?;
    }
    if arguments.program.json {
        page::print_json(place.origin(), &show::Sheet::of(&plan, &tuned, &place))?;
    } else {
        page::print(&show::text(&plan, &tuned, &place))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Executes `cohort tune --mean`.
fn mean(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let read = |file: &PathBuf| {
        let text = toml_file::text(file)?;
        File::parse(&text).map_err(|error| toml_file::misread(&error, &text, file))
    };
    let files: Vec<File> = arguments.mean.iter().map(read).collect::<Result<_, _>>()?;
    let mean = File::mean(&files).map_err(|why| Problem::usage(format!("--mean: {why}")))?;
    if let Some(file) = &arguments.program.output {
        write(file, &mean)?;
    }
    if arguments.program.json {
        page::print_json(Origin::here(), &mean)?;
    } else {
        page::print(&show::mean(&mean))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Ends measurements at a signal.
fn arm() -> Result<(), Problem> {
    interrupt::arm().map_err(|error| Problem::refused(format!("cannot handle signals: {error}")))
}

/// Creates the folder of the file for `clof:best`, which few users have.
fn make_place(file: &Path) -> Result<(), Problem> {
    match (best::place(), file.parent()) {
        (Some(place), Some(folder)) if place == file => std::fs::create_dir_all(folder)
            .map_err(|error| Problem::refused(format!("{}: {error}", folder.display()))),
        _ => Ok(()),
    }
}

fn write(file: &Path, written: &File) -> Result<(), Problem> {
    let text = written.text(&command_line()).map_err(Problem::refused)?;
    std::fs::write(file, text)
        .map_err(|error| Problem::refused(format!("cannot write {}: {error}", file.display())))
}

/// The path of a cohorts file in a configuration: a name beside it, else an absolute path.
fn beside(cohorts: &Path, file: &Path) -> Result<PathBuf, Problem> {
    let whole = |path: &Path| {
        std::path::absolute(path)
            .map_err(|error| Problem::refused(format!("{}: {error}", path.display())))
    };
    let (cohorts, file) = (whole(cohorts)?, whole(file)?);
    let name = cohorts.file_name().map(PathBuf::from);
    let is_beside = cohorts.parent() == file.parent();
    Ok(name.filter(|_| is_beside).unwrap_or(cohorts))
}

/// The cohorts in a file, and the machine's topology by them; set immediately if this machine is
/// measured.
fn cohorts_of(file: Option<&Path>, place: &Testbed) -> Result<(Table, Topology), Problem> {
    let own = place.topology();
    let Some(file) = file else {
        return Ok((Vec::new(), own.clone()));
    };
    let text = cohorts::text(file)?;
    cohorts::check(file, own.cpus())?;
    let count = own.cpus().last().map_or(0, |last| last + 1);
    let table = cohorts::table(&text, count)?;
    if matches!(place, Testbed::Here(_)) {
        cohorts::tell(&text)?;
    }
    let topology = cohorts::topology(&table, own.cpus());
    Ok((table, topology))
}

fn plan(arguments: &Arguments, place: &Testbed, shape: &Topology) -> Result<TunePlan, Problem> {
    let name = arguments.workload.as_deref().unwrap_or(WORKLOAD);
    let info = workload(name)?;
    let cpus = shape.cpus().len();
    let has: Vec<Level> = Level::REPORTED
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
    Ok(TunePlan {
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
            "unknown workload `{name}`{hint}\n`cohort bench --list` lists the workloads"
        ))
    })?;
    if info.name == "pingpong" || info.takes.contains(&"reads") {
        return Err(Problem::usage(format!(
            "the workload {name} cannot tune a mutex: its threads alternate, or share an rwlock; \
             choose another"
        )));
    }
    Ok(info)
}

fn levels(names: &[String], has: &[Level], place: &Testbed) -> Result<Vec<Level>, Problem> {
    let mut levels = Vec::new();
    for name in names.iter().filter(|name| *name != "system") {
        let known = || has.iter().map(|level| level.name());
        let level = Level::named(name)
            .filter(|level| has.contains(level))
            .ok_or_else(|| {
                let there: Vec<&str> = known().collect();
                let there = match there.as_slice() {
                    [] => "it has none below the system".to_owned(),
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
                    "--basic: found `{name}`, expected one of {}{}",
                    known().collect::<Vec<_>>().join(", "),
                    nearest::hint(name, known())
                ))
            })
    };
    names.iter().map(lock).collect()
}

fn threads(wanted: &[usize], cpus: usize, place: &Testbed) -> Result<Vec<usize>, Problem> {
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
    let wrong = |part: &str| {
        Problem::usage(format!(
            "--policy: found `{part}`, expected hc, lc, or weights such as 1=1,32=4"
        ))
    };
    for part in word.split(',') {
        let Some(Policy::Said(weights)) = Policy::named(part) else {
            return Err(wrong(part));
        };
        if let Some((count, _)) = weights.iter().find(|(count, _)| !threads.contains(count)) {
            let all: Vec<String> = threads.iter().map(usize::to_string).collect();
            return Err(Problem::usage(format!(
                "--policy: {count} threads are not measured; expected some of {}",
                all.join(", ")
            )));
        }
    }
    Ok(vec![Policy::named(word).ok_or_else(|| wrong(word))?])
}

/// Reason for missing points.
enum Stop {
    /// An exit status after a signal.
    Signal(u8),
    /// An error.
    Failed(String),
}

impl From<String> for Stop {
    fn from(why: String) -> Self {
        Self::Failed(why)
    }
}

impl From<simulated::Failure> for Stop {
    fn from(failure: simulated::Failure) -> Self {
        match failure {
            simulated::Failure::Interrupted(signal) => Self::Signal(signal.status()),
            simulated::Failure::Run(why) => Self::Failed(why),
        }
    }
}

impl From<native::Failure> for Stop {
    fn from(failure: native::Failure) -> Self {
        match failure {
            native::Failure::Interrupted(signal) => Self::Signal(signal.status()),
            native::Failure::Run(why) => Self::Failed(why),
        }
    }
}

fn measured(plan: &TunePlan, place: &Testbed, told: &Table) -> Result<Tuned, Stop> {
    let rivals = RIVALS.map(|(name, _)| name.to_owned());
    let mut progress = Progress::new(tune::expected(plan, rivals.len()), false);
    tune::tune(plan, &rivals, &mut |settings, effort| match place {
        Testbed::There(simulator) => {
            let course = Course::tuning(effort, Placement::Cores, told.clone());
            simulated::measure(plan.info, simulator, &course, settings, &mut progress)
                .map_err(Stop::from)
        }
        Testbed::Here(host) => here(plan.info, host, settings, effort, &mut progress),
    })
}

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
            tunings: Tunings::USUAL,
        },
    });
    let wanted: Vec<native::Wanted> = wanted.collect();
    native::measure(info, host, &wanted, rounds, progress).map_err(Stop::from)
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
}
