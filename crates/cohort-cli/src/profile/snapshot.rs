//! `cohort profile snapshot`: the profile of a process that runs already, over a while.

use super::Wanted;
use super::gather::Gatherer;
use crate::observe::watching::Watching;
use crate::problem::{self, Problem};
use cohort_lab::interrupt;
use cohort_lab::progress::Seconds;
use std::cell::RefCell;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Options of `cohort profile snapshot`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = NOTES)]
pub struct Arguments {
    /// The number of a process that `cohort run --observe` has started, or of one of its children
    #[arg(value_name = "PID", value_parser = clap::value_parser!(u32).range(1..))]
    process: u32,
    /// For how long
    #[arg(long = "for", value_name = "SECONDS", default_value = "10", value_parser = length)]
    length: Duration,
    #[command(flatten)]
    wanted: Wanted,
}

const NOTES: &str = "\
As `cohort profile`, of one process and for a while that begins and ends as it runs: what it did \
before does not count, and what it held or waited for as the while began is not seen. The profile \
is printed on standard output. If the process ends, or after Ctrl-C, it is of the time until then.

Examples:
  cohort run --observe -- memcached -t 8 &
  cohort profile snapshot $!
  cohort profile snapshot --for 2 --html p.html -o p.json $!

Exit status: 0 if there is a profile; 2 for a mistake in the options or if there is no such \
process; 125 if it cannot be watched or a file not be written.";

/// A number of seconds from a tenth to a day.
fn length(text: &str) -> Result<Duration, String> {
    text.parse()
        .ok()
        .filter(|seconds| (0.1..=86_400.0).contains(seconds))
        .map(Duration::from_secs_f64)
        .ok_or_else(|| "write seconds from 0.1 to 86400, such as 5".to_owned())
}

/// Executes `cohort profile snapshot`.
///
/// # Errors
/// The process cannot be watched; a file cannot be written.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let wanted = &arguments.wanted;
    wanted.check()?;
    interrupt::arm()
        .map_err(|error| Problem::refused(format!("cannot watch for signals: {error}")))?;
    let watching = Watching::begin(arguments.process, 0)?;
    let (program, lock) = watching.program();
    let mut gatherer = Gatherer::of_running(watching, wanted.cost);
    let began = Instant::now();
    let what = format!("seconds of process {}", arguments.process);
    let progress = RefCell::new(Seconds::new(arguments.length, what));
    gatherer.watch(|| {
        progress.borrow_mut().pass(began.elapsed());
        began.elapsed() >= arguments.length || interrupt::check().is_err()
    });
    drop(progress);
    let has_ended = began.elapsed() < arguments.length && interrupt::check().is_ok();
    let profile = gatherer.finish(&program, lock.as_deref().unwrap_or("its lock"), 0.0);
    crate::page::print_as_it_is(&wanted.text(&profile)?)?;
    if has_ended {
        problem::tell(format!("note: process {} has ended", arguments.process));
    }
    wanted.write(&profile)?;
    Ok(ExitCode::SUCCESS)
}
