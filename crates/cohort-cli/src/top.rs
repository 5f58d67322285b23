//! `cohort top`: repeatedly shows the lock operations of a running program.

pub mod frame;
mod screen;
pub mod text;

use crate::observe::watching::{Watching, is_under_cohort};
use crate::outside;
use crate::outside::tree::Tree;
use crate::page::{self, Origin};
use crate::problem::{self, Problem};
use clap::ValueEnum;
use cohort::records::NO_SAMPLES;
use cohort_measure::interrupt::{self, Interrupted};
use cohort_measure::progress::Seconds;
use frame::{Looker, Looks, Row, Seen};
use serde::Serialize;
use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;

/// Locks shown in a single table.
const LISTED: usize = 30;

/// Options of `cohort top`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = NOTES)]
pub struct Arguments {
    /// Observe this process
    #[arg(value_name = "PID", value_parser = clap::value_parser!(u32).range(1..))]
    process: u32,
    /// Observe its descendants too, from outside
    #[arg(long)]
    tree: bool,
    /// Print one table after one interval
    #[arg(long)]
    once: bool,
    /// Print JSON, one line for each interval; with --once, one document
    #[arg(long)]
    json: bool,
    /// Refresh at this interval
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = interval)]
    interval: Duration,
    /// Sort the locks by this column
    #[arg(long, value_enum, default_value_t = Sort::Lost)]
    sort: Sort,
    /// Show locks with this text in their names
    #[arg(
        long,
        value_name = "LETTERS",
        default_value = "",
        hide_default_value = true
    )]
    filter: String,
}

/// By what locks are sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Sort {
    /// Thread-seconds of waiting per second
    Lost,
    /// Waiting threads
    Waiting,
    /// Acquisitions per second
    Taken,
    /// Share of contended acquisitions
    Contended,
    /// Mode changes
    Changes,
    /// Name
    Name,
}

const NOTES: &str = "\
Waiters and holders are sampled up to 250 times a second; without Cohort, up to 125 times, at 0.5 % of \
one CPU. They then come from the kernel and the C library's mutexes: acquisitions are not counted, and \
locks of language runtimes and libraries are identified by the waiting functions.

In a program started by `cohort run --observe`, acquisitions are counted too. A lock acquired before \
the observation has no holder until its next acquisition, and earlier waits are not shown. A process \
has one observer at a time; after a killed observer, the next can attach within seconds.

  lost/s     thread-seconds of waiting per second: mean number of waiters
  waiting    currently waiting threads
  contended  share of contended acquisitions
  mode       mode of an adaptive lock at its last wait; × number of changes
  holder     current holder: thread ID and name

Keys: l, w, t, c, m, n sort by lost, waiting, taken, contended, mode changes, name; / filters; arrows \
select a lock, and Enter shows the stacks of its waiters and holders; Space pauses; q or Ctrl-C \
exits. Without a terminal, the command prints one table.

Examples:
  cohort top --once $(pgrep -n memcached)
  cohort run --observe -- memcached -t 8 &
  cohort top $!
  cohort top --once --interval 2 --sort waiting $!
  cohort top --json --once --filter stats $!

Exit status: 0 after the observation; 2 for invalid options or a missing process; 125 if the process \
cannot be observed; 130 after Ctrl-C, except in the display.";

/// Parses a number of seconds from a twentieth to an hour.
pub fn interval(text: &str) -> Result<Duration, String> {
    text.parse()
        .ok()
        .filter(|seconds| (0.05..=3600.0).contains(seconds))
        .map(Duration::from_secs_f64)
        .ok_or_else(|| "expected seconds from 0.05 to 3600, such as 2".to_owned())
}

/// Output of `--json`.
#[derive(Serialize)]
pub struct Sheet<'a> {
    process: u32,
    program: &'a str,
    lock: &'a Option<String>,
    #[serde(flatten)]
    seen: &'a Seen,
    locks: &'a [&'a Row],
}

/// An observer of a process, under Cohort or not.
///
/// # Errors
/// The process cannot be observed.
pub fn looker(process: u32) -> Result<Box<dyn Looks>, Problem> {
    match Watching::begin(process, NO_SAMPLES) {
        Ok(watching) => Ok(Box::new(Looker::new(watching))),
        Err(problem) if is_under_cohort(process) => Err(problem),
        Err(_) => Ok(Box::new(outside::looker::Looker::new(
            outside::Process::open(process)?,
        ))),
    }
}

/// Executes `cohort top`.
///
/// # Errors
/// The process cannot be observed.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    interrupt::arm()
        .map_err(|error| Problem::refused(format!("cannot handle signals: {error}")))?;
    let mut looker = if arguments.tree {
        Box::new(Tree::open(arguments.process)?)
    } else {
        looker(arguments.process)?
    };
    let looker = &mut *looker;
    if !arguments.once && !arguments.json && std::io::stdout().is_terminal() {
        return screen::run(looker, arguments);
    }
    let program = looker.program();
    if arguments.json && !arguments.once {
        return stream(looker, &program, arguments);
    }
    if let Err(signal) = look_for(looker, arguments.interval)? {
        return Ok(ExitCode::from(signal.status()));
    }
    let seen = looker.finish();
    let rows = text::rows(&seen, arguments.sort, &arguments.filter);
    if arguments.json {
        page::print_json(Origin::here(), &sheet(looker, &program, &seen, &rows))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = text::head(looker.process(), &program, &seen);
    text.push_str("\n\n");
    text.push_str(&text::table_or_none(&rows, LISTED));
    page::print(&text)?;
    if seen.has_ended {
        problem::tell(format!("note: process {} has ended", looker.process()));
    }
    Ok(ExitCode::SUCCESS)
}

/// What `--json` prints of an interval.
pub fn sheet<'a>(
    looker: &dyn Looks,
    program: &'a (String, Option<String>),
    seen: &'a Seen,
    locks: &'a [&'a Row],
) -> Sheet<'a> {
    Sheet {
        process: looker.process(),
        program: &program.0,
        lock: &program.1,
        seen,
        locks,
    }
}

/// Prints a line of JSON after each interval, until the process ends or a signal arrives.
fn stream(
    looker: &mut dyn Looks,
    program: &(String, Option<String>),
    arguments: &Arguments,
) -> Result<ExitCode, Problem> {
    loop {
        if let Err(signal) = look_for(looker, arguments.interval)? {
            return Ok(ExitCode::from(signal.status()));
        }
        let seen = looker.finish();
        let rows = text::rows(&seen, arguments.sort, &arguments.filter);
        let sheet = sheet(looker, program, &seen, &rows);
        page::print_as_it_is(&page::json_line(Origin::here(), &sheet)?)?;
        if looker.is_over() {
            return Ok(ExitCode::SUCCESS);
        }
    }
}

/// Observes for that long, or until the process has ended or a signal has arrived.
pub fn look_for(
    looker: &mut dyn Looks,
    interval: Duration,
) -> Result<Result<(), Interrupted>, Problem> {
    let mut progress = Seconds::new(interval, format!("seconds of process {}", looker.process()));
    while looker.elapsed() < interval && !looker.is_over() {
        progress.pass(looker.elapsed());
        if let Err(signal) = interrupt::check() {
            return Ok(Err(signal));
        }
        let left = interval.saturating_sub(looker.elapsed());
        let pause = looker.look()?;
        std::thread::sleep(pause.min(left));
    }
    Ok(Ok(()))
}
