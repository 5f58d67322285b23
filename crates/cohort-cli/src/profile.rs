//! `cohort profile`: runs a program, and reports the locks that cost it time.

pub mod counts;
pub mod figures;
mod flame;
mod gather;
pub mod gathered;
pub mod handed;
mod html;
pub mod merge;
pub mod pace;
mod pprof;
mod running;
mod snapshot;
pub mod text;

use crate::destination;
use crate::observe;
use crate::observe::stacks::Frame;
use crate::page::{self, Origin};
use crate::problem::Problem;
use crate::purpose::Purpose;
use crate::settings::{Options, Settings};
use crate::supervise::{self, Usage};
use clap::{ArgMatches, ValueHint};
use figures::{Range, Spread};
use gather::Gatherer;
use handed::Shares;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::Ordering::Acquire;
use std::time::Duration;

/// The version of a profile's file.
pub const VERSION: u32 = 1;

/// Options of `cohort profile`.
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = NOTES,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    disable_help_subcommand = true
)]
pub struct Arguments {
    #[command(subcommand)]
    what: Option<What>,
    #[command(flatten)]
    options: Options,
    #[command(flatten)]
    wanted: Wanted,
    /// Profile this running process, under Cohort or not, for --seconds
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(u32).range(1..),
        conflicts_with = "command")]
    pid: Option<u32>,
    /// With --pid: profile the process's descendants too, from outside
    #[arg(long, conflicts_with = "command")]
    tree: bool,
    /// With --pid: profile for this time
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = snapshot::length,
        conflicts_with = "command")]
    seconds: Duration,
    /// The program and its arguments
    #[arg(required_unless_present = "pid", trailing_var_arg = true, value_names = ["PROGRAM", "ARGS"],
        value_hint = ValueHint::CommandWithArguments)]
    command: Vec<OsString>,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Profile a process started by `cohort run --observe` for some time
    Snapshot(snapshot::Arguments),
}

/// What is to become of a profile, and what it may cost.
#[derive(Debug, clap::Args)]
pub struct Wanted {
    /// Write the complete profile as JSON
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,
    /// Write an HTML page with a flame graph of wait times
    #[arg(long, value_name = "FILE.html", value_hint = ValueHint::FilePath)]
    html: Option<PathBuf>,
    /// Write the profile for `pprof`
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pprof: Option<PathBuf>,
    /// Print the complete profile as JSON on stderr instead of text
    #[arg(long)]
    json: bool,
    /// Limit the profiling overhead to this percentage of the program's CPU time, by sampling
    /// fewer acquisitions
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0, value_parser = percent)]
    cost: f64,
}

const NOTES: &str = "\
The program runs as under `cohort run`. Every acquisition is counted, a random sample is timed, and \
waiters and holders are recorded about 1,000 times a second. At the end, stderr shows the locks by \
lost time: thread-seconds of waiting, by the call sites of the waiters and of the holders.

A lock is named by its variable, else by the call site of its initialisation, else by its most \
frequent acquiring call site. Files and lines need debug information (-g, /usr/lib/debug, or \
`debuginfod-find` if DEBUGINFOD_URLS is set).

With --pid, a process under `cohort run --observe` is profiled as by `snapshot`. Any other process is \
sampled from outside, up to 125 times a second, for 0.5 % of one CPU: lost time, holders and call sites, \
without counts and hold times.

Not profiled: custom locks, and locks of programs that cannot be preloaded, except with --pid.

Examples:
  cohort profile -- kccachetest wicked -th 4 -capcnt 500000 400000
  cohort profile --html p.html -o p.json --lock mcs \\
      -- kccachetest wicked -th 4 400000
  cohort profile --cost 2 --pprof p.pb -- memcached -t 8
  cohort profile --pid $(pgrep -n memcached) --seconds 5
  cohort profile snapshot --help

Exit status: the program's; 2 for invalid options; 125 if the program cannot be served or a file \
cannot be written; 126 if it cannot be executed; 127 if it was not found.";

/// Parses a cost limit in per cent.
pub fn percent(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|percent| (0.1..=100.0).contains(percent))
        .ok_or_else(|| "expected a percentage from 0.1 to 100, such as 5".to_owned())
}

/// Profile of a program's locks.
#[derive(Debug, Serialize, Deserialize)]
pub struct Profile {
    /// [`VERSION`].
    pub cohort_profile: u32,
    /// The program's name.
    pub program: String,
    /// The lock of its run.
    pub lock: String,
    /// Its duration in seconds.
    pub seconds: f64,
    /// The number of its processes with lock operations.
    pub processes: usize,
    /// The largest number of recorded threads in one of them.
    pub threads: usize,
    /// Involuntary context switches of its threads; unknown for a part of a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preempted: Option<i64>,
    /// The cost of profiling.
    pub cost: Cost,
    /// Data that did not fit.
    pub left_out: LeftOut,
    /// The locks, in descending order of lost time.
    pub locks: Vec<Lock>,
    /// The conditions, in descending order of waits.
    pub conditions: Vec<Condition>,
    /// Stacks of waiting threads, each with the lock's index in `locks` and thread-seconds.
    #[serde(skip)]
    stacks: Vec<(usize, Vec<Frame>, f64)>,
}

