//! Subcommands that `cohort` hands over to the commands beside it.

use crate::{LEFT_OUT, cohort, command};
use assert_cmd::Command;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::{contains, starts_with};
use std::path::Path;
use tempfile::TempDir;

/// The command in a folder of its own.
fn alone(folder: &TempDir) -> Command {
    let path = folder.path().join("cohort");
    if !path.exists() {
        let linked = std::fs::hard_link(command(), &path);
        linked
            .or_else(|_| std::fs::copy(command(), &path).map(drop))
            .expect("room for a copy");
    }
    let mut command = Command::new(path);
    for name in LEFT_OUT {
        command.env_remove(name);
    }
    command
}

#[test]
fn a_missing_command_is_named_in_one_line() {
    let folder = TempDir::new().expect("a temporary folder");
    for (words, missing) in [
        (&["bench", "--list"][..], "cohort-lab"),
        (&["bench", "--help"], "cohort-lab"),
        (&["help", "machines"], "cohort-lab"),
        (&["tune", "--on", "i5-12500"], "cohort-lab"),
        (&["tune"], "cohort-lab"),
        (&["workload", "mutex"], "cohort-lab"),
        (&["delegate", "bank.c"], "cohort-delegate"),
    ] {
        let said = alone(&folder).args(words).output().expect("it runs").stderr;
        let said = String::from_utf8_lossy(&said).into_owned();
        assert_eq!(said.lines().count(), 1, "{words:?}: {said}");
        let message = starts_with(format!("cohort: no {missing} in ")).and(contains("install"));
        alone(&folder)
            .args(words)
            .assert()
            .code(125)
            .stdout("")
            .stderr(message);
    }
}

/// Programs are run, compared and tuned, and the demo's loads run, without the other commands.
#[test]
fn the_command_alone_serves_programs() {
    let folder = TempDir::new().expect("a temporary folder");
    let load = ["workload", "cache", "--seconds", "0.05"];
    alone(&folder)
        .args(load)
        .assert()
        .code(0)
        .stdout(contains("per_second"));
    let slip = ["tune", "--metric", "(", "--", "true"];
    alone(&folder)
        .args(slip)
        .current_dir(folder.path())
        .assert()
        .code(2)
        .stderr(contains("--metric"));
    for subcommand in ["tune", "workload"] {
        let usage = contains(format!("Usage: cohort {subcommand}"));
        alone(&folder)
            .args([subcommand, "--help"])
            .assert()
            .code(0)
            .stdout(usage);
    }
}

#[test]
fn other_commands_keep_the_name_of_the_command() {
    for (words, usage) in [
        (&["bench", "--help"][..], "Usage: cohort bench"),
        (&["tune", "--help"], "Usage: cohort tune"),
        (&["tune", "sanl", "--help"], "Usage: cohort tune sanl"),
        (
            &["workload", "mutex", "--help"],
            "Usage: cohort workload mutex",
        ),
        (&["delegate", "--help"], "Usage: cohort delegate"),
        (&["help", "delegate"], "Usage: cohort delegate"),
    ] {
        cohort()
            .args(words)
            .assert()
            .code(0)
            .stdout(contains(usage));
    }
    cohort()
        .args(["tune", "--on", "i5-12500", "--", "true"])
        .assert()
        .code(2)
        .stderr(contains("cannot be used with"));
    // Each command also has its own name.
    for (name, words) in [
        ("cohort-lab", &["bench", "--list"][..]),
        ("cohort-delegate", &["--help"]),
    ] {
        let path = Path::new(command()).with_file_name(name);
        Command::new(path).args(words).assert().code(0);
    }
}
