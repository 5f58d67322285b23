//! The `cohort-lab` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    cohort_lab_cli::main()
}