/// Cost of profiling.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Cost {
    /// The total, in per cent of the program's CPU time, or of one CPU's if that is more.
    pub percent: f64,
    /// The limit.
    pub limit: f64,
    /// The command's own CPU time, in per cent of the program's.
    pub looking: f64,
    /// The part for counting acquisitions, which does not depend on the sampling rate.
    #[serde(default)]
    pub counting: f64,
    /// Additional nanoseconds of an acquisition and its release, when counted.
    pub each: f64,
    /// The number of acquisitions of that measurement.
    #[serde(default)]
    pub measured: u64,
    /// Acquisitions.
    pub acquired: u64,
    /// The number of sampled acquisitions.
    pub sampled: u64,
    /// The number of looks at threads.
    pub looks: u64,
}

/// Data that did not fit into the records.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct LeftOut {
    /// Threads.
    pub threads: u64,
    /// Acquisitions not counted by their locks.
    pub acquisitions: u64,
    /// Dropped samples.
    pub samples: u64,
}

/// Locks of one name.
#[derive(Debug, Serialize, Deserialize)]
pub struct Lock {
    /// `mutex` or `rwlock`.
    pub kind: String,
    /// The name.
    pub name: String,
    /// The name's origin.
    pub named_by: NamedBy,
    /// The number of locks with that name.
    pub objects: usize,
    /// The share of the lost time at a single lock.
    pub busiest: f64,
    /// Acquisitions.
    pub acquired: u64,
    /// Contended acquisitions.
    pub contended: u64,
    /// Thread-seconds of waiting.
    pub lost: Range,
    /// Waiting threads, on average while there were any, and at most.
    pub queue: Queue,
    /// Nanoseconds of waiting, over all acquisitions; none without samples.
    pub wait: Option<Spread>,
    /// Nanoseconds of holds.
    pub hold: Option<Spread>,
    /// Destinations of hand-overs; none without samples.
    #[serde(default)]
    pub handed: Option<Shares>,
    /// The average number of other locks held.
    pub nested: f64,
    /// Its acquisition sites.
    pub sites: Vec<Site>,
}

/// Origin of a lock's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NamedBy {
    /// The lock's variable.
    Symbol,
    /// The initialisation site.
    Initialised,
    /// The most frequent acquisition site.
    Taken,
}

/// Threads that wait for a lock.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Queue {
    /// The average, while there were any.
    pub mean: f64,
    /// The largest number seen.
    pub greatest: u32,
}

/// Site that acquires a lock.
#[derive(Debug, Serialize, Deserialize)]
pub struct Site {
    /// The site and its callers, as far as they are always the same.
    pub frames: Vec<Frame>,
    /// `lock`, `read` or `write`.
    pub how: String,
    /// Acquisitions.
    pub acquired: u64,
    /// Contended acquisitions.
    pub contended: u64,
    /// Thread-seconds of waiting here.
    pub lost: f64,
    /// Thread-seconds of others' waits for locks held from here.
    pub blamed: f64,
    /// Nanoseconds of waiting.
    pub wait: Option<Spread>,
    /// Nanoseconds of holds.
    pub hold: Option<Spread>,
}

/// Conditions of one name.
#[derive(Debug, Serialize, Deserialize)]
pub struct Condition {
    /// The name.
    pub name: String,
    /// The name's origin.
    pub named_by: NamedBy,
    /// The number of conditions with that name.
    pub objects: usize,
    /// Waits.
    pub waits: u64,
    /// Nanoseconds of waiting.
    pub wait: Option<Spread>,
}

/// Executes `cohort profile`.
///
/// # Errors
/// The program cannot be observed, or not be started; a file cannot be written.
pub fn run(arguments: Arguments, matches: &ArgMatches) -> Result<ExitCode, Problem> {
    if let Some(What::Snapshot(arguments)) = arguments.what {
        return snapshot::run(&arguments);
    }
    if let Some(id) = arguments.pid {
        return running::run(id, arguments.tree, arguments.seconds, &arguments.wanted);
    }
    let settings = Settings::new(arguments.options, matches)?.for_observing();
    let wanted = arguments.wanted;
    wanted.check()?;
    let before = Usage::of_children();
    let (ending, gatherer) = observe::run(
        &settings,
        &arguments.command,
        Purpose::Profile,
        |records, is_over| {
            let mut gatherer = Gatherer::new(records, wanted.cost);
            gatherer.watch(|| is_over.load(Acquire));
            gatherer
        },
    )?;
    let used = Usage::of_children().since(&before);
    let program = arguments.command[0].to_string_lossy();
    let mut profile = gatherer.finish(&program, &settings.name(), used.cpu);
    profile.preempted = Some(used.preempted);
    // A closed output must not change the exit status.
    let _ = std::io::stderr().write_all(wanted.text(&profile)?.as_bytes());
    wanted.write(&profile)?;
    supervise::end_alike(ending)
}

impl Wanted {
    /// Checks that its files can be written.
    fn check(&self) -> Result<(), Problem> {
        [&self.output, &self.html, &self.pprof]
            .into_iter()
            .flatten()
            .try_for_each(|file| destination::writable(file))
    }

    /// The text to print.
    fn text(&self, profile: &Profile) -> Result<String, Problem> {
        if self.json {
            page::json(Origin::here(), profile)
        } else {
            Ok(text::of(profile))
        }
    }

    /// Writes its files.
    fn write(&self, profile: &Profile) -> Result<(), Problem> {
        if let Some(file) = &self.output {
            destination::write(file, page::json(Origin::here(), profile)?.as_bytes())?;
        }
        if let Some(file) = &self.html {
            destination::write(file, html::page(profile)?.as_bytes())?;
        }
        if let Some(file) = &self.pprof {
            destination::write(file, &pprof::file(profile))?;
        }
        Ok(())
    }
}
