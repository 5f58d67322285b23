//! `cohort list`.

use crate::problem::Problem;
use std::process::ExitCode;

/// Options of `cohort list`.
#[derive(Debug, clap::Args)]
pub struct Arguments {}

/// Carries out `cohort list`.
pub fn run(_arguments: Arguments) -> Result<ExitCode, Problem> {
    Err(Problem::refused("`cohort list` is not part of this build"))
}
