//! `cohort debug`: runs a program, and reports its locking errors.

mod find;
mod gdb;
mod suppress;

use crate::destination::{self, Report};
use crate::environment::Purpose;
use crate::observe;
use crate::page::{self, Origin};
use crate::problem::{Problem, status};
use crate::settings::{Options, Settings};
use crate::supervise;
use clap::{ArgMatches, ValueEnum, ValueHint};
use find::{Extent, Finder, Finding};
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
    /// How much is looked for; each level has those before it
    #[arg(long, value_enum, default_value_t = Scope::Stuck)]
    level: Scope,
    /// Tell of locks that are held for longer than so many seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    held: Option<Duration>,
    /// Leave a program that is stuck as it is, for a debugger
    #[arg(long)]
    keep: bool,
    /// End a program that is stuck by SIGABRT, so that it leaves a core
    #[arg(long, conflicts_with = "keep")]
    abort: bool,
    /// Do not tell what this TOML file says is known, as --suggest writes it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    suppress: Option<PathBuf>,
    /// Write a suppression of each thing that is found, to choose from
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    suggest: Option<PathBuf>,
    /// Write commands for GDB: breakpoints at the places of what is found
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    gdb: Option<PathBuf>,
    /// Tell in JSON, when the program has ended
    #[arg(long)]
    json: bool,
    /// Write what is found to a file instead of stderr, where the program writes too
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_names = ["PROGRAM", "ARGS"],
        value_hint = ValueHint::CommandWithArguments)]
    command: Vec<OsString>,
}

/// How much is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Threads that wait for each other, or for one that has ended, for ever: costs next to
    /// nothing
    Stuck,
    /// And locks that are used wrongly: unlocked by others or while free, locked twice,
    /// destroyed in use, used after that, never initialised, held by a thread that has ended
    Owner,
    /// And locks that are taken in different orders, a deadlock to come
    Order,
}

impl Scope {
    /// The level's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stuck => "stuck",
            Self::Owner => "owner",
            Self::Order => "order",
        }
    }
}

const NOTES: &str = "\
The program runs under the lock of your choice, as by `cohort run`, and what its threads hold and \
wait for is written down. Each thing that is found is told at once, on stderr, with the threads \
and where in the code they are: files and lines where there is debug information (-g, below \
/usr/lib/debug, or by `debuginfod-find` where DEBUGINFOD_URLS is set), else functions and offsets.

A program whose first thread waits for a deadlock, or whose first thread has ended and all others \
wait for it, can never end by itself: it is ended, unless --keep is given.

A file for --suppress, of which `kind` has to be there; `locks` and `functions` all have to be among \
those that take part:
  [[suppress]]
  kind = \"order\"
  locks = [\"accounts\", \"journal\"]
  functions = [\"transfer\"]
  because = \"both are taken under a lock of our own\"

Not seen: locks that the program builds itself, and those of programs that cannot be preloaded.

Examples:
  cohort debug -- sort --parallel 2 /etc/passwd
  cohort debug --level owner -- sort --parallel 2 /etc/passwd
  cohort debug --level order --lock mcs -- kccachetest wicked -th 2 400000
  cohort debug --held 0.5 --json -- memcached -t 8
  cohort debug --suggest known.toml --gdb breaks.gdb -- sort /etc/passwd

Exit status: 1 if something was found, else the program's own; 2 for a mistake in the options, 125 \
if the program cannot be served, 126 if it cannot be executed, 127 if it was not found.";

/// Parses a positive number of seconds.
fn seconds(text: &str) -> Result<Duration, String> {
    text.parse()
        .ok()
        .filter(|seconds: &f64| *seconds > 0.0)
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| "write a number of seconds, such as 0.5".to_owned())
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
            "{lost} records did not fit: something may have been missed"
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
        crate::problem::tell(format!("note: {place}: nothing was found that this covers"));
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
