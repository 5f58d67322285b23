//! `cohort workload`: the command-line side of what cohort-lab does.

use crate::problem::Problem;
use std::process::ExitCode;

/// Options of `cohort workload`.
#[derive(Debug, clap::Args)]
pub struct Arguments {}

/// Carries out `cohort workload`.
pub fn run(_arguments: Arguments) -> Result<ExitCode, Problem> {
    Err(Problem::refused(
        "`cohort workload` is not part of this build",
    ))
}
