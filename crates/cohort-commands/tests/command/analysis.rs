//! The common part of the tests of `cohort tune glk` and `cohort tune sanl`.

use crate::cohort;
use assert_cmd::assert::Assert;
use std::path::Path;

/// Runs an analysis that writes `file` and draws `plot` in that folder; returns its text, which has
/// to fit on a page.
pub fn analysis(folder: &Path, command: &[&str], file: &str, plot: &str) -> String {
    let assert = cohort()
        .args(command)
        .args(["-o", file, "--plot", plot])
        .current_dir(folder)
        .assert()
        .code(0);
    let said = String::from_utf8(assert.get_output().stdout.clone()).expect("text");
    let widest = said.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{widest:?} columns:\n{said}");
    said
}

/// Simulates a workload on a machine for a moment, with that file's parameters.
pub fn bench_with(folder: &Path, on: &str, workload: &str, locks: &str, config: &str) -> Assert {
    cohort()
        .args(["bench", "--on", on, "--workload", workload])
        .args(["--threads", "4", "--locks", locks])
        .args(["--seconds", "0.0002", "--config", config])
        .current_dir(folder)
        .assert()
}
