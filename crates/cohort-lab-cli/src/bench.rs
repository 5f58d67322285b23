//! `cohort bench`: the papers' workloads, here or on a simulated machine.

mod config;
mod envelope;
mod show;

use crate::machines::MACHINES;
use crate::suggested::Suggested;
use crate::testbed::Testbed;
use clap::ValueHint;
use clap::builder::PossibleValue;
use cohort::catalogue::{self, LOCKS, SHARED, find_shared, read_delegate};
use cohort::name::{Lock, Name};
use cohort_cli::best;
use cohort_cli::choice::{self, Choice, LockName, SYSTEM};
use cohort_cli::cohorts;
use cohort_cli::destination;
use cohort_cli::page::{self, Origin};
use cohort_cli::problem::{self, Problem};
use cohort_cli::rwlocks::Rwlocks;
use cohort_lab::bench::knobs::HEADING;
use cohort_lab::bench::report::{Point, Report};
use cohort_lab::bench::simulated::{self, Course, Until};
use cohort_lab::bench::{self, Info, Knobs, Setting, Span, WORKLOADS, curves, efficiency, native};
use cohort_lab::interrupt::Interrupted;
use cohort_lab::progress::Progress;
use cohort_lab::tune::best::{Tuned, is_asked};
use cohort_lab::tune::file::File;
use cohort_lab::world::names::rejoined;
use cohort_lab::world::native::{Host, Settings, listen};
use cohort_lab::world::served::refusal;
use cohort_lab::world::simulated::{Simulator, is_baseline};
use cohort_lab::world::{NO_LOCK, Placement, Tunings, Wait};
use cohort_lab::{interrupt, options};
use cohort_machine::description::nearest;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

/// Options of `cohort bench`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = NOTES)]
pub struct Arguments {
    /// Run this workload of --list
    #[arg(long, value_name = "NAME", value_parser = NAMES, required_unless_present_any = ["list", "envelope"])]
    workload: Option<String>,
    /// List the workloads with their options and sources
    #[arg(long)]
    list: bool,
    /// Simulate a grid of machines, workloads and thread counts (restricted by --on and --workload);
    /// show each lock's throughput relative to the best raw lock
    #[arg(long, conflicts_with_all = ["list", "threads", "rounds", "wait", "cohorts",
        "background", "oversubscribe", "detail"])]
    envelope: bool,
    /// Simulate a part of the envelope, in about a minute
    #[arg(long, requires = "envelope")]
    quick: bool,
    /// Measure these locks of `cohort list`, `posix` (the C library's) or `all`; for
    /// pingpong also `none`; for rw also the locks of `cohort list --rwlocks`, where
    /// `default` is the machine's default rwlock [default: all]
    #[arg(long, value_name = "A,B,…", value_delimiter = ',', value_parser = LockName,
        hide_possible_values = true)]
    locks: Vec<String>,
    /// Run these numbers of threads, such as 1,2,4 or 1-8 [default: powers of two up to
    /// the number of CPUs, and this number]
    #[arg(long, value_name = "N,N-M,…", value_delimiter = ',', value_parser = options::counts)]
    threads: Vec<RangeInclusive<u32>>,
    /// Run on this simulated machine: a name from `cohort machines`, or a file
    #[arg(long, value_name = "MACHINE|FILE", value_hint = ValueHint::FilePath,
        value_parser = MACHINES, hide_possible_values = true)]
    on: Option<String>,
    /// Measure locks as `pthread_mutex_t`, as under `cohort run`, instead of raw locks
    #[arg(long)]
    served: bool,
    /// Measure each point for this time [default: 0.5]; with --on, at most this virtual
    /// time [default: until the throughput is steady]
    #[arg(long, value_name = "SECONDS", value_parser = options::seconds)]
    seconds: Option<f64>,
    /// Measure every point once in each of N rounds [default: 5]
    #[arg(long, value_name = "N", conflicts_with = "on",
        value_parser = clap::value_parser!(u16).range(1..))]
    rounds: Option<u16>,
    /// Place threads on CPUs
    #[arg(long, value_enum, default_value_t = Placement::Compact)]
    placement: Placement,
    /// Choose how threads wait [default: park for sleeping mutexes, else busy]
    #[arg(long, value_enum)]
    wait: Option<Wait>,
    /// Take the cohorts from this file instead of the machine; see below
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    cohorts: Option<PathBuf>,
    /// Read what `cohort tune -o` has written, which `clof:best` then is, or thresholds of
    /// `cohort tune sanl -o` or `cohort tune glk -o`, or those shipped for this machine
    #[arg(long, value_name = "FILE.toml", value_hint = ValueHint::FilePath,
        conflicts_with = "envelope")]
    config: Option<PathBuf>,
    /// Add N threads that only compute
    #[arg(long, value_name = "N", default_value_t = 0,
        value_parser = clap::value_parser!(u16).range(..=10_000))]
    background: u16,
    /// Allow more threads than CPUs
    #[arg(long)]
    oversubscribe: bool,
    /// Seed all random choices
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Plot throughput, fairness, migrations and transfers over threads; for several intervals,
    /// cycles per critical section; for the envelope, a heat map
    #[arg(long, value_name = "FILE.svg", value_hint = ValueHint::FilePath)]
    plot: Option<PathBuf>,
    /// Compare locks by this metric
    #[arg(long, value_enum, default_value_t = Metric::Throughput, conflicts_with = "envelope")]
    metric: Metric,
    /// Show operations by thread and cohort, and the modes of adaptive locks with the reason of each
    /// change; on this machine, the recording costs time
    #[arg(long, conflicts_with = "json")]
    detail: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Work between two critical sections; several values are measured in turn
    #[arg(long, value_name = "TIME,…", value_delimiter = ',', visible_alias = "interval",
        help_heading = HEADING)]
    outside: Vec<Span>,
    #[command(flatten)]
    knobs: Knobs,
}

