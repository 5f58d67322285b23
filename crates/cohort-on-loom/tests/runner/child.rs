//! One model, in one process.
//!
//! A bug that loom finds can leave its threads in an unusable state. So the first failure prints its
//! cause and ends the process.

use super::models;
use crate::locks::door::{Tally, steps};
use std::panic::{PanicHookInfo, set_hook};
use std::process::{Command, Stdio, exit};
use std::time::Duration;
use wait_timeout::ChildExt;

/// The environment variable that names the model to run.
pub const MODEL: &str = "COHORT_MODEL";

/// The environment variable that names the fault to inject.
pub const MUTANT: &str = "COHORT_MUTANT";

/// Every execution was explored, and none failed.
const PASSED: i32 = 0;
/// An execution failed.
const FAILED: i32 = 10;
/// Loom gave up, so the lock's correctness is undecided.
const UNDECIDED: i32 = 11;

/// The result of a model.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Every execution was explored, and none failed; the counts.
    Passed(String),
    /// An execution failed; the cause.
    Failed(String),
    /// Undecided: out of time, beyond loom's limits, or killed; the cause.
    Undecided(String),
}

/// Runs the model of that name in this process, and exits.
pub fn run(name: &str) -> ! {
    set_hook(Box::new(|panic| {
        for step in steps() {
            eprintln!("{step}");
        }
        eprintln!("{panic}");
        exit(if is_a_bound_of_loom(panic) {
            UNDECIDED
        } else {
            FAILED
        });
    }));
    let Some(model) = models::find(name) else {
        eprintln!("{MODEL}={name}: there is no such model; `--list` prints their names");
        exit(2);
    };
    show("", &model.check());
    // Faults are found within the model's own bounds.
    if std::env::var_os(MUTANT).is_none()
        && let Some(tally) = model.check_deeper()
    {
        show("one preemption deeper: ", &tally);
    }
    exit(PASSED);
}

fn show(which: &str, tally: &Tally) {
    let rest = if tally.whole {
        ""
    } else {
        "; out of time for the rest"
    };
    println!(
        "{which}{} executions, {} of them abandoned{rest}",
        tally.executions, tally.abandoned
    );
}

/// Whether loom exceeded its own limits.
fn is_a_bound_of_loom(panic: &PanicHookInfo) -> bool {
    let message = panic.payload_as_str().unwrap_or("");
    ["maximum number of branches", "loom internal bug", "mo_i"]
        .iter()
        .any(|bound| message.contains(bound))
}

/// Runs the model of that name in a process of its own, with or without a fault.
pub fn verdict(model: &str, mutant: Option<&str>, limit: Duration) -> Verdict {
    let mut command = Command::new(std::env::current_exe().expect("a test knows its own file"));
    command
        .env(MODEL, model)
        .env_remove(MUTANT)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if let Some(mutant) = mutant {
        command.env(MUTANT, mutant);
    }
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return Verdict::Undecided(format!("cannot start a process: {error}")),
    };
    // The few printed lines fit into the pipes.
    if !matches!(child.wait_timeout(limit), Ok(Some(_))) {
        let _ = child.kill();
        let _ = child.wait();
        return Verdict::Undecided(format!("not done after {} s", limit.as_secs()));
    }
    let output = child.wait_with_output().expect("the process has ended");
    let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let complained = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    match output.status.code() {
        Some(PASSED) => Verdict::Passed(said),
        Some(FAILED) => Verdict::Failed(complained),
        _ => Verdict::Undecided(format!("{}: {complained}", output.status)),
    }
}
