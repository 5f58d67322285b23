//! `cohort compare`: measures a program under several locks and the system's.

pub mod contestants;
pub mod show;

use crate::choice::{self, Choice, DEFAULT, LockName, SYSTEM};
use crate::destination;
use crate::page::{self, Origin};
use crate::problem::{Problem, status};
use crate::rwlocks::Rwlocks;
use crate::settings::{Settings, executables};
use crate::wait::Wait;
use clap::ValueHint;
use cohort::catalogue::LOCKS;
use cohort_lab::compare::Comparison;
use cohort_lab::metric::Metric;
use cohort_lab::progress::Progress;
use cohort_lab::world::names::rejoined;
use cohort_lab::{interrupt, options, rounds};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Options of `cohort compare`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = NOTES)]
pub struct Arguments {
    /// The locks to compare with the system's own, by the names that `cohort
    /// list` shows; `all` for all of them; or configuration files, whose names
    /// end in `.toml`
    #[arg(
        long,
        value_name = "A,B,…",
        value_delimiter = ',',
        value_parser = LockName,
        hide_possible_values = true,
        default_value = DEFAULT
    )]
    locks: Vec<String>,
    /// How often the program runs under each lock, after a warm-up round
    #[arg(long, value_name = "N", default_value_t = 7,
        value_parser = clap::value_parser!(u16).range(1..))]
    repeat: u16,
    /// What is compared: `wall` or `cpu` seconds, or the figure that the one
    /// group of a regular expression finds in the program's output
    #[arg(long, value_name = "wall|cpu|REGEX", default_value = "wall")]
    metric: String,
    /// Less is better for the figure that REGEX finds
    #[arg(long)]
    lower_is_better: bool,
    /// What serves rwlocks under each of the locks [default: as `run` chooses]
    #[arg(long, value_enum, value_name = "A,B,…", value_delimiter = ',')]
    rwlocks: Vec<Rwlocks>,
    /// Serve only this executable, by name or path, among all that the program
    /// starts; repeat for more
    #[arg(long, value_name = "EXE", value_delimiter = ':')]
    only: Vec<String>,
    /// Leave this executable alone, by name or path; repeat for more
    #[arg(long, value_name = "EXE", value_delimiter = ':')]
    exclude: Vec<String>,
    /// Run this by the shell before each run; it is not measured, and under the
    /// system's locks
    #[arg(long, value_name = "CMD")]
    prepare: Option<OsString>,
    /// How waiting threads wait
    #[arg(long, value_enum, default_value_t)]
    wait: Wait,
    /// End a run after so many seconds, as a failure [default: twenty times the
    /// first run under the system's locks, and 30 more]
    #[arg(long, value_name = "SECONDS", value_parser = options::seconds)]
    timeout: Option<f64>,
    /// Draw every round, the medians and their intervals
    #[arg(long, value_name = "FILE.svg", value_hint = ValueHint::FilePath)]
    plot: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Print the table as Markdown has it
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// Show on stderr what the program writes
    #[arg(long)]
    show_output: bool,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_names = ["PROGRAM", "ARGS"],
        value_hint = ValueHint::CommandWithArguments)]
    command: Vec<OsString>,
}

const NOTES: &str = "\
The program runs once under each lock in every round, in an order that rotates; standard input is \
empty. The first round only warms up, and proves that the locks really serve the program. A run \
during which others used more than a tenth of its CPUs' time is repeated, at most twice; if that \
does not help, the verdict says so. Gains are computed round by round, with an interval that holds \
the median with 95 % confidence from six rounds on.

A gain whose interval holds 1 reads \"no difference shown\". A program that fails under a lock is \
reported and never averaged. A server ends with its client if a script starts both, and --only \
serves the server alone: docs/compare.md has such a script. A narrow terminal has no room for the \
last columns; --json and --markdown have all.

Examples:
  cohort compare --prepare 'rm -f big.tar.bz2' -- pbzip2 -k big.tar
  cohort compare --only mariadbd --markdown -- ./start-everything.sh
  cohort compare --only memcached --metric 'TPS: ([0-9]+)' -- ./ask.sh
  cohort compare --rwlocks rwlock,c-rw-np -- kcpolytest wicked -th 8 : 400000
  cohort compare --locks futex,mcs --metric 'time: ([0-9.]+)' \\
      --lower-is-better -- kccachetest wicked -th 2 400000
  cohort compare --locks default,advised.toml \\
      -- kccachetest wicked -th 4 -capcnt 500000 400000

Exit status: 0 if the program ran under every lock; 1 if it failed under one of them; 2 for a \
mistake in the options; 125 if it fails under the system's own locks; 126 and 127 as for `cohort \
run`; 130 after Ctrl-C.";

