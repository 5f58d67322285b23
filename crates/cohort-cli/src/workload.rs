//! `cohort workload`: runs one bundled load in this process.

use crate::page;
use crate::problem::Problem;
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
    let line = serde_json::to_string(&outcome)
        .map_err(|error| Problem::refused(format!("cannot write JSON: {error}")))?;
    page::print(&line)?;
    Ok(ExitCode::SUCCESS)
}
