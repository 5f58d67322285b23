//! `cohort run`: checks that a program can be served, then executes it.

use crate::choice::Choice;
use crate::destination;
use crate::environment::{self, Changes};
use crate::page::{self, Origin};
use crate::problem::{self, Problem};
use crate::program::{Program, runtime};
use crate::purpose::Purpose;
use crate::report::summary::Summary;
use crate::report::{self, ReportFile};
use crate::settings::{Options, Settings};
use crate::signals::{self, Mask};
use crate::start::{can_be_served, cannot_start, command};
use crate::supervise::{Ending, Usage};
use crate::wait::Wait;
use crate::{library, observe, realtime, supervise};
use clap::{ArgMatches, ValueHint};
use std::ffi::OsString;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

/// Options of `cohort run`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = NOTES)]
pub struct Arguments {
    #[command(flatten)]
    options: Options,
    /// Print acquisitions and contention on stderr at the end
    #[arg(long)]
    report: bool,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
    /// Write the report to this file instead of stderr; implies --report
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,
    /// Allow `cohort top`, `export` and `profile snapshot` to observe the program
    #[arg(long, conflicts_with_all = ["report", "json", "output"])]
    observe: bool,
    /// Run the program even if it cannot be served, or with unsafe spinning
    #[arg(long)]
    force: bool,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_names = ["PROGRAM", "ARGS"],
        value_hint = ValueHint::CommandWithArguments)]
    command: Vec<OsString>,
}

const NOTES: &str = "\
First the program's dynamic loader verifies that it will preload the library; if not, the command \
fails with the reason. Without --report, the command then executes the program in its own process. \
With --report it remains the parent, forwards signals and takes over the exit status; it reports \
background processes, but does not wait for them. Under the C library's locks, --report shows CPU \
time and context switches only.

--observe adds a few instructions to each lock operation and one unnamed open file, which takes \
memory during observation only.

Precedence: command line, then --config, then the environment, then /etc/cohort.toml.

Examples:
  cohort run -- memcached -t 8
  cohort run --lock mcs --report -- kccachetest wicked -th 2 400000
  cohort run --lock clof:ticket-clh-mcs@core,numa,system \\
      -- kccachetest wicked -th 8 400000
  cohort run --lock clof:ticket-clh-mcs/compiled \\
      -- kccachetest wicked -th 8 400000
  cohort run --lock c-bo-mcs --rwlock c-rw-np \\
      -- kcpolytest wicked -th 8 : 400000
  cohort run --only mariadbd -- ./start-everything.sh
  cohort run --observe -- memcached -t 8

