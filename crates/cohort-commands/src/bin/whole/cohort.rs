//! `cohort`, for the tests of this package.

use std::process::ExitCode;

fn main() -> ExitCode {
    cohort_cli::command::main()
}
