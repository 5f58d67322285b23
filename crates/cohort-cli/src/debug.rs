//! `cohort debug`: runs a program, and reports its locking errors.

mod find;
mod finding;
mod gdb;
mod suppress;

use crate::destination::{self, Report};
use crate::observe;
use crate::page::{self, Origin};
use crate::problem::{Problem, status};
use crate::purpose::{Purpose, Scope};
use crate::settings::{Options, Settings};
use crate::supervise;
use clap::{ArgMatches, ValueHint};
use find::{Extent, Finder};
use finding::Finding;
use serde::Serialize;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use suppress::Suppressions;

/// Options of `cohort debug`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = NOTES)]
pub struct Arguments {
    #[command(flatten)]
    options: Options,
    /// Select the checks; each level includes the previous ones
    #[arg(long, value_enum, default_value_t = Scope::Stuck)]
    level: Scope,
    /// Report locks held for longer than this time
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    held: Option<Duration>,
    /// Keep a deadlocked program running, for a debugger
    #[arg(long)]
    keep: bool,
    /// Kill a deadlocked program with SIGABRT, for a core dump
    #[arg(long, conflicts_with = "keep")]
    abort: bool,
    /// Suppress the findings in this TOML file, written by --suggest
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    suppress: Option<PathBuf>,
    /// Write a suppression for each finding to this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    suggest: Option<PathBuf>,
    /// Write GDB commands to this file: breakpoints at the findings
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    gdb: Option<PathBuf>,
    /// Print JSON when the program has ended
    #[arg(long)]
    json: bool,
    /// Write the findings to this file instead of stderr
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_names = ["PROGRAM", "ARGS"],
        value_hint = ValueHint::CommandWithArguments)]
    command: Vec<OsString>,
}

const NOTES: &str = "\
The program runs as under `cohort run`; its waits and holders are recorded. Each finding appears \
immediately on stderr, with threads and stacks: files and lines with debug information (-g, \
/usr/lib/debug, or `debuginfod-find` if DEBUGINFOD_URLS is set), else functions and offsets.

A program is killed, unless --keep is given, if its main thread is blocked on a deadlock, or has \
ended and all other threads are blocked.

Format of a suppression file: `kind` is required; every entry of `locks` and `functions` must match:
  [[suppress]]
  kind = \"order\"
  locks = [\"accounts\", \"journal\"]
  functions = [\"transfer\"]
  because = \"both are taken under a lock of our own\"

Not detected: custom locks, and locks of programs that cannot be preloaded.

Examples:
  cohort debug -- sort --parallel 2 /etc/passwd
  cohort debug --level owner -- sort --parallel 2 /etc/passwd
  cohort debug --level order --lock mcs -- kccachetest wicked -th 2 400000
  cohort debug --held 0.5 --json -- memcached -t 8
  cohort debug --suggest known.toml --gdb breaks.gdb -- sort /etc/passwd

Exit status: 1 with findings, else the program's status; 2 for invalid options; 125 if the program \
cannot be served; 126 if it cannot be executed; 127 if it was not found.";

/// Parses a positive number of seconds.
fn seconds(text: &str) -> Result<Duration, String> {
    text.parse()
        .ok()
        .filter(|seconds: &f64| *seconds > 0.0)
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| "expected a number of seconds, such as 0.5".to_owned())
}

/// Findings for a program.
#[derive(Serialize)]
struct Found<'a> {
    program: String,
    level: Scope,
    findings: &'a [Finding],
    /// The extent of the observation.
    #[serde(flatten)]
    extent: Extent,
    /// Records of threads and edges that did not fit.
    lost: u64,
    /// Whether the program's memory could not be read, where the level `stuck` looks for holders.
    is_blind: bool,
}

/// Executes `cohort debug`.
///
/// # Errors
/// The program cannot be observed, or not be started.
pub fn run(arguments: Arguments, matches: &ArgMatches) -> Result<ExitCode, Problem> {
    let settings = Settings::new(arguments.options, matches)?.for_observing();
    let name = &arguments.command[0];
    let suppressions = match &arguments.suppress {
        Some(file) => Suppressions::read(file)?,
        None => Suppressions::default(),
    };
    for file in [&arguments.suggest, &arguments.gdb, &arguments.output]
        .into_iter()
        .flatten()
    {
        destination::writable(file)?;
    }
    let to = Report::new(arguments.output.as_deref().filter(|_| !arguments.json))?;
    let ends_stuck = (!arguments.keep).then_some(if arguments.abort {
        libc::SIGABRT
    } else {
        libc::SIGKILL
    });
    let (level, held, json) = (arguments.level, arguments.held, arguments.json);
    // The hold time is known only where each acquisition is recorded.
    let written = match held {
        Some(_) => level.max(Scope::Owner),
        None => level,
    };
    let (ending, finder) = observe::run(
        &settings,
        &arguments.command,
        Purpose::Debug(written),
        |records, is_over| {
            let mut finder = Finder::new(records, level, held, json);
            finder.reads_holders = written == Scope::Stuck;
            finder.to = to;
            finder.ends_stuck = ends_stuck;
            finder.suppressions = suppressions;
            finder.watch(is_over);
            finder
        },
    )?;
    let lost = finder.lost();
    if arguments.json {
        let found = Found {
            program: name.display().to_string(),
            level: arguments.level,
            findings: finder.found(),
            extent: finder.extent(),
            lost,
            is_blind: finder.is_blind,
        };
        let text = page::json(Origin::here(), &found)?;
        match &arguments.output {
            Some(file) => destination::write(file, text.as_bytes())?,
            None => finder.to.say(&text),
        }
    } else if lost > 0 {
        finder.to.tell(&format!(
            "{lost} records were lost: findings may be missing"
        ));
    }
    for (file, text) in [
        (&arguments.suggest, suppress::suggested(finder.found())),
        (&arguments.gdb, gdb::commands(finder.found())),
    ] {
        if let Some(file) = file {
            destination::write(file, text.as_bytes())?;
        }
    }
    for place in finder.suppressions.unused() {
        crate::problem::tell(format!(
            "note: {place}: this suppression matches no finding"
        ));
    }
    if finder.found().is_empty() {
        if !arguments.json {
            finder.to.tell(&finder.nothing());
        }
        drop(finder);
        supervise::end_alike(ending)
    }
    Ok(ExitCode::from(status::NEGATIVE))
}
