//! `cohort bench`: the papers' workloads, here or on a simulated machine.

mod config;
mod envelope;
mod show;

use crate::best;
use crate::choice::{self, Choice, LockName, SYSTEM};
use crate::cohorts;
use crate::destination;
use crate::machines::MachineName;
use crate::page::{self, Origin};
use crate::problem::{self, Problem};
use crate::rwlocks::Rwlocks;
use clap::ValueHint;
use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use cohort::catalogue::{self, LOCKS, SHARED, find_shared, read_delegate};
use cohort::name::{Lock, Name};
use cohort_lab::bench::knobs::HEADING;
use cohort_lab::bench::report::{Point, Report};
use cohort_lab::bench::simulated::{self, Course, Until};
use cohort_lab::bench::{self, Info, Knobs, Setting, Span, WORKLOADS, curves, efficiency, native};
use cohort_lab::interrupt::Interrupted;
use cohort_lab::progress::Progress;
use cohort_lab::world::names::rejoined;
use cohort_lab::world::native::{Host, Settings, listen};
use cohort_lab::world::served::refusal;
use cohort_lab::world::simulated::{Simulator, is_baseline};
use cohort_lab::world::{NO_LOCK, Placement, Topology, Tunings, Wait};
use cohort_lab::{interrupt, options};
use cohort_machine::description::{Machine, nearest};
use std::ffi::OsStr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

/// Options of `cohort bench`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = NOTES)]
pub struct Arguments {
    /// What the threads do
    #[arg(long, value_name = "NAME", value_parser = WorkloadName, required_unless_present_any = ["list", "envelope"])]
    workload: Option<String>,
    /// Show every workload, its options and where they stand; run nothing
    #[arg(long)]
    list: bool,
    /// Measure a grid of machines, workloads and numbers of threads (of --on and --workload alone if
    /// they are given) and show, point by point, the best raw lock, and what share of it each of
    /// --locks reaches
    #[arg(long, conflicts_with_all = ["list", "threads", "rounds", "wait", "cohorts",
        "background", "oversubscribe", "detail"])]
    envelope: bool,
    /// Of the envelope a part only, in a minute
    #[arg(long, requires = "envelope")]
    quick: bool,
    /// The locks, by the names that `cohort list` shows; also `posix`, the C library's,
    /// for pingpong `none`, and for rw those of `cohort list --rwlocks` too, where `default`
    /// is the rwlock that programs have on that machine; `all` for all of the list, of rw for
    /// the latter [default: all]
    #[arg(long, value_name = "A,B,…", value_delimiter = ',', value_parser = LockName,
        hide_possible_values = true)]
    locks: Vec<String>,
    /// How many threads, as in 1,2,4 or 1-8 [default: powers of two up to the number of
    /// CPUs, and this]
    #[arg(long, value_name = "N,N-M,…", value_delimiter = ',', value_parser = options::counts)]
    threads: Vec<RangeInclusive<u32>>,
    /// Run on this simulated machine instead: a name of `cohort machines`, or a file
    #[arg(long, value_name = "MACHINE|FILE", value_hint = ValueHint::FilePath,
        value_parser = MachineName, hide_possible_values = true)]
    on: Option<String>,
    /// Measure each lock as a program has it under `cohort run`, not raw
    #[arg(long)]
    served: bool,
    /// Seconds that each point is measured [default: 0.5]; with --on, virtual ones at
    /// most [default: as long as it takes to be steady]
    #[arg(long, value_name = "SECONDS", value_parser = options::seconds)]
    seconds: Option<f64>,
    /// Rounds in which every point is measured once [default: 5]
    #[arg(long, value_name = "N", conflicts_with = "on",
        value_parser = clap::value_parser!(u16).range(1..))]
    rounds: Option<u16>,
    /// Where threads run
    #[arg(long, value_enum, default_value_t = Placement::Compact)]
    placement: Placement,
    /// How waiters wait [default: those of sleeping mutexes park, all others are busy]
    #[arg(long, value_enum)]
    wait: Option<Wait>,
    /// Cohorts that locks are told instead of the machine's; see below
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    cohorts: Option<PathBuf>,
    /// What `cohort tune sanl -o` or `cohort tune glk -o` wrote; or a machine for which a file of
    /// `sanl` is shipped
    #[arg(long, value_name = "FILE.toml", value_hint = ValueHint::FilePath,
        conflicts_with = "envelope")]
    config: Option<PathBuf>,
    /// Further threads that only compute
    #[arg(long, value_name = "N", default_value_t = 0,
        value_parser = clap::value_parser!(u16).range(..=10_000))]
    background: u16,
    /// Allow more threads than CPUs
    #[arg(long)]
    oversubscribe: bool,
    /// What all random choices depend on
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Draw throughput, fairness, migrations and transfers against the threads; cycles a section
    /// against the interval if there are several; of the envelope a map
    #[arg(long, value_name = "FILE.svg", value_hint = ValueHint::FilePath)]
    plot: Option<PathBuf>,
    /// What locks are compared by
    #[arg(long, value_enum, default_value_t = Metric::Throughput, conflicts_with = "envelope")]
    metric: Metric,
    /// Show what each thread and each cohort did, and in which modes locks that adapt were, with
    /// the reasons why they changed; on this machine locks take time to tell
    #[arg(long, conflicts_with = "json")]
    detail: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Work between two sections; several are measured one after the other
    #[arg(long, value_name = "TIME,…", value_delimiter = ',', visible_alias = "interval",
        help_heading = HEADING)]
    outside: Vec<Span>,
    #[command(flatten)]
    knobs: Knobs,
}

