//! `cohort demo`: the command-line side of what cohort-lab does.

use crate::problem::Problem;
use std::process::ExitCode;

/// Options of `cohort demo`.
#[derive(Debug, clap::Args)]
pub struct Arguments {}

/// Carries out `cohort demo`.
pub fn run(_arguments: Arguments) -> Result<ExitCode, Problem> {
    Err(Problem::refused("`cohort demo` is not part of this build"))
}
