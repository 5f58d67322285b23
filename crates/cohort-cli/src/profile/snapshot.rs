//! `cohort profile snapshot`: the profile of a process that runs already, over a while.

use super::Wanted;
use super::gather::Gatherer;
use crate::observe::watching::Watching;
use crate::problem::{self, Problem};
use cohort_measure::interrupt;
use cohort_measure::progress::Seconds;
use std::cell::RefCell;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Options of `cohort profile snapshot`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = NOTES)]
pub struct Arguments {
    /// Profile this process, started by `cohort run --observe`, or a child of one
    #[arg(value_name = "PID", value_parser = clap::value_parser!(u32).range(1..))]
    process: u32,
    /// Profile for this time
    #[arg(long = "for", value_name = "SECONDS", default_value = "10", value_parser = length)]
    length: Duration,
    #[command(flatten)]
    wanted: Wanted,
}

const NOTES: &str = "\
Like `cohort profile`, for a part of the run of one process. Acquisitions and waits that began \
earlier are not included. The profile goes to standard output. It ends early with the process or \
Ctrl-C.

Examples:
  cohort run --observe -- memcached -t 8 &
  cohort profile snapshot $!
  cohort profile snapshot --for 2 --html p.html -o p.json $!

Exit status: 0 with a profile; 2 for invalid options or a missing process; 125 if the process cannot \
be observed or a file cannot be written.";

/// A number of seconds from a tenth to a day.
pub fn length(text: &str) -> Result<Duration, String> {
    text.parse()
        .ok()
        .filter(|seconds| (0.1..=86_400.0).contains(seconds))
        .map(Duration::from_secs_f64)
        .ok_or_else(|| "expected seconds from 0.1 to 86400, such as 5".to_owned())
}

/// Executes `cohort profile snapshot`.
///
/// # Errors
/// The process cannot be watched; a file cannot be written.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    of(arguments.process, arguments.length, &arguments.wanted)
}

/// Profiles an observed process for some time.
///
/// # Errors
/// As for [`run`].
pub fn of(process: u32, length: Duration, wanted: &Wanted) -> Result<ExitCode, Problem> {
    wanted.check()?;
    interrupt::arm()
        .map_err(|error| Problem::refused(format!("cannot handle signals: {error}")))?;
    let watching = Watching::begin(process, 0)?;
    let (program, lock) = watching.program();
    let mut gatherer = Gatherer::of_running(watching, wanted.cost);
    let began = Instant::now();
    let what = format!("seconds of process {process}");
    let progress = RefCell::new(Seconds::new(length, what));
    gatherer.watch(|| {
        progress.borrow_mut().pass(began.elapsed());
        began.elapsed() >= length || interrupt::check().is_err()
    });
    drop(progress);
    let has_ended = began.elapsed() < length && interrupt::check().is_ok();
    let profile = gatherer.finish(&program, lock.as_deref().unwrap_or("its lock"), 0.0);
    crate::page::print_as_it_is(&wanted.text(&profile)?)?;
    if has_ended {
        problem::tell(format!("note: process {process} has ended"));
    }
    wanted.write(&profile)?;
    Ok(ExitCode::SUCCESS)
}
