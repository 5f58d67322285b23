//! The `cohort` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    cohort_cli::command::main()
}