/// What locks are compared by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Metric {
    /// Operations a second
    Throughput,
    /// Work done under the lock and, by threads that gave up, elsewhere, each against the lock
    /// that let do most of it (Chabbi et al. 2017 §6.3)
    Efficiency,
}

const NOTES: &str = "\
Locks are measured raw: a lock and a context for each thread, called through a table, without what \
`cohort run` adds to serve a program's mutexes. With --served they are in a mutex's 40 bytes, with \
those additions, and their waiters may sleep: that is what a program gets. A time is a number of cycles (1000) or has a unit \
(250ns, 4us).

On this machine all points are measured in turn, in rounds whose order rotates; a figure is the \
median of the rounds. On a simulated machine time is virtual, the same command gives the same \
bytes on every host, and a run goes on until its throughput is steady; which rule ended it is \
printed beside it.

Compositions are named by their locks, smallest cohort first, out of ticket, mcs, clh and hemlock: \
clof:mcs-ticket has an mcs lock for each node below a ticket lock for all. Their levels (core, \
cache, numa, package, on simulated machines blade, and system) are those that suit the machine, or \
stand behind an @, as those of trees of queues may (hmcs-3@numa,blade,system/64; hmcs-, ahmcs-, \
hmcs-t- and ahmcs-t- have one to four levels, and the last two can be /naive, /pessimistic, /peers-8). How long a \
cohort may keep the lock stands behind a /, for cohort locks too: c-tkt-tkt/1000 hand-offs, \
c-tkt-tkt/20us, c-tkt-mcs/endless. With /bypass the threads of a cohort lock try its top lock first, with \
/adaptive as long as that is not in vain. Waiters of clof:clh-bo-mcs/abortable can give up: such \
compositions are of bo, clh and mcs. On simulated machines /random, /balanced and \
/pathological put threads into cohorts that have nothing to do with memory.

The envelope is simulated: 12 machines and 10 workloads, with 1 to 4n threads on n CPUs, pinned and \
free, with sections as they are and of 20 µs, some six points for each machine and workload; it \
takes up to an hour of one CPU. After Ctrl-C it shows the points that it has.

A file of cohorts has a line for each: its level, and its CPUs as in `numa 0-7,16-23`.

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

Exit status: 0 if every point was measured; 2 for a mistake in the options; 125 if a run failed; \
130 after Ctrl-C.";

/// Accepts any text as a workload's name, and offers the names with descriptions; [`workload`]
/// rejects unknown ones.
#[derive(Clone)]
struct WorkloadName;

impl TypedValueParser for WorkloadName {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        option: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, option, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let all = WORKLOADS.iter();
        Some(Box::new(
            all.map(|info| PossibleValue::new(info.name).help(info.about)),
        ))
    }
}

