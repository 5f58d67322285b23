//! The library for C beside the interposer, in one process.

use crate::{cohort, compiled};
use predicates::str::contains;

/// Both count exactly, under the default lock, which serves both, and under another.
#[test]
fn the_library_for_c_works_beside_the_interposer() {
    let program = compiled::of_the_library("beside.c", "libcohort.so");
    for lock in ["futex-hmcs", "mcs"] {
        cohort()
            .args(["run", "--lock", lock, "--"])
            .arg(program.path())
            .assert()
            .code(0)
            .stdout(contains("20000 20000 20000 5000\n").count(3));
    }
}

/// The examples know nothing of the interposer, and do the same under it.
#[test]
fn the_examples_in_c_run_under_the_command() {
    let build = tempfile::tempdir().expect("a temporary folder");
    let told = [
        "test".to_owned(),
        format!("PREFIX={}", compiled::prefix().display()),
        format!("BUILD={}", build.path().display()),
        format!("RUN={} run --", crate::command()),
    ];
    compiled::make("examples/c", &told);
}