/// Compare locks by this metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Metric {
    /// Operations per second
    Throughput,
    /// Useful work, in the critical section and after timeouts, each relative to the best lock
    /// (Chabbi et al. 2017 §6.3)
    Efficiency,
}

const NOTES: &str = "\
By default locks are raw: one lock, one context for each thread, called through a vtable. With \
--served they are embedded in the 40 bytes of a pthread_mutex_t, as in a program, and waiters may \
sleep. A time is a number of cycles (1000) or has a unit (250ns, 4us).

On this machine, points run in interleaved rounds in rotating order; a figure is the median of the \
rounds. On a simulated machine, time is virtual, output is identical on every host, and a run ends \
when its throughput is steady; the output names the rule that ended it.

A composition is named by its basic locks (ticket, mcs, clh, hemlock), smallest cohort first: \
clof:mcs-ticket is one mcs lock per node below one ticket lock. Levels follow an @: core, cache, \
numa, package, system, and blade on simulated machines. Without @ the machine's levels are used. \
Trees take levels too (hmcs-3@numa,blade,system/64): hmcs-, ahmcs-, hmcs-t- and ahmcs-t- have one \
to five levels; the last two accept /naive, /pessimistic and /peers-8. hmcs-t-published- is hmcs-t- \
as printed in its paper.

The hand-off bound of a composition or cohort lock follows a /: c-tkt-tkt/1000 hand-offs, \
c-tkt-tkt/20us, c-tkt-mcs/endless. /bypass lets threads of a cohort lock try the top lock first; \
/adaptive stops this when it fails. /abortable gives waiters a timeout, in compositions of bo, clh \
and mcs. On simulated machines /random, /balanced and /pathological assign threads to cohorts \
regardless of their node.

The envelope simulates 12 machines and 10 workloads: 1 to 4n threads on n CPUs, pinned and free, \
with critical sections of the workload and of 20 µs, about six points for each machine and \
workload. It takes up to an hour of one CPU. After Ctrl-C it shows the complete points.

A cohort file has one line for each cohort, its level and CPUs: `numa 0-7,16-23`.

