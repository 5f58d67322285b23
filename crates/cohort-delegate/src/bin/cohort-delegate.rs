//! The `cohort-delegate` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    cohort_delegate::main()
}
