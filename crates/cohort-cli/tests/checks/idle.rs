//! A waiter without a CPU must not stop the waiters behind it.

use crate::check::{Check, Tier};
use crate::compiled;
use crate::program::{cohort_run, ended};
use crate::selection::Selection;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(60);

/// Minimum acquisitions of each occasional thread within a second; thousands with the C library.
const LEAST: u64 = 100;

/// The program's exit status for a machine with one CPU, or without the idle class.
const UNAVAILABLE: i32 = 77;

/// Under the default lock: a strict lock waits for the next thread.
pub fn checks(selection: &Selection) -> Result<Vec<Check>, String> {
    let check = |lock: &'static str| Check {
        name: format!("idle/{lock}"),
        tier: Tier::Quick,
        needs: &[("cc", "gcc")],
        run: Box::new(move || run(lock)),
    };
    Ok(selection
        .some_of(&["futex-hmcs"])
        .into_iter()
        .map(check)
        .collect())
}

fn run(lock: &str) -> Result<(), String> {
    let program = compiled::program("idle", "cc", &[])?;
    let output = cohort_run(lock, &[])
        .arg(program)
        .timeout(LIMIT)
        .output()
        .map_err(|error| format!("cannot be run: {error}"))?;
    if output.status.code() == Some(UNAVAILABLE) {
        eprintln!("skip: idle/{lock}: two CPUs and SCHED_IDLE are needed");
        return Ok(());
    }
    if !output.status.success() {
        return Err(ended(&output, LIMIT));
    }
    let said = String::from_utf8_lossy(&output.stdout);
    let served = |count: &str| count.parse().is_ok_and(|count: u64| count >= LEAST);
    if said.lines().count() == 2 && said.lines().all(served) {
        return Ok(());
    }
    Err(format!("expected {LEAST} acquisitions each, got\n{said}"))
}
