//! `cohort tune sanl`, and the thresholds that it writes.

use crate::analysis::{analysis, bench_with};
use crate::cohort;
use crate::schemas::valid;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::{contains, is_empty};
use serde_json::Value;
use std::path::Path;

const PROFILE: [&str; 8] = [
    "tune",
    "sanl",
    "--on",
    "i5-12500",
    "--threads",
    "4",
    "--seconds",
    "0.001",
];

fn bench(folder: &Path, on: &str, config: &str) -> assert_cmd::assert::Assert {
    bench_with(folder, on, "interval", "sanl,sanl/7/20us", config)
}

#[test]
fn what_a_profile_writes_is_used_there_and_warned_of_elsewhere() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path();
    let said = analysis(folder, &PROFILE, "sanl.toml", "l_s.svg");
    for words in ["θ_l = ", "θ_f = ", "L_s = ", "simulated", "i5-12500"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let drawn = std::fs::read_to_string(folder.join("l_s.svg")).expect("a plot was written");
    assert!(drawn.contains("fruitless polls") && drawn.contains("sanl-distance-first"));
    bench(folder, "i5-12500", "sanl.toml")
        .code(0)
        .stdout(contains("Thresholds of tuned locks: sanl.toml").and(contains("sanl/7/20us")))
        .stderr(is_empty());
    bench(folder, "xeon-e7-4850x4", "sanl.toml")
        .code(0)
        .stderr(contains("warning: sanl.toml was tuned on i5-12500"));
    bench(folder, "xeon-e7-4850x4", "xeon-e7-4850x4")
        .code(0)
        .stderr(is_empty());
}

/// Programs find the thresholds of their configuration in the environment, for
/// `cohort::delegation::configured` and `cohort_delegated_new_named`.
#[test]
fn thresholds_of_a_configuration_reach_programs() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let text = "lock = \"mcs\"\n[sanl]\ntheta-l = 0.25\nl-s = [1.5, 0.0, -2.0]\n";
    std::fs::write(folder.path().join("sanl.toml"), text).expect("the folder is writable");
    let shown = |options: &[&str]| {
        let mut command = cohort();
        command.arg("run").args(options);
        command.args(["--", "sh", "-c", "echo lock $COHORT_LOCK $COHORT_SANL"]);
        command.current_dir(folder.path()).assert().code(0)
    };
    let told = "lock mcs 100,100000,256,491,4,1000,1500000,0,-2000000\n";
    shown(&["--config", "sanl.toml"]).stdout(told);
    shown(&["--lock", "mcs"]).stdout("lock mcs\n");
}

#[test]
fn a_profile_gives_the_same_twice() {
    let run = || {
        let output = cohort().args(PROFILE).arg("--json").output();
        output.expect("the command runs").stdout
    };
    let once = run();
    assert_eq!(once, run());
    let sheet: Value = serde_json::from_slice(&once).expect("JSON");
    valid("tune-sanl", &sheet);
    assert_eq!(sheet["samples"].as_array().map(Vec::len), Some(3));
    assert_eq!(sheet["idle"].as_array().map(Vec::len), Some(3));
}

#[test]
fn mistakes_are_told_with_their_place() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path();
    let sound = include_str!("../../../cohort-measure/src/tuned/shipped-sanl/xeon-e7-4850x4.toml");
    for (from, to, why) in [
        ("theta-l", "tetha-l", "did you mean `theta-l`?"),
        ("t-s = 100", "t-s = 0", "bad.toml:"),
        ("t-s = 100", "t-s = 0", "found 0, expected 1 to 1000000"),
        ("[sanl.tuned]", "[sanl.tuned", "bad.toml:"),
    ] {
        assert!(sound.contains(from), "{from}");
        let bad = sound.replacen(from, to, 1);
        std::fs::write(folder.join("bad.toml"), bad).expect("the folder is writable");
        bench(folder, "xeon-e7-4850x4", "bad.toml")
            .code(2)
            .stderr(contains(why));
    }
    for (config, why) in [
        ("absent.toml", "cannot read absent.toml"),
        ("xeon-e7-4850x", "did you mean `xeon-e7-4850x4`?"),
    ] {
        bench(folder, "xeon-e7-4850x4", config)
            .code(2)
            .stderr(contains(why));
    }
    for (lock, why) in [
        ("sanl/soon", "found `/soon`, expected the rounds"),
        ("sanl/0", "found `/0`"),
        ("cc-synch/7", "expected nothing after the name"),
    ] {
        cohort()
            .args([
                "bench",
                "--on",
                "i5-12500",
                "--workload",
                "interval",
                "--locks",
                lock,
            ])
            .assert()
            .code(2)
            .stderr(contains(why));
    }
    cohort()
        .args(["tune", "sanl", "--on", "i5-12500", "--threads", "99"])
        .assert()
        .code(2)
        .stderr(contains("expected 2 to 12"));
}