Examples:
  cohort bench --workload lbench --locks ticket,mcs --threads 1-2
  cohort bench --on epyc-7352x2 --workload leveldb \\
      --locks clof:tkt-clh-tkt@core,numa,system,c-tkt-mcs
  cohort bench --on epyc-7352x2 --served --workload lbench --threads 1,8,96 \\
      --locks default,posix,hmcs-4
  cohort bench --envelope --served --on i5-12500 --plot e.svg
  cohort bench --workload pingpong --threads 2 --plot p.svg
  cohort bench --on superdome-x --workload splay --threads 18 \\
      --locks hmcs-t-2,a-c-bo-clh --metric efficiency
  cohort bench --on kunpeng-920x2 --workload lbench --locks ticket,mcs,clh \\
      --threads 1,4,16,64,127
  cohort bench --on ./my-own.toml --workload interval --locks mcs --json
  cohort bench --on xeon-e7-4850x4 --workload interval --threads 8 \\
      --locks mcs,c-tkt-mcs/endless,sanl --interval 100,10000,300000 \\
      --plot intervals.svg
  cohort bench --on xeon-e7-4850x4 --workload linear-regression \\
      --locks posix,mcs,rcl,sanl --threads 10,39

Exit status: 0 if every point was measured; 2 for invalid options; 125 if a run failed; 130 after \
Ctrl-C.";

/// Names of workloads; [`workload`] rejects unknown ones.
const NAMES: Suggested = Suggested(|| {
    let all = WORKLOADS.iter();
    all.map(|info| PossibleValue::new(info.name).help(info.about))
        .collect()
});

/// Executes `cohort bench`.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    if arguments.list {
        if arguments.json {
            page::print_list(Origin::here(), "workloads", &show::listed())?;
        } else {
            page::print(&show::workloads())?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(file) = &arguments.plot {
        destination::plot(file)?;
    }
    if arguments.envelope {
        return envelope::run(arguments);
    }
    let info = workload(arguments.workload.as_deref().unwrap_or_default())?;
    let knobs = knobs(arguments, info)?;
    let weighed = arguments.metric == Metric::Efficiency;
    if weighed && !efficiency::is_counted(info) {
        return Err(Problem::usage(
            "--metric efficiency needs --workload splay, the workload that counts the work after \
             timeouts",
        ));
    }
    let place = Testbed::of(arguments.on.as_deref())?;
    let tuned = match &arguments.config {
        Some(file) => config::read(file, &place)?,
        None => config::Tuned {
            tunings: Tunings::USUAL,
            file: None,
        },
    };
    let locks = locks(arguments, info, &place, tuned.file.as_ref())?;
    if let Some(why) = locks
        .iter()
        .filter(|_| arguments.served)
        .find_map(|lock| refusal(lock))
    {
        return Err(Problem::usage(why));
    }
    let threads = threads(arguments, &place)?;
    let setting = |lock: &String, threads: usize, knobs: Knobs| Setting {
        lock: lock.clone(),
        threads,
        knobs,
        seed: arguments.seed,
    };
    let cohorts = cohorts(arguments, &place)?;
    let locks = with_room(arguments, &place, &cohorts, locks)?;
    let tunings = tuned.tunings;
    let mut settings: Vec<Setting> = Vec::new();
    for lock in &locks {
        for threads in &threads {
            let points = knobs.iter().map(|knobs| setting(lock, *threads, *knobs));
            settings.extend(points);
        }
    }
    interrupt::arm()
        .map_err(|error| Problem::refused(format!("cannot handle signals: {error}")))?;
    let measured = match &place {
        Testbed::Here(host) => {
            if arguments.detail {
                listen();
            }
            here(arguments, info, host, &settings, tunings)?
        }
        Testbed::There(simulator) => {
            let course = course(arguments, tunings, cohorts);
            there(info, simulator, &course, &settings)?
        }
    };
    let (points, interrupted) = measured;
    if let Some(signal) = interrupted {
        problem::tell(format!(
            "interrupted: {} of {} points measured",
            points.len(),
            settings.len()
        ));
        if points.is_empty() {
            return Ok(ExitCode::from(signal.status()));
        }
    }
    let common = match knobs.as_slice() {
        [knobs] => *knobs,
        [knobs, ..] => Knobs {
            outside: None,
            ..*knobs
        },
        [] => Knobs::NONE,
    };
    let mut report = Report::new(
        info,
        &common,
        match &place {
            Testbed::Here(_) => "native".to_owned(),
            Testbed::There(simulator) => simulator.machine().name.clone(),
        },
        arguments.placement,
        arguments.seed,
    );
    if let Testbed::There(simulator) = &place {
        report.hash = Some(simulator.machine().fingerprint.clone());
    }
    report.background = usize::from(arguments.background);
    report.served = arguments.served;
    report.config = arguments
        .config
        .as_ref()
        .map(|file| file.display().to_string());
    report.points = points;
    if weighed {
        efficiency::weigh(&mut report);
    }
    let ended = finish(arguments, &report)?;
    Ok(interrupted.map_or(ended, |signal| ExitCode::from(signal.status())))
}

