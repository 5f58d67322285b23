//! `cohort compare`: the command-line side of what cohort-lab does.

use crate::problem::Problem;
use std::process::ExitCode;

/// Options of `cohort compare`.
#[derive(Debug, clap::Args)]
pub struct Arguments {}

/// Carries out `cohort compare`.
pub fn run(_arguments: Arguments) -> Result<ExitCode, Problem> {
    Err(Problem::refused(
        "`cohort compare` is not part of this build",
    ))
}
