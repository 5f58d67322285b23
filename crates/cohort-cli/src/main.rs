//! The `cohort` command: runs unchanged programs under chosen locks, and measures the effect.

mod advise;
mod bar;
mod bench;
mod beside;
mod best;
mod check;
mod choice;
mod cohorts;
mod compare;
mod config;
mod debug;
mod delegate;
mod demo;
mod destination;
mod discover;
mod doctor;
mod environment;
mod export;
mod folder;
mod install;
mod library;
mod list;
mod locks;
mod machines;
mod mutexes;
mod observe;
mod outside;
mod page;
mod problem;
mod profile;
mod program;
mod proof;
mod ps;
mod purpose;
mod realtime;
mod report;
mod reproduce;
mod run;
mod rwlocks;
mod settings;
mod signals;
mod start;
mod supervise;
mod survey;
mod sysfs;
mod toml_file;
mod top;
mod tune;
mod unit;
mod wait;
mod workload;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgMatches, Command, CommandFactory, FromArgMatches, Parser, Subcommand};
use problem::Problem;
use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;

/// Run unchanged programs under scalable locks
#[derive(Debug, Parser)]
#[command(
    name = "cohort",
    version,
    propagate_version = true,
    after_long_help = EXAMPLES
)]
struct Cohort {
    #[command(subcommand)]
    subcommand: Subcommands,
}

const EXAMPLES: &str = "\
Examples:
  cohort demo                                  show the gain on two programs
  cohort doctor                                check this machine
  cohort run -- memcached -t 8                 use the default lock
  cohort run --lock mcs --report -- prog args  use another lock, and count
  cohort compare --repeat 5 -- prog args       measure the speedup
  cohort check -- prog args                    look for lock contention

`cohort SUBCOMMAND --help` describes each subcommand.";

/// The subcommands in the help's order.
const GROUPS: [(&str, &[&str]); 3] = [
    ("Use", &["run", "compare", "list", "unit", "doctor", "demo"]),
    (
        "Diagnose",
        &[
            "check", "ps", "top", "locks", "profile", "advise", "debug", "export",
        ],
    ),
    (
        "Machines and research",
        &[
            "discover",
            "tune",
            "machines",
            "bench",
            "reproduce",
            "delegate",
            "bar",
            "survey",
        ],
    ),
];

/// The command line, with its subcommands in groups.
fn command() -> Command {
    let command = Cohort::command();
    let mut text = String::new();
    for (title, names) in GROUPS {
        text.push_str(&format!("{title}:\n"));
        for name in names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            text.push_str(&page::hanging(&format!("  {name:<10} "), &about));
        }
        text.push('\n');
    }
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{text}Options:\n{{options}}{{after-help}}"
    ))
}

#[derive(Debug, Subcommand)]
enum Subcommands {
    /// Run a program with its pthread locks replaced
    Run(run::Arguments),
    /// Detect deadlocks, lock misuse and inconsistent lock order
    Debug(debug::Arguments),
    /// Profile lock contention by lock and call site
    Profile(profile::Arguments),
    /// Monitor the locks of a running process: waiters, holders, lost time
    Top(top::Arguments),
    /// Export lock metrics of running processes to Prometheus
    Export(export::Arguments),
    /// Choose locks for individual hot mutexes from a profile
    Advise(advise::Arguments),
    /// Benchmark a program under several locks and the C library's
    Compare(compare::Arguments),
    /// Determine whether lock contention slows a program, and what helps
    Check(check::Arguments),
    /// List processes with lock contention, and those under Cohort
    Ps(ps::Arguments),
    /// List the locks with their capabilities, memory costs and papers
    List(list::Arguments),
    /// Show waiters and holders of a process's locks, or of a core dump's
    Locks(locks::Arguments),
    /// Show the simulated machines: topology, latencies, source of each figure
    Machines(machines::Arguments),
    /// Run lock benchmarks on this machine or a simulated one
    Bench(bench::Arguments),
    /// Measure the distance between CPUs, and derive a machine's hierarchy
    Discover(discover::Arguments),
    /// Find the best lock for a machine or a program
    Tune(tune::Arguments),
    /// Convert the critical sections of a C program for delegation
    Delegate(delegate::Arguments),
    /// Reproduce the papers' results on simulated machines
    Reproduce(reproduce::Arguments),
    /// Print a systemd drop-in that runs a service under Cohort
    Unit(unit::Arguments),
    /// Check this machine and container for what Cohort needs
    Doctor(doctor::Arguments),
    /// Show the gain on two bundled programs, in under a minute
    Demo(demo::Arguments),
    /// Measure this machine against Cohort's performance targets
    Bar(bar::Arguments),
    /// Run real programs under the C library's locks and Cohort's
    Survey(survey::Arguments),
    /// Run one bundled load once (used by other subcommands)
    #[command(hide = true)]
    Workload(workload::Arguments),
    /// Write man pages, completions or the preload library (used by `make install`)
    #[command(hide = true)]
    Generate(install::Arguments),
}

