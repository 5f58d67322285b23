//! `cohort replay`: a recorded program's locking, under other locks and on other machines.

mod show;

use crate::bench::printed;
use crate::machines::MACHINES;
use crate::testbed::Testbed;
use clap::ValueHint;
use cohort_cli::choice::LockName;
use cohort_cli::page::{self, Origin};
use cohort_cli::problem::{self, Problem};
use cohort_lab::interrupt::{self, Interrupted};
use cohort_lab::progress::Progress;
use cohort_lab::replay::{self, Left, Limits, Measured, Plan, Recorded, Setting};
use cohort_lab::rounds::Observer;
use cohort_lab::world::names::rejoined;
use cohort_lab::world::served::refusal;
use cohort_lab::world::{Placement, Tunings, Wait, native, simulated};
use cohort_lab::{bench, world};
use cohort_machine::Length;
use cohort_trace::{Info, Trace};
use serde::Serialize;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// Options of `cohort replay`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = NOTES)]
pub struct Arguments {
    /// The trace, written by `cohort record`
    #[arg(value_name = "TRACE", value_hint = ValueHint::FilePath)]
    trace: PathBuf,
    /// Replay on this simulated machine: a name from `cohort machines`, or a file
    #[arg(long, value_name = "MACHINE|FILE", value_hint = ValueHint::FilePath,
        value_parser = MACHINES, hide_possible_values = true, required_unless_present = "native")]
    on: Option<String>,
    /// Replay on this machine
    #[arg(long, conflicts_with = "on")]
    native: bool,
    /// Replay under these locks of `cohort list`, as they serve programs
    #[arg(long, value_name = "A,B,…", value_delimiter = ',', value_parser = LockName,
        hide_possible_values = true, default_value = "system,default")]
    locks: Vec<String>,
    /// Run K copies of each thread, with shifted beginnings
    #[arg(long, value_name = "K", default_value_t = 1,
        value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads_scale: u16,
    /// Replay N times under each lock, with other offsets of the threads
    #[arg(long, value_name = "N", default_value_t = 3,
        value_parser = clap::value_parser!(u16).range(1..=1000))]
    seeds: u16,
    /// Replay at most the first N acquisitions of the trace
    #[arg(long, value_name = "N", default_value_t = 50_000,
        value_parser = clap::value_parser!(u32).range(1..))]
    acquisitions: u32,
    /// Let each critical section touch N lines [default: 1, and one for each 500 ns of the lock's mean
    /// section, at most 8]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(0..=512))]
    lines: Option<u16>,
    /// Place threads on CPUs [default: compact on a simulated machine, free on this one]
    #[arg(long, value_enum)]
    placement: Option<Placement>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

const NOTES: &str = "\
Mutexes and spin locks of the trace use the lock, in the 40 bytes of a pthread_mutex_t as under \
`cohort run`. Rwlocks use rwlock, and the C library's under `system`.

Each figure is the mean over the seeds. The ratio compares runs of the same seed; the brackets contain \
its least and its greatest value.

Examples:
  cohort record -o kc.trace -- kccachetest wicked -th 4 400000
  cohort replay kc.trace --on epyc-7352x2 --locks system,default,glk,clof:best
  cohort replay kc.trace --on haswell-ep-2s --threads-scale 8 --seeds 5
  cohort replay kc.trace --native --locks system,default

Exit status: 0 if every run ended; 2 for invalid options or an invalid trace; 125 if a run failed, for \
example by a deadlock; 130 after Ctrl-C.";

/// Locks of the trace that are replayed; the others are used least.
const LOCKS: usize = 256;

/// The longest replay on this machine, in seconds.
const LONGEST: f64 = 3_600.0;

/// The C library's mutex and rwlock, as the worlds name them.
const SYSTEM: &str = "posix";
const SYSTEM_RWLOCK: &str = "posix-rwlock";
const RWLOCK: &str = "rwlock";

/// A replay's result.
#[derive(Serialize)]
struct Replayed<'a> {
    trace: &'a Info,
    /// The machine.
    on: &'a str,
    threads: usize,
    copies: usize,
    locks: usize,
    recorded: Recorded,
    left_out: Left,
    model: String,
    points: Vec<Point>,
}

/// The runs under one lock.
#[derive(Serialize)]
struct Point {
    lock: String,
    runs: Vec<Measured>,
    /// Throughput relative to the C library's, by seed.
    ratios: Vec<f64>,
}

