//! `cohort doctor`.

use crate::problem::Problem;
use std::process::ExitCode;

/// Options of `cohort doctor`.
#[derive(Debug, clap::Args)]
pub struct Arguments {}

/// Carries out `cohort doctor`.
pub fn run(_arguments: Arguments) -> Result<ExitCode, Problem> {
    Err(Problem::refused(
        "`cohort doctor` is not part of this build",
    ))
}
