//! `cohort-delegate`, for the tests of this package.

use std::process::ExitCode;

fn main() -> ExitCode {
    cohort_delegate::main()
}
