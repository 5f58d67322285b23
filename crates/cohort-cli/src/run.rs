//! `cohort run`.

use crate::problem::Problem;
use std::process::ExitCode;

/// Options of `cohort run`.
#[derive(Debug, clap::Args)]
pub struct Arguments {}

/// Carries out `cohort run`.
pub fn run(_arguments: Arguments) -> Result<ExitCode, Problem> {
    Err(Problem::refused("`cohort run` is not part of this build"))
}