/// Carries out `cohort compare`.
pub fn run(arguments: Arguments) -> Result<ExitCode, Problem> {
    let metric = Metric::parse(&arguments.metric, arguments.lower_is_better)
        .map_err(|why| Problem::usage(format!("--metric: {why}")))?;
    if let Some(file) = &arguments.plot {
        destination::plot(file)?;
    }
    let all = all(&arguments)?;
    let contestants = contestants::all(&arguments, &all)?;
    interrupt::arm()
        .map_err(|error| Problem::refused(format!("cannot watch for signals: {error}")))?;
    let rounds = usize::from(arguments.repeat);
    let mut progress = Progress::new(rounds::planned(&contestants, rounds), arguments.show_output);
    let played = rounds::play(&contestants, rounds, |run| metric.read(run), &mut progress);
    drop(progress);
    // The reader of the result may close the pipe, which ends this process: no
    // file may be left then.
    drop(contestants);
    let series = match played {
        Ok(series) => series,
        Err(signal) => return Ok(ExitCode::from(signal.status())),
    };
    if let Some(why) = &series[0].failure {
        return Err(Problem::refused(format!(
            "the program already fails under the system's own locks: {why}"
        )));
    }
    let comparison = Comparison::new(&metric, &series);
    if arguments.json {
        page::print_json(Origin::here(), &comparison)?;
    } else {
        page::print(&show::text(&comparison, &metric, arguments.markdown))?;
    }
    if let Some(file) = &arguments.plot {
        show::picture(&comparison, &arguments.command)
            .save(file)
            .map_err(Problem::refused)?;
    }
    Ok(if comparison.has_failures() {
        ExitCode::from(status::NEGATIVE)
    } else {
        ExitCode::SUCCESS
    })
}

/// The system's locks, and each of the others with each that serves rwlocks.
fn all(arguments: &Arguments) -> Result<Vec<Settings>, Problem> {
    let only = executables("--only", Some(arguments.only.clone()))?;
    let exclude = executables("--exclude", Some(arguments.exclude.clone()))?;
    let mut all: Vec<Settings> = Vec::new();
    let rwlocks = if arguments.rwlocks.is_empty() {
        vec![Rwlocks::for_machine(None)]
    } else {
        arguments.rwlocks.clone()
    };
    let is_file = |name: &&String| name.ends_with(".toml");
    let (files, names): (Vec<&String>, Vec<&String>) = arguments.locks.iter().partition(is_file);
    let names: Vec<String> = names.into_iter().cloned().collect();
    let locks = match locks(&names) {
        Err(_) if names.is_empty() && !files.is_empty() => vec![Choice::System],
        locks => locks?,
    };
    for lock in locks {
        for rwlocks in &rwlocks {
            let settings = Settings {
                rwlocks: *rwlocks,
                wait: arguments.wait,
                only: only.clone(),
                exclude: exclude.clone(),
                ..Settings::of(lock.clone())
            };
            if all.iter().all(|other| other.name() != settings.name()) {
                all.push(settings);
            }
        }
    }
    for file in files {
        let mut settings = Settings::of_file(Path::new(file), arguments.wait)?;
        if matches!(settings.lock, Choice::System) {
            return Err(Problem::usage(format!(
                "{file} names the system's locks, which are always measured"
            )));
        }
        settings.only.extend(only.iter().cloned());
        settings.exclude.extend(exclude.iter().cloned());
        if all.iter().any(|other| other.name() == settings.name()) {
            settings.file = Some(file.clone());
        }
        if all.iter().all(|other| other.name() != settings.name()) {
            all.push(settings);
        }
    }
    Ok(all)
}

/// The system's own locks first, then each named lock once.
fn locks(names: &[String]) -> Result<Vec<Choice>, Problem> {
    let mut locks = vec![Choice::System];
    for name in rejoined(names) {
        for lock in meant(name.trim())? {
            if locks.iter().all(|other| other.name() != lock.name()) {
                locks.push(lock);
            }
        }
    }
    if locks.len() == 1 {
        return Err(Problem::usage(format!(
            "--locks names only `{}`, which is always measured; name one of `cohort list`",
            SYSTEM[0]
        )));
    }
    Ok(locks)
}

/// The lock of that name, or all that programs run under.
fn meant(name: &str) -> Result<Vec<Choice>, Problem> {
    if name != choice::ALL {
        return Choice::for_programs(name).map(|lock| vec![lock]);
    }
    let all = LOCKS.iter().filter(|lock| lock.serves_programs());
    all.map(|lock| Choice::named(lock.name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(locks: &[&str]) -> Result<Vec<String>, Problem> {
        let locks: Vec<String> = locks.iter().map(|name| (*name).to_owned()).collect();
        super::locks(&locks).map(|locks| locks.iter().map(|lock| lock.name().to_owned()).collect())
    }

    #[test]
    fn the_system_comes_first_and_nobody_twice() {
        assert_eq!(
            names(&[DEFAULT, "posix", DEFAULT]).unwrap(),
            ["system", DEFAULT]
        );
    }

    #[test]
    fn all_are_those_that_programs_run_under() {
        let all = names(&["all", "mcs"]).unwrap();
        let serve = LOCKS.iter().filter(|lock| lock.serves_programs());
        assert_eq!(all.len(), 1 + serve.count());
    }

    #[test]
    fn there_must_be_something_to_compare() {
        assert!(names(&["system"]).is_err());
        assert!(names(&["", DEFAULT]).is_err());
    }
}