/// Prints the report, and draws it on request.
fn finish(arguments: &Arguments, report: &Report) -> Result<ExitCode, Problem> {
    if let Some(file) = &arguments.plot {
        curves::save(report, file).map_err(Problem::refused)?;
    }
    if arguments.json {
        let origin = match report.hash {
            Some(_) => Origin::simulated(&report.on),
            None => Origin::here(),
        };
        page::print_json(origin, report)?;
    } else {
        page::print(&show::text(report, arguments.detail))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The workload's options, once for each interval between critical sections.
fn knobs(arguments: &Arguments, info: &Info) -> Result<Vec<Knobs>, Problem> {
    let at = |outside: Option<Span>| {
        let turned = Knobs {
            outside,
            ..arguments.knobs
        };
        turned.over(info).map_err(Problem::usage)
    };
    if arguments.outside.is_empty() {
        return Ok(vec![at(None)?]);
    }
    let mut all: Vec<Knobs> = Vec::new();
    for outside in &arguments.outside {
        let knobs = at(Some(*outside))?;
        if !all.contains(&knobs) {
            all.push(knobs);
        }
    }
    Ok(all)
}

/// The points, up to a signal if any.
type Measured = (Vec<Point>, Option<Interrupted>);

fn here(
    arguments: &Arguments,
    info: &Info,
    host: &Host,
    settings: &[Setting],
    tunings: Tunings,
) -> Result<Measured, Problem> {
    let rounds = usize::from(arguments.rounds.unwrap_or(5));
    let wanted: Vec<native::Wanted> = settings
        .iter()
        .map(|setting| native::Wanted {
            setting: setting.clone(),
            settings: Settings {
                seconds: arguments.seconds.unwrap_or(0.5),
                placement: arguments.placement,
                wait: arguments
                    .wait
                    .unwrap_or_else(|| Wait::natural(&setting.lock, arguments.served)),
                background: usize::from(arguments.background),
                served: arguments.served,
                tunings,
            },
        })
        .collect();
    let mut progress = Progress::new(wanted.len() * rounds, false);
    native::measure_until(info, host, &wanted, rounds, &mut progress).map_err(Problem::refused)
}

/// The settings of simulated points.
fn course(arguments: &Arguments, tunings: Tunings, cohorts: Vec<(String, Vec<usize>)>) -> Course {
    Course {
        cohorts,
        until: arguments.seconds.map_or(Until::Steady, Until::Seconds),
        placement: arguments.placement,
        wait: arguments.wait,
        background: usize::from(arguments.background),
        served: arguments.served,
        tunings,
    }
}

fn there(
    info: &Info,
    simulator: &Arc<Simulator>,
    course: &Course,
    settings: &[Setting],
) -> Result<Measured, Problem> {
    let mut progress = Progress::new(settings.len(), false);
    simulated::measure_until(info, simulator, course, settings, &mut progress)
        .map_err(Problem::refused)
}

/// The cohorts of each CPU by level, if from a file; set immediately if this machine is measured.
fn cohorts(arguments: &Arguments, place: &Testbed) -> Result<Vec<(String, Vec<usize>)>, Problem> {
    let Some(file) = &arguments.cohorts else {
        return Ok(Vec::new());
    };
    let text = cohorts::text(file)?;
    match place {
        Testbed::Here(_) => cohorts::tell(&text).map(|()| Vec::new()),
        Testbed::There(simulator) => cohorts::table(&text, simulator.topology().cpus().len()),
    }
}

fn workload(name: &str) -> Result<&'static Info, Problem> {
    bench::find(name).ok_or_else(|| {
        let hint = nearest::hint(name, WORKLOADS.iter().map(|info| info.name));
        Problem::usage(format!(
            "unknown workload `{name}`{hint}\n`cohort bench --list` lists the workloads"
        ))
    })
}

/// The printed names of the locks, each once; all locks by default.
fn locks(
    arguments: &Arguments,
    info: &Info,
    place: &Testbed,
    tuned: Option<&File>,
) -> Result<Vec<String>, Problem> {
    let (names, wait) = (&arguments.locks, arguments.wait);
    let has_readers = info.takes.contains(&"reads");
    let all = || -> Vec<String> {
        if has_readers {
            SHARED.iter().map(|lock| lock.name.to_owned()).collect()
        } else {
            LOCKS.iter().map(|lock| lock.name.to_owned()).collect()
        }
    };
    if names.is_empty() {
        return Ok(all());
    }
    let mut locks: Vec<String> = Vec::new();
    for name in &rejoined(names) {
        let meant = match name.as_str() {
            choice::ALL => all(),
            // The default of a program's rwlocks; the mutex has its own name.
            "default" if has_readers => {
                vec![Rwlocks::on(place.topology()).name().to_owned()]
            }
            name => {
                let found = tuned_best(arguments, name, place, tuned)?;
                vec![printed(
                    found.as_deref().unwrap_or(name),
                    info,
                    place,
                    wait,
                )?]
            }
        };
        for name in meant {
            if !locks.contains(&name) {
                locks.push(name);
            }
        }
    }
    Ok(locks)
}

/// The lock that `clof:best` is by the configuration.
fn tuned_best(
    arguments: &Arguments,
    name: &str,
    place: &Testbed,
    tuned: Option<&File>,
) -> Result<Option<String>, Problem> {
    let (Some(file), Some(config)) = (tuned, &arguments.config) else {
        return Ok(None);
    };
    if !is_asked(name) {
        return Ok(None);
    }
    let called = config.display().to_string();
    let tuned = Tuned {
        file,
        called: &called,
    };
    let found = best::by(name, place.topology(), Some(tuned))?;
    best::tell(name, &found);
    Ok(Some(found.lock))
}

/// The locks with a place for each cohort of the machine. Refuses a named lock with too few places,
/// and omits it from `all`.
fn with_room(
    arguments: &Arguments,
    place: &Testbed,
    cohorts: &[(String, Vec<usize>)],
    mut locks: Vec<String>,
) -> Result<Vec<String>, Problem> {
    let (Testbed::There(simulator), Some(named)) = (place, &arguments.on) else {
        return Ok(locks);
    };
    let all = arguments.locks.iter().any(|name| name == choice::ALL);
    let mut why = None;
    locks.retain(|lock| {
        let crowded = simulator.crowded(lock, cohorts);
        let has_room = crowded.is_none();
        why = why.take().or(crowded);
        has_room
    });
    let Some(why) = why else {
        return Ok(locks);
    };
    let why = format!("{}: {why}", hierarchy_of(named));
    if !all && !arguments.locks.is_empty() {
        return Err(Problem::usage(why));
    }
    problem::tell(format!("{why}; locks with too few places are left out"));
    Ok(locks)
}

/// Where the levels of that machine are written: its file and line, or its name.
fn hierarchy_of(named: &str) -> String {
    let text = std::fs::read_to_string(named).unwrap_or_default();
    let is_hierarchy = |line: &str| {
        let key = line.split('=').next().unwrap_or_default();
        key.trim() == "hierarchy"
    };
    match text.lines().position(is_hierarchy) {
        Some(line) => format!("{named}:{}", line + 1),
        None => named.to_owned(),
    }
}

/// The printed name of a lock on any simulated machine, independent of the workload.
fn printed_there(name: &str) -> Result<String, Problem> {
    if SYSTEM.contains(&name) {
        return Ok("posix".to_owned());
    }
    if is_baseline(name) && Choice::named(name).is_err() {
        return Ok(name.to_owned());
    }
    Choice::named(name).map(|choice| choice.name().to_owned())
}

/// The printed name of the lock typed so, for a workload there.
///
/// # Errors
/// There is no such lock, or the workload cannot use it.
pub fn printed(
    name: &str,
    info: &Info,
    place: &Testbed,
    wait: Option<Wait>,
) -> Result<String, Problem> {
    if name == NO_LOCK {
        if info.name == "pingpong" {
            return Ok(name.to_owned());
        }
        return Err(Problem::usage(format!(
            "the workload {} needs a lock; only pingpong accepts `{NO_LOCK}`",
            info.name
        )));
    }
    let sleeps = SYSTEM.contains(&name) || is_baseline(name) && catalogue::find(name).is_none();
    if sleeps && wait.is_some_and(Wait::never_sleeps) {
        return Err(Problem::usage(format!(
            "the lock `{name}`: its waiters always sleep; leave out --wait, or choose a lock with \
             spinning waiters"
        )));
    }
    if SYSTEM.contains(&name) {
        return Ok("posix".to_owned());
    }
    if find_shared(name).is_some() {
        return Ok(name.to_owned());
    }
    if let Some(read) = read_delegate(name) {
        let read = read.map_err(|part| {
            let what = match catalogue::find_delegate(name.split('/').next().unwrap_or(name)) {
                Some(info) if !info.is_tunable => "expected nothing after the name",
                _ => "expected the rounds of a server (/100) or the timeout of a client (/10us)",
            };
            Problem::usage(format!("the lock `{name}`: found `/{part}`, {what}"))
        })?;
        return match info.takes.contains(&"reads") {
            false => Ok(read.to_string()),
            true => Err(Problem::usage(format!(
                "the workload {} needs shared acquisition, and delegation to `{name}` is exclusive; \
             choose a lock of `cohort list --rwlocks`",
                info.name
            ))),
        };
    }
    if is_baseline(name) && catalogue::find(name).is_none() {
        return match place {
            Testbed::There(_) => Ok(name.to_owned()),
            Testbed::Here(_) => Err(Problem::usage(format!(
                "`{name}` models another library's lock on simulated machines; add --on, or use \
                 `posix`"
            ))),
        };
    }
    let read = catalogue::read(name).map_err(|why| choice::wrong(name, &why))?;
    match read.lock {
        Lock::Best { .. } => {
            let found = match place {
                Testbed::Here(host) => best::here(name, host.topology())?,
                Testbed::There(simulator) => best::by(name, simulator.topology(), None)?,
            };
            best::tell(name, &found);
            let best = catalogue::read(&found.lock).map_err(|why| choice::wrong(name, &why))?;
            measured(&best, name, place, wait)
        }
        _ => measured(&read, name, place, wait),
    }
}

/// The printed name of the lock typed as `typed`.
fn measured(
    name: &Name<'_>,
    typed: &str,
    place: &Testbed,
    wait: Option<Wait>,
) -> Result<String, Problem> {
    if let (Testbed::Here(_), Err(why)) = (place, name.told()) {
        return Err(Problem::usage(format!("the lock `{typed}`: {why}")));
    }
    match place {
        Testbed::Here(_) if name.assignment.is_some() => Err(Problem::usage(format!(
            "the lock `{typed}`: on this machine the cohorts come from a file; see --cohorts"
        ))),
        _ if wait == Some(Wait::Park) && name.locks().is_some() => Err(Problem::usage(format!(
            "the lock `{typed}`: dynamic compositions do not sleep; use --wait busy, spin or \
             yield, or a cohort lock"
        ))),
        _ => Ok(name.to_string()),
    }
}

fn threads(arguments: &Arguments, place: &Testbed) -> Result<Vec<usize>, Problem> {
    let cpus = place.cpus();
    if arguments.threads.is_empty() {
        let doubled = std::iter::successors(Some(1), |threads| Some(threads * 2));
        let mut threads: Vec<usize> = doubled.take_while(|threads| *threads < cpus).collect();
        threads.push(cpus);
        return Ok(threads);
    }
    let mut threads: Vec<usize> = Vec::new();
    for count in arguments.threads.iter().cloned().flatten() {
        let count = count as usize;
        if count > cpus && !arguments.oversubscribe {
            return Err(Problem::usage(format!(
                "{count} threads on the {cpus} CPUs of {}; add --oversubscribe for more threads \
                 than CPUs",
                place.name()
            )));
        }
        if !threads.contains(&count) {
            threads.push(count);
        }
    }
    Ok(threads)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_between_levels_part_no_names() {
        let typed = "mcs,clof:mcs-mcs@numa,system,clh,clof:best@epyc-7352x2,clof:mcs@system/7,bo";
        let pieces: Vec<String> = typed.split(',').map(str::to_owned).collect();
        let names = rejoined(&pieces);
        assert_eq!(
            names.join(" "),
            typed
                .replace(',', " ")
                .replace("numa system", "numa,system")
        );
        assert_eq!(names.len(), 6);
    }
}
