//! The command line.

use crate::{
    bar, bench, discover, machines, replay, report, reproduce, study, survey, tune, workload,
};
use clap::{ArgMatches, Command, CommandFactory, Parser, Subcommand};
use cohort_cli::problem::Problem;
use cohort_cli::{environment, parsing, signals};
use std::process::ExitCode;

/// Benchmarks, simulated machines and performance targets of Cohort
#[derive(Debug, Parser)]
#[command(name = "cohort", version, propagate_version = true)]
struct Lab {
    #[command(subcommand)]
    subcommand: Subcommands,
}

#[derive(Debug, Subcommand)]
enum Subcommands {
    /// Show the simulated machines: topology, latencies, source of each figure
    Machines(machines::Arguments),
    /// Run lock benchmarks on this machine or a simulated one
    Bench(bench::Arguments),
    /// Replay a recorded program's locking under other locks, here or on a simulated machine
    Replay(replay::Arguments),
    /// Measure the distance between CPUs, and derive a machine's hierarchy
    Discover(discover::Arguments),
    /// Find the best lock for a machine or a program
    Tune(tune::Arguments),
    /// Reproduce the papers' results on simulated machines
    Reproduce(reproduce::Arguments),
    /// Measure this machine against Cohort's performance targets
    Bar(bar::Arguments),
    /// Run real programs under the C library's locks and Cohort's
    Survey(survey::Arguments),
    /// Run the papers' programs under several locks
    Study(study::Arguments),
    /// Write one page about this machine: hand-overs, tuned lock, benchmarks, programs, claims
    Report(report::Arguments),
    /// Run one bundled load once (used by other subcommands)
    #[command(hide = true)]
    Workload(workload::Arguments),
}

/// The command line, under the name of `cohort`.
#[must_use]
pub fn definition() -> Command {
    Lab::command()
}

/// Executes the command line of this process.
#[must_use]
pub fn main() -> ExitCode {
    signals::settle();
    environment::forget_empty();
    environment::heed_monitor();
    parsing::parsed::<Lab>(&definition(), std::env::args_os(), carry_out)
}

fn carry_out(lab: Lab, _: &ArgMatches) -> Result<ExitCode, Problem> {
    match lab.subcommand {
        Subcommands::Machines(arguments) => machines::run(&arguments),
        Subcommands::Bench(arguments) => bench::run(&arguments),
        Subcommands::Replay(arguments) => replay::run(&arguments),
        Subcommands::Discover(arguments) => discover::run(&arguments),
        Subcommands::Tune(arguments) => tune::run(&arguments),
        Subcommands::Reproduce(arguments) => reproduce::run(&arguments),
        Subcommands::Bar(arguments) => bar::run(arguments),
        Subcommands::Survey(arguments) => survey::run(arguments),
        Subcommands::Study(arguments) => study::run(arguments),
        Subcommands::Report(arguments) => report::run(&arguments),
        Subcommands::Workload(arguments) => workload::run(arguments),
    }
}
