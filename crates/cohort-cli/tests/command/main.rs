//! What a person sees of the command: options, refusals, endings, reports.

mod advise;
mod bar;
mod bench;
mod beside;
mod compare;
mod compiled;
mod debug;
mod delegate;
mod deploy;
mod discover;
mod ending;
mod environment;
mod examples;
mod export;
mod frames;
mod glk;
mod library;
mod locks;
mod machines;
mod mutexes;
mod outside;
mod packages;
mod profile;
mod refusal;
mod report;
mod reproduce;
mod sanl;
mod schemas;
mod shipped;
mod show;
mod survey;
mod top;
mod tuned;
mod usage;

use assert_cmd::Command;
use std::time::Duration;

/// What the command, or a test that reads the environment it passes on, would take
/// from the environment of the tests.
const LEFT_OUT: [&str; 12] = [
    "COLUMNS",
    "NO_COLOR",
    "COHORT_LOCK",
    "COHORT_RWLOCK",
    "COHORT_WAIT",
    "COHORT_MONITOR",
    "COHORT_ONLY",
    "COHORT_EXCLUDE",
    "COHORT_REPORT",
    "COHORT_MUTEXES",
    "COHORT_TIER",
    "LD_PRELOAD",
];

/// The command, with nothing said yet.
fn cohort() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cohort"));
    for name in LEFT_OUT {
        command.env_remove(name);
    }
    command.timeout(Duration::from_secs(60));
    command
}
