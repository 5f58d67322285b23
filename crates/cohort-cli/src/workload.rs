//! `cohort workload`: runs one load of the demo in this process; `cohort-lab` has more.

use crate::page::{self, Origin};
use crate::problem::Problem;
use clap::{Command, Subcommand};
use cohort_measure::loads::{self, Load};
use std::ffi::OsStr;
use std::process::ExitCode;

/// Options of `cohort workload`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    load: Load,
}

/// Whether this command has the load of that name.
pub fn is_own(name: &OsStr) -> bool {
    let all = Load::augment_subcommands(Command::new("workload"));
    all.get_subcommands().any(|load| load.get_name() == name)
}

/// Executes `cohort workload`; prints one line of JSON.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let outcome = loads::run(&arguments.load).map_err(Problem::refused)?;
    page::print_as_it_is(&page::json_line(Origin::here(), &outcome)?)?;
    Ok(ExitCode::SUCCESS)
}
