//! `cohort advise`: from a profile to a configuration file.

use crate::cohort;
use assert_cmd::assert::Assert;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::{contains, starts_with};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A profile of a program that this command never ran.
fn profile(change: impl FnOnce(&mut Value)) -> (TempDir, PathBuf) {
    let range = |value: f64| json!({"value": value, "low": value, "high": value});
    let spread =
        |mean: f64| json!({"samples": 9, "mean": range(mean), "p50": 1, "p99": 1, "p999": 1});
    let lock = |name: &str, named_by: &str, queue: f64, held: f64| {
        json!({
            "kind": "mutex", "name": name, "named_by": named_by, "objects": 1, "busiest": 1.0,
            "acquired": 100, "contended": 90, "lost": range(1.5),
            "queue": {"mean": queue, "greatest": 9}, "wait": spread(9e3), "hold": spread(held),
            "nested": 0.0, "sites": [],
        })
    };
    let mut all = json!({
        "origin": {
            "command": ["cohort", "profile", "-o", "p.json", "--", "prog", "-x"],
            "machine": {"cpus": 8},
        },
        "cohort_profile": 1, "program": "prog", "lock": "futex-hmcs", "seconds": 2.0,
        "processes": 1, "threads": 8,
        "cost": {"percent": 1.0, "limit": 5.0, "looking": 0.1, "each": 1.0, "acquired": 200,
                 "sampled": 9, "looks": 9},
        "left_out": {"threads": 0, "acquisitions": 0, "samples": 0},
        "locks": [
            lock("stats_lock", "symbol", 4.5, 2800.0),
            lock("open_table src/table.c:72", "initialised", 5.0, 4000.0),
            lock("slow", "symbol", 6.0, 3e6),
        ],
        "conditions": [],
    });
    change(&mut all);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("p.json");
    std::fs::write(&file, all.to_string()).expect("the folder is ours");
    (folder, file)
}

/// Writes the advice for a profile to a file of that folder: the file, and the outcome.
fn advised(folder: &TempDir, profile: &Path) -> (PathBuf, Assert) {
    let written = folder.path().join("advised.toml");
    let mut command = cohort();
    let advice = command.arg("advise").arg(profile).arg("-o").arg(&written);
    let advice = advice.assert();
    (written, advice)
}

/// The program's own output does not get among the lines.
#[test]
fn a_program_is_profiled_first() {
    cohort()
        .args(["advise", "--", "sh", "-c", "echo said"])
        .assert()
        .code(0)
        .stdout(starts_with("# By `cohort advise -- …`: sh under ").and(contains("said").not()))
        .stderr(contains("Profiling overhead").and(contains("said")));
    cohort()
        .args(["advise", "--", "/nowhere"])
        .assert()
        .failure();
    let (_folder, file) = profile(|_| ());
    let both = cohort()
        .arg("advise")
        .arg(file)
        .args(["--", "true"])
        .assert();
    both.code(2);
}

#[test]
fn what_pays_has_a_line_with_its_reason() {
    let (folder, file) = profile(|_| ());
    let (written, advice) = advised(&folder, &file);
    advice.code(0).stdout(
        contains("assigns 2 of 3 locks")
            .and(contains("stats_lock: mcs; queue 4.5, held 2.8 µs"))
            .and(contains("slow: nothing; held 3.0 ms"))
            .and(contains("-- prog -x\n")),
    );
    let text = std::fs::read_to_string(&written).expect("it was written");
    let lines: toml::Table = toml::from_str(&text).expect("TOML");
    let lines = lines["mutex"].as_array().expect("lines");
    assert_eq!(lines.len(), 2, "{text}");
    assert_eq!(lines[0]["name"].as_str(), Some("stats_lock"));
    assert_eq!(lines[0]["because"].as_str(), Some("queue 4.5, held 2.8 µs"));
    assert_eq!(lines[1]["site"].as_str(), Some("src/table.c:72"));
    assert_eq!(lines[1]["lock"].as_str(), Some("mcs"));
    // It is read as it was written: what it speaks of is not in this program.
    cohort()
        .args(["run", "--config"])
        .arg(&written)
        .args(["--", "true"])
        .assert()
        .code(2)
        .stderr(contains("no variable").and(contains("`stats_lock`")));
}

#[test]
fn where_nothing_pays_that_is_said() {
    let (folder, file) = profile(|all| all["threads"] = json!(9));
    let (written, advice) = advised(&folder, &file);
    advice.code(0).stdout(
        starts_with("No mutex gains from another lock").and(contains("9 threads on 8 CPUs")),
    );
    cohort()
        .args(["run", "--config"])
        .arg(&written)
        .args(["--", "true"])
        .assert()
        .code(0);
    cohort()
        .args(["compare", "--repeat", "1", "--locks"])
        .arg(&written)
        .args(["--", "true"])
        .assert()
        .code(0)
        .stdout(contains("advised.toml"));
}

#[test]
fn a_profile_under_another_lock_goes_on_under_that() {
    let (_folder, file) = profile(|all| {
        all["threads"] = json!(9);
        all["lock"] = json!("ticket");
    });
    cohort()
        .arg("advise")
        .arg(&file)
        .assert()
        .code(0)
        .stdout(contains("\nlock = \"ticket\"\n").and(contains("lock = \"futex-hmcs\"")));
    let output = cohort()
        .args(["advise", "--json"])
        .arg(&file)
        .output()
        .expect("it runs");
    let said: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    crate::schemas::valid("advise", &said);
    assert_eq!(said["locks"][0]["lock"], "futex-hmcs");
    assert_eq!(said["locks"][0]["line"]["name"], "stats_lock");
    assert_eq!(said["locks"][2]["lock"], Value::Null);
}

#[test]
fn a_damaged_profile_is_said_to_be_one() {
    let (_folder, file) = profile(|_| ());
    let whole = std::fs::read_to_string(&file).expect("written above");
    for (text, said) in [
        (&whole[..whole.len() / 2], "p.json:1:"),
        ("", "incomplete profile"),
        ("[]", "incomplete profile"),
        (
            &whole.replace("\"cohort_profile\":1", "\"cohort_profile\":7"),
            "version 7",
        ),
        (
            &whole.replace("\"locks\"", "\"lock\""),
            "incomplete profile",
        ),
    ] {
        std::fs::write(&file, text).expect("the folder is ours");
        cohort()
            .arg("advise")
            .arg(&file)
            .assert()
            .code(2)
            .stdout("")
            .stderr(contains(said));
    }
    cohort()
        .args(["advise", "/absent/p.json"])
        .assert()
        .code(2)
        .stderr(contains("/absent/p.json"));
}
