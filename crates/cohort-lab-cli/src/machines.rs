//! `cohort machines`: the simulated machines, what is known of each, and this machine as one.

mod check;
mod facts;
mod list;
mod measure;
mod show;
mod tree;

use crate::suggested::Suggested;
use clap::Subcommand;
use clap::builder::PossibleValue;
use cohort_cli::problem::Problem;
use cohort_machine::description::shipped;
use std::process::ExitCode;

/// Options of `cohort machines`.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, after_long_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    what: Option<What>,
    /// Print JSON, one object for each machine
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  cohort machines                   list the shipped machines
  cohort machines show epyc-7352x2  show topology, costs and sources
  cohort machines show ./mine.toml  show your own file
  cohort machines show --synthetic \"pack:4 numa:2 l3:8 core:4 pu:2\" \\
      --like epyc-7352x2 >what-if.toml  create a hypothetical machine
  cohort machines show drawn-7-3 --file >drawn.toml  print machine 3 of seed 7
  cohort machines measure --quick >here.toml         measure this machine

A machine is given by a name from this list or the path of a file.";

#[derive(Debug, Subcommand)]
enum What {
    /// Show one machine: topology, costs and sources
    Show(show::Arguments),
    /// Measure this machine, and print its machine file
    Measure(measure::Arguments),
    /// Measure this machine, and compare it with a machine file
    Check(check::Arguments),
}

/// Names of machines; files are machines too.
pub const MACHINES: Suggested = Suggested(|| {
    shipped::all()
        .map(|file| PossibleValue::new(file.name))
        .collect()
});

/// Executes `cohort machines`.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    match &arguments.what {
        None => list::run(arguments.json),
        Some(What::Show(arguments)) => show::run(arguments),
        Some(What::Measure(arguments)) => measure::run(arguments),
        Some(What::Check(arguments)) => check::run(arguments),
    }
}
