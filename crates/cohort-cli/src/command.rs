//! The command line: subcommands in groups, and those of the [`companion`] commands.

use crate::companion::{self, Companion};
use crate::parsing;
use crate::problem::Problem;
use crate::{
    advise, check, compare, debug, demo, doctor, environment, export, install, list, locks, page,
    profile, ps, record, run, signals, top, tune, unit, workload,
};
use clap::{ArgMatches, Command, CommandFactory, Parser, Subcommand};
use std::ffi::OsString;
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
            "check", "ps", "top", "locks", "profile", "record", "advise", "debug", "export",
        ],
    ),
    (
        "Machines and research",
        &[
            "discover",
            "tune",
            "machines",
            "bench",
            "replay",
            "reproduce",
            "delegate",
            "bar",
            "survey",
            "study",
            "report",
        ],
    ),
];

/// The whole command line; a companion's subcommand has no options here.
fn ungrouped() -> Command {
    let mut command = Cohort::command();
    for (name, about) in companion::ALL.iter().flat_map(|one| one.subcommands) {
        command = command.subcommand(Command::new(*name).about(*about));
    }
    command
}

/// The whole command line, in groups.
#[must_use]
pub fn definition() -> Command {
    let command = ungrouped();
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
    /// Record a program's lock operations, for `cohort replay`
    Record(record::Arguments),
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
    /// Find the best lock for a machine or a program
    Tune(tune::Arguments),
    /// Print a systemd drop-in that runs a service under Cohort
    Unit(unit::Arguments),
    /// Check this machine and container for what Cohort needs
    Doctor(doctor::Arguments),
    /// Show the gain on two bundled programs, in under a minute
    Demo(demo::Arguments),
    /// Run one bundled load once (used by other subcommands)
    #[command(hide = true)]
    Workload(workload::Arguments),
    /// Write the preload libraries (used by `make install`)
    #[command(hide = true)]
    Generate(install::Arguments),
}

/// Executes the command line of this process.
#[must_use]
pub fn main() -> ExitCode {
    signals::settle();
    environment::forget_empty();
    environment::heed_monitor();
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    if let Some((companion, words)) = handed(&words) {
        return companion.hand_over(&words).report();
    }
    let has_subcommand = words.first().is_some_and(|first| {
        let mut names = GROUPS.iter().flat_map(|(_, names)| names.iter());
        names.any(|name| first == name)
    });
    // Only the help without a subcommand shows the groups.
    let definition = if has_subcommand {
        ungrouped()
    } else {
        definition()
    };
    parsing::parsed::<Cohort>(&definition, std::env::args_os(), carry_out)
}

/// The command that executes these words, in its form of them; none if this command does.
fn handed(words: &[OsString]) -> Option<(&'static Companion, Vec<OsString>)> {
    let first = words.first()?;
    let (subcommand, rest) = match words.get(1) {
        Some(name) if first == "help" => {
            let below = words[2..].iter().cloned();
            (name, below.chain([OsString::from("--help")]).collect())
        }
        _ => (first, words[1..].to_vec()),
    };
    let whole = || {
        let whole = [subcommand.clone()].into_iter().chain(rest.iter().cloned());
        whole.collect::<Vec<_>>()
    };
    if let Some(companion) = Companion::of(subcommand) {
        return Some((companion, whole()));
    }
    // The laboratory has more of these two.
    let is_own = match subcommand.to_str() {
        Some("tune") => {
            let is_of_program = |word: &OsString| {
                let word = word.to_string_lossy();
                word == "--" || word == "--server" || word.starts_with("--server=")
            };
            rest.iter().any(is_of_program) && parsing::accepts::<Cohort>(&definition(), &whole())
        }
        Some("workload") => rest.first().is_some_and(|load| workload::is_own(load)),
        _ => true,
    };
    let asks_help = rest.iter().any(|word| word == "--help" || word == "-h");
    let is_theirs = !is_own && (companion::LAB.is_here() || !asks_help);
    is_theirs.then(|| (&companion::LAB, whole()))
}

fn carry_out(cohort: Cohort, matches: &ArgMatches) -> Result<ExitCode, Problem> {
    match cohort.subcommand {
        Subcommands::Run(arguments) => run::run(arguments, matches),
        Subcommands::Debug(arguments) => debug::run(arguments, matches),
        Subcommands::Profile(arguments) => profile::run(arguments, matches),
        Subcommands::Record(arguments) => record::run(arguments, matches),
        Subcommands::Top(arguments) => top::run(&arguments),
        Subcommands::Export(arguments) => export::run(&arguments),
        Subcommands::Advise(arguments) => advise::run(&arguments),
        Subcommands::Locks(arguments) => locks::run(&arguments),
        Subcommands::Compare(arguments) => compare::run(arguments),
        Subcommands::Check(arguments) => check::run(&arguments),
        Subcommands::Ps(arguments) => ps::run(&arguments),
        Subcommands::List(arguments) => list::run(&arguments),
        Subcommands::Tune(arguments) => tune::run(&arguments),
        Subcommands::Unit(arguments) => unit::run(arguments, matches),
        Subcommands::Doctor(arguments) => doctor::run(&arguments),
        Subcommands::Demo(arguments) => demo::run(arguments),
        Subcommands::Workload(arguments) => workload::run(&arguments),
        Subcommands::Generate(arguments) => install::run(&arguments),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_subcommand_stands_in_one_group() {
        let command = definition();
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