/// Machine to measure.
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

    fn cpus(&self) -> usize {
        self.topology().cpus().len()
    }

    fn name(&self) -> &str {
        match self {
            Self::Here(_) => "this machine",
            Self::There(simulator) => &simulator.machine().name,
        }
    }
}

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
            "--metric efficiency is for --workload splay, which counts the work under the lock and \
             elsewhere",
        ));
    }
    let place = match &arguments.on {
        None => Place::Here(Host::look().map_err(Problem::refused)?),
        Some(named) => {
            let machine = Machine::open(named).map_err(Problem::usage)?;
            Place::There(Arc::new(Simulator::new(machine)))
        }
    };
    let locks = locks(arguments, info, &place)?;
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
    let tunings = match &arguments.config {
        Some(file) => config::read(file, &place)?,
        None => Tunings::USUAL,
    };
    let mut settings: Vec<Setting> = Vec::new();
    for lock in &locks {
        for threads in &threads {
            let points = knobs.iter().map(|knobs| setting(lock, *threads, *knobs));
            settings.extend(points);
        }
    }
    interrupt::arm()
        .map_err(|error| Problem::refused(format!("cannot watch for signals: {error}")))?;
    let measured = match &place {
        Place::Here(host) => {
            if arguments.detail {
                listen();
            }
            here(arguments, info, host, &settings, tunings)?
        }
        Place::There(simulator) => {
            let course = course(arguments, tunings, cohorts);
            there(info, simulator, &course, &settings)?
        }
    };
    let (points, interrupted) = measured;
    if let Some(signal) = interrupted {
        problem::tell(format!(
            "interrupted: {} of {} points were measured",
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
            Place::Here(_) => "native".to_owned(),
            Place::There(simulator) => simulator.machine().name.clone(),
        },
        arguments.placement,
        arguments.seed,
    );
    if let Place::There(simulator) = &place {
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
fn cohorts(arguments: &Arguments, place: &Place) -> Result<Vec<(String, Vec<usize>)>, Problem> {
    let Some(file) = &arguments.cohorts else {
        return Ok(Vec::new());
    };
    let text = cohorts::text(file)?;
    match place {
        Place::Here(_) => cohorts::tell(&text).map(|()| Vec::new()),
        Place::There(simulator) => cohorts::table(&text, simulator.topology().cpus().len()),
    }
}

fn workload(name: &str) -> Result<&'static Info, Problem> {
    bench::find(name).ok_or_else(|| {
        let hint = nearest::hint(name, WORKLOADS.iter().map(|info| info.name));
        Problem::usage(format!(
            "no workload is called `{name}`{hint}\n`cohort bench --list` shows every workload"
        ))
    })
}

/// The printed names of the locks, each once; all locks by default.
fn locks(arguments: &Arguments, info: &Info, place: &Place) -> Result<Vec<String>, Problem> {
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
            name => vec![printed(name, info, place, wait)?],
        };
        for name in meant {
            if !locks.contains(&name) {
                locks.push(name);
            }
        }
    }
    Ok(locks)
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

fn printed(name: &str, info: &Info, place: &Place, wait: Option<Wait>) -> Result<String, Problem> {
    if name == NO_LOCK {
        if info.name == "pingpong" {
            return Ok(name.to_owned());
        }
        return Err(Problem::usage(format!(
            "the workload {} needs a lock; only pingpong runs under `{NO_LOCK}`",
            info.name
        )));
    }
    let sleeps = SYSTEM.contains(&name) || is_baseline(name) && catalogue::find(name).is_none();
    if sleeps && wait.is_some_and(Wait::never_sleeps) {
        return Err(Problem::usage(format!(
            "the lock `{name}`: its waiters sleep, whatever --wait says; leave that out, or name a \
             lock whose waiters can spin"
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
                Some(info) if !info.is_tunable => "nothing can follow its name",
                _ => "expected the rounds of a server (/100) or the patience of a client (/10us)",
            };
            Problem::usage(format!("the lock `{name}`: found `/{part}`, {what}"))
        })?;
        return match info.takes.contains(&"reads") {
            false => Ok(read.to_string()),
            true => Err(Problem::usage(format!(
                "the workload {} has readers, which no section that is brought to `{name}` is",
                info.name
            ))),
        };
    }
    if is_baseline(name) && catalogue::find(name).is_none() {
        return match place {
            Place::There(_) => Ok(name.to_owned()),
            Place::Here(_) => Err(Problem::usage(format!(
                "`{name}` stands for another library's lock on simulated machines; name one with \
                 --on, or take `posix`"
            ))),
        };
    }
    let read = catalogue::read(name).map_err(|why| choice::wrong(name, &why))?;
    match read.lock {
        Lock::Best { .. } => {
            let found = match place {
                Place::Here(host) => best::here(name, host.topology())?,
                Place::There(simulator) => best::there(name, simulator.topology())?,
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
    place: &Place,
    wait: Option<Wait>,
) -> Result<String, Problem> {
    if let (Place::Here(_), Err(why)) = (place, name.told()) {
        return Err(Problem::usage(format!("the lock `{typed}`: {why}")));
    }
    match place {
        Place::Here(_) if name.assignment.is_some() => Err(Problem::usage(format!(
            "the lock `{typed}`: on this machine a file says which cohort each CPU is in; \
             see --cohorts"
        ))),
        _ if wait == Some(Wait::Park) && name.locks().is_some() => Err(Problem::usage(format!(
            "the lock `{typed}`: compositions by their parts do not sleep; take --wait busy, spin \
             or yield, or a cohort lock"
        ))),
        _ => Ok(name.to_string()),
    }
}

fn threads(arguments: &Arguments, place: &Place) -> Result<Vec<usize>, Problem> {
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
                "{count} threads are more than the {cpus} CPUs of {}; add --oversubscribe if that \
                 is what is to be measured",
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
