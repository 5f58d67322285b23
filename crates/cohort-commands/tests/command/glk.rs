//! `cohort tune glk`, and the table that it writes.

use crate::analysis::{analysis, bench_with};
use crate::cohort;
use crate::schemas::valid;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::{contains, is_empty};
use serde_json::Value;
use std::path::Path;

const ANALYSE: [&str; 4] = ["tune", "glk", "--on", "haswell-ep-2s"];

fn bench(folder: &Path, on: &str) -> assert_cmd::assert::Assert {
    bench_with(folder, on, "loop", "glk", "glk.toml")
}

#[test]
fn what_an_analysis_writes_is_used_and_warned_of_elsewhere() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path();
    let said = analysis(folder, &ANALYSE, "glk.toml", "tune.svg");
    for words in ["up = ", "down = ", "sample = ", "consider = ", "simulated"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let drawn = std::fs::read_to_string(folder.join("tune.svg")).expect("a plot was written");
    assert!(drawn.contains("mcs over ticket") && drawn.contains("in mode mcs"));
    bench(folder, "haswell-ep-2s")
        .code(0)
        .stdout(contains("glk.toml"))
        .stderr(is_empty());
    bench(folder, "i5-12500")
        .code(0)
        .stderr(contains("glk in glk.toml was tuned on haswell-ep-2s"));
    cohort()
        .args(["run", "--lock", "glk", "--config", "glk.toml", "--", "true"])
        .current_dir(folder)
        .assert()
        .code(0)
        .stderr(contains("was tuned on haswell-ep-2s").and(contains("used nevertheless")));
}

#[test]
fn an_analysis_gives_the_same_twice() {
    let run = || {
        let output = cohort().args(ANALYSE).arg("--json").output();
        output.expect("the command runs").stdout
    };
    let once = run();
    assert_eq!(once, run());
    let sheet: Value = serde_json::from_slice(&once).expect("JSON");
    valid("tune-glk", &sheet);
    assert_eq!(sheet["lengths"].as_array().map(Vec::len), Some(6));
    let of = |name: &str| sheet["glk"][name].as_u64().expect("a number");
    assert!(of("down") <= of("up") && of("sample") <= of("consider"));
    // Mode by mode, the same lock without its looks is what others are measured by.
    let last = |which: &str| {
        let costs = sheet["costs"][which].as_array().expect("a list");
        costs.last().expect("some")["mcs"]
            .as_f64()
            .expect("a share")
    };
    assert!((0.8..1.2).contains(&last("sample")), "{}", last("sample"));
}

#[test]
fn mistakes_are_told() {
    cohort()
        .args(["tune", "glk", "--on", "haswel-ep-2s"])
        .assert()
        .code(2)
        .stderr(contains("did you mean `haswell-ep-2s`?"));
    cohort()
        .args([
            "tune",
            "glk",
            "--on",
            "haswell-ep-2s",
            "-o",
            "/nowhere/glk.toml",
        ])
        .assert()
        .code(125)
        .stderr(contains("/nowhere"));
}