/// Executes `cohort replay`.
///
/// # Errors
/// The trace cannot be read; a lock is unknown; a run failed.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let trace = read(&arguments.trace)?;
    let limits = Limits {
        acquisitions: arguments.acquisitions as usize,
        locks: LOCKS,
        lines: arguments.lines.map(usize::from),
    };
    let wrong = |why: String| Problem::usage(format!("{}: {why}", arguments.trace.display()));
    let plan = Arc::new(Plan::new(&trace, &limits).map_err(wrong)?);
    let place = Testbed::of(arguments.on.as_deref())?;
    let locks = locks(arguments, &place)?;
    interrupt::arm()
        .map_err(|error| Problem::refused(format!("cannot handle signals: {error}")))?;
    let (points, interrupted) = measure(arguments, &plan, &place, &locks)?;
    if interrupted.is_some() {
        problem::tell("interrupted: the runs so far");
    }
    let replayed = Replayed {
        trace: &trace.info,
        on: place.name(),
        threads: plan.threads(),
        copies: usize::from(arguments.threads_scale),
        locks: plan.locks(),
        recorded: plan.recorded,
        left_out: plan.left,
        model: show::model(plan.lines()),
        points,
    };
    if arguments.json {
        let origin = match place {
            Testbed::There(_) => Origin::simulated(place.name()),
            Testbed::Here(_) => Origin::here(),
        };
        page::print_json(origin, &replayed)?;
    } else {
        page::print(&show::text(&replayed, place.cpus()))?;
    }
    Ok(interrupted.map_or(ExitCode::SUCCESS, |signal| ExitCode::from(signal.status())))
}

/// Reads a trace.
fn read(file: &Path) -> Result<Trace, Problem> {
    let wrong = |why: &dyn std::fmt::Display| Problem::usage(format!("{}: {why}", file.display()));
    let opened = File::open(file).map_err(|error| wrong(&error))?;
    if opened.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return Err(wrong(&"it is a folder; give a trace"));
    }
    Trace::read(BufReader::new(opened)).map_err(|error| wrong(&error))
}

/// The printed names of the locks; the C library's comes first, since all are compared to it.
fn locks(arguments: &Arguments, place: &Testbed) -> Result<Vec<String>, Problem> {
    let info = bench::find("interval")
        .ok_or_else(|| Problem::refused("there is no workload `interval`"))?;
    let mut locks = vec![SYSTEM.to_owned()];
    for name in rejoined(&arguments.locks) {
        let lock = printed(&name, info, place, None)?;
        if let Some(why) = refusal(&lock) {
            return Err(Problem::usage(why));
        }
        if !locks.contains(&lock) {
            locks.push(lock);
        }
    }
    Ok(locks)
}

/// Runs every lock with every seed; after a signal, what has been measured.
fn measure(
    arguments: &Arguments,
    plan: &Arc<Plan>,
    place: &Testbed,
    locks: &[String],
) -> Result<(Vec<Point>, Option<Interrupted>), Problem> {
    let seeds = usize::from(arguments.seeds);
    let mut progress = Progress::new(locks.len() * seeds, false);
    let mut points: Vec<Point> = locks
        .iter()
        .map(|lock| Point {
            lock: lock.clone(),
            runs: Vec::new(),
            ratios: Vec::new(),
        })
        .collect();
    let mut interrupted = None;
    'seeds: for seed in 1..=arguments.seeds {
        for point in &mut points {
            if let Err(signal) = interrupt::check() {
                interrupted = Some(signal);
                break 'seeds;
            }
            progress.starts(&format!("{}, seed {seed}", point.lock), false);
            let setting = Setting {
                lock: point.lock.clone(),
                rwlock: match &*point.lock {
                    SYSTEM => SYSTEM_RWLOCK.to_owned(),
                    _ => RWLOCK.to_owned(),
                },
                copies: usize::from(arguments.threads_scale),
                seed: seed.into(),
            };
            let run = once(arguments, plan, place, &setting).map_err(|why| {
                Problem::refused(format!("{} on {}: {why}", point.lock, place.name()))
            })?;
            point.runs.push(run);
        }
    }
    drop(progress);
    let base: Vec<f64> = points[0].runs.iter().map(|run| run.per_second).collect();
    for point in &mut points {
        let pairs = point.runs.iter().zip(&base);
        point.ratios = pairs.map(|(run, base)| run.per_second / base).collect();
    }
    points.retain(|point| !point.runs.is_empty());
    Ok((points, interrupted))
}

/// One run.
fn once(
    arguments: &Arguments,
    plan: &Arc<Plan>,
    place: &Testbed,
    setting: &Setting,
) -> Result<Measured, String> {
    let wait = Wait::natural(&setting.lock, true);
    match place {
        Testbed::There(simulator) => {
            let settings = simulated::Settings {
                length: Length::default(),
                placement: arguments.placement.unwrap_or(Placement::Compact),
                cpus: None,
                wait,
                background: 0,
                served: true,
                tunings: Tunings::USUAL,
                seed: setting.seed,
                cohorts: Vec::new(),
            };
            replay::run(simulator.world(settings), plan, setting)
        }
        Testbed::Here(host) => {
            let settings = native::Settings {
                seconds: LONGEST,
                placement: arguments.placement.unwrap_or(world::Placement::Free),
                wait,
                background: 0,
                served: true,
                tunings: Tunings::USUAL,
            };
            replay::run(host.world(settings), plan, setting)
        }
    }
}