fn main() -> ExitCode {
    signals::settle();
    environment::forget_empty();
    environment::heed_monitor();
    let (cohort, matches) = match parse() {
        Ok(parsed) => parsed,
        Err(error) => return complain(&error),
    };
    carry_out(cohort.subcommand, &matches).unwrap_or_else(|problem| problem.report())
}

/// The parsed command line, with the subcommand's raw matches, which distinguish typed values from
/// the environment's.
fn parse() -> Result<(Cohort, ArgMatches), clap::Error> {
    let mut matches = command().term_width(page::help_width()).try_get_matches()?;
    let cohort = Cohort::from_arg_matches(&matches)?;
    let (_, subcommand) = matches.remove_subcommand().unwrap_or_default();
    Ok((cohort, subcommand))
}

fn carry_out(subcommand: Subcommands, matches: &ArgMatches) -> Result<ExitCode, Problem> {
    match subcommand {
        Subcommands::Run(arguments) => run::run(arguments, matches),
        Subcommands::Debug(arguments) => debug::run(arguments, matches),
        Subcommands::Profile(arguments) => profile::run(arguments, matches),
        Subcommands::Top(arguments) => top::run(&arguments),
        Subcommands::Export(arguments) => export::run(&arguments),
        Subcommands::Advise(arguments) => advise::run(&arguments),
        Subcommands::Locks(arguments) => locks::run(&arguments),
        Subcommands::Compare(arguments) => compare::run(arguments),
        Subcommands::Check(arguments) => check::run(&arguments),
        Subcommands::Ps(arguments) => ps::run(&arguments),
        Subcommands::List(arguments) => list::run(&arguments),
        Subcommands::Bench(arguments) => bench::run(&arguments),
        Subcommands::Discover(arguments) => discover::run(&arguments),
        Subcommands::Tune(arguments) => tune::run(&arguments),
        Subcommands::Delegate(arguments) => delegate::run(&arguments),
        Subcommands::Reproduce(arguments) => reproduce::run(&arguments),
        Subcommands::Machines(arguments) => machines::run(&arguments),
        Subcommands::Unit(arguments) => unit::run(arguments, matches),
        Subcommands::Doctor(arguments) => doctor::run(&arguments),
        Subcommands::Demo(arguments) => demo::run(arguments),
        Subcommands::Bar(arguments) => bar::run(arguments),
        Subcommands::Survey(arguments) => survey::run(arguments),
        Subcommands::Workload(arguments) => workload::run(arguments),
        Subcommands::Generate(arguments) => install::run(arguments, Cohort::command()),
    }
}

/// Prints help on stdout and errors on stderr, the latter in the command's own form: `cohort: …`.
fn complain(error: &clap::Error) -> ExitCode {
    if error.use_stderr() {
        let mut text = error.render().to_string();
        if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
            text.insert_str(0, "no subcommand given\n\n");
        }
        if let Some(variable) = source(error) {
            let note = format!("\nthe value comes from the environment variable {variable}\n");
            let at = text.find("\n\nFor more").unwrap_or(text.len());
            text.insert_str(at, note.trim_end());
        }
        problem::tell(text.strip_prefix("error: ").unwrap_or(&text).trim_end());
        ExitCode::from(problem::status::USAGE)
    } else {
        // On a terminal, help is styled.
        let printed = if std::io::stdout().is_terminal() {
            let printed = error.print().and_then(|()| std::io::stdout().flush());
            printed.map_err(|error| page::unwritable(&error))
        } else {
            page::print(&error.render().to_string())
        };
        match printed {
            Ok(()) => ExitCode::SUCCESS,
            Err(problem) => problem.report(),
        }
    }
}

/// The environment variable of a rejected value, if not typed.
fn source(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(argument)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let option = argument.split_whitespace().next()?;
    let is_it = |word: &OsString| {
        let word = word.to_string_lossy();
        word == option || word.starts_with(&format!("{option}="))
    };
    if std::env::args_os()
        .take_while(|word| word != "--")
        .any(|word| is_it(&word))
    {
        return None;
    }
    let command = Cohort::command();
    let arguments = command.get_subcommands().flat_map(Command::get_arguments);
    let variable = arguments
        .filter(|argument| argument.get_long() == option.strip_prefix("--"))
        .find_map(clap::Arg::get_env)?;
    std::env::var_os(variable)?;
    Some(variable.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_subcommand_stands_in_one_group() {
        let command = Cohort::command();
        let shown = command
            .get_subcommands()
            .filter(|subcommand| !subcommand.is_hide_set());
        let mut shown: Vec<&str> = shown.map(Command::get_name).collect();
        let groups = GROUPS.iter().flat_map(|(_, names)| names.iter().copied());
        let mut grouped: Vec<&str> = groups.collect();
        shown.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, shown);
    }
}
