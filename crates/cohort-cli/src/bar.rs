//! `cohort bar`: the command-line side of what cohort-lab does.

use crate::problem::Problem;
use std::process::ExitCode;

/// Options of `cohort bar`.
#[derive(Debug, clap::Args)]
pub struct Arguments {}

/// Carries out `cohort bar`.
pub fn run(_arguments: Arguments) -> Result<ExitCode, Problem> {
    Err(Problem::refused("`cohort bar` is not part of this build"))
}
