//! `cohort workload`: runs one bundled load in this process.

use cohort_cli::page::{self, Origin};
use cohort_cli::problem::Problem;
use cohort_lab::workloads::{self, Workload};
use std::process::ExitCode;

/// Options of `cohort workload`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    workload: Workload,
}

/// Executes `cohort workload`; prints one line of JSON.
pub fn run(arguments: Arguments) -> Result<ExitCode, Problem> {
    let outcome = workloads::run(&arguments.workload).map_err(Problem::refused)?;
    page::print_as_it_is(&page::json_line(Origin::here(), &outcome)?)?;
    Ok(ExitCode::SUCCESS)
}
