//! `cohort tune -- PROGRAM` finds the lock that a program is best under, and writes it only if it gains.

use crate::schemas::valid;
use crate::top::compile;
use crate::{LEFT_OUT, cohort};
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

const SCORE: &str = "score: ([0-9]+)";

fn tuned(folder: &TempDir, program: &Path, variables: &[(&str, &str)]) -> Value {
    let mut command = Command::new(crate::command());
    for name in LEFT_OUT {
        command.env_remove(name);
    }
    let output = command
        .args(["tune", "--json", "--within", "20", "--metric", SCORE, "--"])
        .arg(program)
        .envs(variables.iter().copied())
        .current_dir(folder.path())
        .output()
        .expect("the command runs");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let found = serde_json::from_slice(&output.stdout).expect("JSON");
    valid("tune-program", &found);
    found
}

#[test]
fn the_lock_that_gains_is_found_and_written() {
    let folder = TempDir::new().expect("a temporary folder");
    let program = compile("tests/command/tuned.c", &folder);
    let file = folder.path().join("tuned.cohort.toml");
    let found = tuned(&folder, &program, &[("PREFERRED", "hemlock")]);
    assert_eq!(found["answer"], "better", "{found:#}");
    assert_eq!(found["gain"]["median"], 2.0, "{found:#}");
    assert!(
        found["best"]
            .as_str()
            .is_some_and(|best| best.starts_with("hemlock")),
        "{found:#}"
    );
    // The default, twelve others, and variants.
    let tried = found["tried"].as_array().expect("a list");
    assert!(
        tried.len() >= 13 && tried.iter().any(|one| one["lock"] == "futex-hmcs"),
        "{found:#}"
    );
    let text = std::fs::read_to_string(&file).expect("it was written");
    assert!(text.contains("\nlock = \"hemlock\"\n"), "{text}");
    cohort()
        .args(["run", "--config"])
        .arg(&file)
        .args(["--", "sh", "-c", "echo $COHORT_LOCK"])
        .assert()
        .code(0)
        .stdout("hemlock\n");
}

#[test]
fn where_nothing_gains_nothing_is_written() {
    let folder = TempDir::new().expect("a temporary folder");
    let program = compile("tests/command/tuned.c", &folder);
    // Every lock has the same figure, or the default alone has a better one.
    for preferred in ["none", "futex-hmcs"] {
        let found = tuned(&folder, &program, &[("PREFERRED", preferred)]);
        assert_ne!(found["answer"], "better", "{found:#}");
        let verdict = found["verdict"].as_str().expect("a text");
        assert!(
            verdict.starts_with("no lock gains over the default, futex-hmcs"),
            "{verdict}"
        );
        assert!(found["file"].is_null());
    }
    // A single thread: the first run shows it.
    let found = tuned(&folder, &program, &[("ALONE", "1")]);
    let judgement = found["judgement"].as_str().expect("a judgement");
    assert!(judgement.contains("nothing to gain"), "{judgement}");
    assert_eq!(found["tried"].as_array().map(Vec::len), Some(1));
    assert!(!folder.path().join("tuned.cohort.toml").exists());
}

#[test]
fn what_cannot_be_tuned_is_refused() {
    for (words, code, why) in [
        (vec!["--", "/absent/program"], 127, "/absent/program"),
        (
            vec!["-o", "/absent/f", "--", "true"],
            125,
            "choose another file",
        ),
        (vec!["--metric", "(", "--", "true"], 2, "--metric"),
        (
            vec!["--on", "epyc-7352x2", "--", "true"],
            2,
            "cannot be used with",
        ),
        (vec!["--", "false"], 125, "fails under the default lock"),
    ] {
        let folder = TempDir::new().expect("a temporary folder");
        cohort()
            .arg("tune")
            .args(&words)
            .current_dir(folder.path())
            .assert()
            .code(code)
            .stdout("")
            .stderr(contains("cohort: ").and(contains(why)));
        assert_eq!(
            std::fs::read_dir(folder.path()).expect("a folder").count(),
            0
        );
    }
}
