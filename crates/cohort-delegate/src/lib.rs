//! The `cohort-delegate` command: outlines the critical sections of C programs.
//!
//! `cohort delegate …` runs it; its help and its errors name that command line.

mod delegate;

use clap::{ArgMatches, Command, CommandFactory, Parser};
use cohort_cli::problem::Problem;
use cohort_cli::{parsing, signals};
use std::ffi::OsString;
use std::process::ExitCode;

/// Convert the critical sections of a C program for delegation
#[derive(Debug, Parser)]
#[command(name = "cohort-delegate", bin_name = "cohort delegate", version)]
struct Delegate {
    #[command(flatten)]
    arguments: delegate::Arguments,
}

/// The command line, under the name of `cohort delegate`.
#[must_use]
pub fn definition() -> Command {
    Delegate::command()
}

/// Executes the command line of this process.
#[must_use]
pub fn main() -> ExitCode {
    // As a compiler of a build that is run.
    if let Some(status) = delegate::record() {
        return status;
    }
    signals::settle();
    let mut words: Vec<OsString> = std::env::args_os().collect();
    // `cohort` hands over its own words.
    if words.get(1).is_some_and(|word| word == "delegate") {
        words.remove(1);
    }
    parsing::parsed::<Delegate>(&definition(), words, carry_out)
}

fn carry_out(delegate: Delegate, _: &ArgMatches) -> Result<ExitCode, Problem> {
    delegate::run(&delegate.arguments)
}