A configuration file:
  lock = \"mcs\"
  rwlock = \"c-rw-np\"
  wait = \"park\"
  only = [\"mariadbd\"]
  report = true

  # A lock for an individual mutex, as written by `cohort advise`. It is named
  # by its variable, or by the call site that initialises or first locks it:
  # site = \"assoc.c:72\".
  [[mutex]]
  name = \"stats_lock\"
  lock = \"ticket\"

Exit status: the program's; 2 for invalid options or an invalid configuration file; 125 if the \
program cannot be served; 126 if it cannot be executed; 127 if it was not found.";

/// Executes `cohort run`; returns only if the program did not run in this process.
pub fn run(arguments: Arguments, matches: &ArgMatches) -> Result<ExitCode, Problem> {
    let mut settings = Settings::new(arguments.options, matches)?;
    if arguments.observe {
        settings = settings.for_observing();
        if settings.report {
            return Err(Problem::usage(
                "--observe excludes a report, and the configuration file has `report = true`; \
                 use one of them",
            ));
        }
        observe::can_be_observed(&settings, "run --observe")?;
    }
    let name = &arguments.command[0];
    let program = Program::find(name)?;
    settings.find_mutexes(&program)?;
    let output = arguments.output.as_deref();
    if let Some(file) = output {
        destination::writable(file)?;
    }
    let wants_report = arguments.report || arguments.json || settings.report || output.is_some();
    if let Choice::System = settings.lock {
        let changes = environment::without();
        if !wants_report {
            return become_it(&program, &arguments.command, &changes);
        }
        let started = Instant::now();
        let (ending, usage) = watch(&program, &arguments.command, &changes)?;
        let ran = started.elapsed();
        let text = if arguments.json {
            in_json(&Summary::baseline(name, ran, usage))
        } else {
            page::remarks(&report::baseline(name, ran, &usage))
        };
        show(&text, output);
        supervise::end_alike(ending)
    }
    if settings.wait == Wait::Spin
        && let Some(policy) = realtime::policy(&arguments.command)
    {
        unless(arguments.force, &spinning_at(policy))?;
    }
    let library = if arguments.observe {
        &library::OBSERVING
    } else {
        settings.served_from()
    };
    let library = library.locate()?;
    let doubt = can_be_served(&program, &library).err();
    if let Some(why) = &doubt {
        unless(arguments.force, why)?;
    } else if program
        .image
        .as_ref()
        .is_ok_and(|image| runtime::is_go(&image.path))
    {
        problem::tell(format!(
            "note: {} is a Go program: Cohort serves the locks of its C code only",
            name.display()
        ));
    }
    for said in environment::shared() {
        problem::tell(format!("note: {said}"));
    }
    if !wants_report {
        let changes = if arguments.observe {
            environment::observing(&settings, &library, Purpose::Watch, None)
        } else {
            environment::changes(&settings, &library, None)
        };
        return become_it(&program, &arguments.command, &changes);
    }
    let file = ReportFile::new()?;
    let changes = environment::changes(&settings, &library, Some(&file.path()));
    let started = Instant::now();
    let (ending, usage) = watch(&program, &arguments.command, &changes)?;
    let ran = started.elapsed();
    let text = file.read().map_or_else(
        |problem| format!("cohort: {problem}\n"),
        |report| {
            if arguments.json {
                let users = file.users();
                return in_json(&Summary::new(&report, &settings, name, ran, usage, users));
            }
            let mut text = report::text(&report, &settings, name, ran, doubt.as_deref());
            text.push_str(&report::used(&usage));
            text.push_str(&report::going_on(&file.users()));
            page::remarks(&text)
        },
    );
    show(&text, output);
    drop(file);
    supervise::end_alike(ending)
}

/// Runs the program to its end in place of this process. Returns how it ended, and the resources
/// used by it and by all its reaped children.
fn watch(
    program: &Program,
    words: &[OsString],
    changes: &Changes,
) -> Result<(Ending, Usage), Problem> {
    // The loader run for the check is a child too.
    let before = Usage::of_children();
    let ending = supervise::run(command(program, words, changes))
        .map_err(|error| cannot_start(&words[0], &error))?;
    Ok((ending, Usage::of_children().since(&before)))
}

/// The summary with its origin, or the reason for its absence.
fn in_json(summary: &Summary) -> String {
    page::json(Origin::here(), summary).unwrap_or_else(|problem| format!("cohort: {problem}\n"))
}

/// Writes the report to the file, or prints it on stderr. The command's exit status remains the
/// program's; a failure is reported on stderr.
fn show(text: &str, output: Option<&Path>) {
    let written = output.map(|file| destination::write(file, text.as_bytes()));
    match written {
        None => {
            let _ = std::io::stderr().write_all(text.as_bytes());
        }
        Some(Err(problem)) => problem::tell(problem),
        Some(Ok(())) => {}
    }
}

fn spinning_at(policy: &str) -> String {
    format!(
        "under {policy}, a spinning thread can keep the lock holder from running for milliseconds; \
         use --wait park"
    )
}

fn unless(forced: bool, why: &str) -> Result<(), Problem> {
    if forced {
        problem::tell(format!("warning: {why}"));
        return Ok(());
    }
    Err(Problem::refused(format!("{why}\n--force runs it anyway")))
}

fn become_it(
    program: &Program,
    words: &[OsString],
    changes: &Changes,
) -> Result<ExitCode, Problem> {
    let mut command = command(program, words, changes);
    signals::pass_on(&mut command, Mask::current());
    Err(cannot_start(&words[0], &command.exec()))
}
