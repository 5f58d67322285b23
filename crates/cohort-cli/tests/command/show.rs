//! The commands that show something: `list`, `doctor`, help.

use crate::cohort;
use cohort::catalogue::{LOCKS, SHARED};
use predicates::str::contains;
use serde_json::Value;

fn json(arguments: &[&str]) -> Value {
    let output = cohort().args(arguments).output().expect("the command runs");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!(
            "{arguments:?} printed no JSON ({error}): {}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        )
    })
}

#[test]
fn the_list_has_every_lock() {
    let output = cohort().arg("list").output().expect("the command runs");
    assert!(output.status.success());
    let said = String::from_utf8_lossy(&output.stdout);
    for lock in LOCKS {
        assert!(
            said.split_whitespace().any(|word| word == lock.name),
            "{} is missing:\n{said}",
            lock.name
        );
    }
    let widest = said.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(100), "{widest:?} columns:\n{said}");
}

#[test]
fn the_list_is_json_on_request() {
    let list = json(&["list", "--json"]);
    let text = list.to_string();
    for lock in LOCKS {
        assert!(
            text.contains(&format!("\"name\":\"{}\"", lock.name)),
            "{text}"
        );
    }
}

#[test]
fn locks_that_readers_share_have_a_list() {
    let list = json(&["list", "--rwlocks", "--json"]).to_string();
    let output = cohort()
        .args(["list", "--rwlocks"])
        .output()
        .expect("the command runs");
    let said = String::from_utf8_lossy(&output.stdout);
    for lock in SHARED {
        let name = lock.name;
        assert!(list.contains(&format!("\"name\":\"{name}\"")), "{list}");
        assert!(said.contains(name), "{said}");
    }
    let widest = said.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(100), "{widest:?} columns:\n{said}");
}

/// A pipe has no columns and no colours.
#[test]
fn pipes_get_plain_text() {
    for arguments in [&["list"][..], &["doctor"], &["--help"], &["run", "--help"]] {
        let output = cohort().args(arguments).output().expect("the command runs");
        assert!(!output.stdout.is_empty(), "{arguments:?}");
        assert!(!output.stdout.contains(&0x1b), "{arguments:?}");
    }
}

#[test]
fn the_doctor_answers_in_both_forms() {
    let output = cohort().arg("doctor").output().expect("the command runs");
    assert!(matches!(output.status.code(), Some(0 | 1)));
    let said = String::from_utf8_lossy(&output.stdout);
    for topic in ["rseq", "membarrier", "futex", "CPU"] {
        assert!(said.contains(topic), "nothing about {topic}:\n{said}");
    }
    assert!(!json(&["doctor", "--json"]).is_null());
}

#[test]
fn every_subcommand_explains_itself() {
    for subcommand in [
        "run",
        "compare",
        "list",
        "machines",
        "doctor",
        "demo",
        "bar",
        "bench",
        "reproduce",
        "survey",
    ] {
        cohort()
            .args([subcommand, "--help"])
            .assert()
            .code(0)
            .stdout(contains("Usage: cohort"));
    }
    cohort()
        .arg("--version")
        .assert()
        .code(0)
        .stdout(contains(env!("CARGO_PKG_VERSION")));
}
