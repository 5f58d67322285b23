//! `cohort machines`: the list, one machine, files good and bad, made-up shapes.

use crate::cohort;
use predicates::str::{contains, starts_with};
use serde_json::Value;
use std::path::PathBuf;
use tempfile::TempDir;

const NAMES: [&str; 17] = [
    "sparc-t5440",
    "sparc-t4-1",
    "sunfire-x4800",
    "xeon-e7-4850x4",
    "opteron-6274x8",
    "epyc-7352x2",
    "kunpeng-920x2",
    "superdome-x",
    "haswell-ep-2s",
    "ivy-bridge-2s",
    "epyc-9454p",
    "i5-12500",
    "epyc-9965x2",
    "xeon-6980px2",
    "graviton4x2",
    "ampereone-192",
    "grace-2s",
];

fn output(arguments: &[&str]) -> String {
    let output = cohort().args(arguments).output().expect("the command runs");
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("it prints UTF-8")
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&output(arguments)).expect("it prints JSON")
}

/// A file with that text, and the folder that holds it.
fn file(text: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder for a file");
    let path = folder.path().join("mine.toml");
    std::fs::write(&path, text).expect("the file is written");
    (folder, path)
}

#[test]
fn the_list_has_every_shipped_machine() {
    let said = output(&["machines"]);
    for name in NAMES {
        assert!(said.contains(name), "{name} is missing:\n{said}");
    }
    let widest = said.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{widest:?} columns:\n{said}");
}

#[test]
fn the_list_is_json_on_request() {
    let list = &json(&["machines", "--json"])["machines"];
    let names: Vec<&str> = list
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|machine| machine["name"].as_str())
        .collect();
    assert_eq!(names, NAMES);
    assert_eq!(list[7]["cpus"], 576);
    assert_eq!(list[7]["fingerprint"].as_str().map(str::len), Some(12));
}

#[test]
fn a_machine_is_shown_with_its_tree_and_its_sources() {
    for name in NAMES {
        let said = output(&["machines", "show", name]);
        for word in [
            name,
            "system: ",
            "└── ",
            "own cache",
            "estimate",
            "scheduler slice",
        ] {
            assert!(said.contains(word), "{name}: no {word}:\n{said}");
        }
        let widest = said.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(80), "{name}: {widest:?} columns:\n{said}");
        let words: Vec<&str> = said.split_whitespace().collect();
        for paper in ["000", "001", "002", "003", "004"] {
            assert!(!words.contains(&paper), "{name} numbers a paper:\n{said}");
        }
    }
    assert!(
        output(&["machines", "show", "sparc-t4-1"]).contains("described in Dice et al. 2015 §5")
    );
    let shown = json(&["machines", "show", "opteron-6274x8", "--json"]);
    assert_eq!(shown["transfer"][2]["load"]["cycles"], 498);
    assert_eq!(shown["transfer"][2]["load"]["source"], "paper");
}

#[test]
fn a_made_up_machine_can_be_saved_and_shown() {
    let shape = "pack:4 numa:2 l3:8 core:4 pu:2";
    let arguments = [
        "machines",
        "show",
        "--synthetic",
        shape,
        "--like",
        "epyc-7352x2",
    ];
    let text = output(&arguments);
    assert_eq!(text, output(&arguments), "the same twice");
    let (_folder, path) = file(&text);
    let path = path.to_str().expect("a plain path");
    let shown = json(&["machines", "show", path, "--json"]);
    assert_eq!(shown["name"], "synthetic");
    assert_eq!(shown["hierarchy"], "package:4 numa:2 cache:8 core:4 pu:2");
    assert_eq!(shown["clock"]["source"], "estimate");
    assert!(output(&["machines", "show", path]).contains("512 CPUs"));
}

#[test]
fn an_unknown_machine_is_answered_with_the_nearest_name() {
    cohort()
        .args(["machines", "show", "kunpeng-920"])
        .assert()
        .code(2)
        .stderr(starts_with("cohort: unknown machine `kunpeng-920`"))
        .stderr(contains("did you mean `kunpeng-920x2`?"))
        .stderr(contains("cohort machines"));
    cohort()
        .args(["machines", "show", "./nowhere.toml"])
        .assert()
        .code(2)
        .stderr(starts_with("cohort: cannot read ./nowhere.toml: "));
}

#[test]
fn a_bad_file_is_told_by_line_and_key() {
    let sound = output(&[
        "machines",
        "show",
        "--synthetic",
        "package:2 core:4 pu:2",
        "--like",
        "haswell-ep-2s",
    ]);
    for (old, new, line, expected) in [
        (
            "pause = { cycles = 10",
            "pause = { cycles = -10",
            "pause",
            "`pause`: found `cycles = -10`, expected 0 to",
        ),
        (
            "store-buffer",
            "store-bufer",
            "store-buffer",
            "did you mean `store-buffer`?",
        ),
        (
            "core:4 pu:2",
            "core:0 pu:2",
            "hierarchy",
            "found `core:0`, expected a count of 1 or more",
        ),
        (
            "package:2 core:4 pu:2",
            "core:4 package:2 pu:2",
            "hierarchy",
            "found `package` inside `core`, which does not nest",
        ),
        (
            "within = \"package\"",
            "within = \"pakage\"",
            "[[transfer]]",
            "did you mean `package`?",
        ),
    ] {
        // The first line says what the machine was made of.
        let at = sound
            .lines()
            .skip(1)
            .position(|text| text.starts_with(line))
            .expect("it is there")
            + 2;
        let body = sound.split_once('\n').expect("a comment first").1;
        let (_folder, path) = file(&format!("#\n{}", body.replacen(old, new, 1)));
        let path = path.to_str().expect("a plain path");
        let refused = cohort()
            .args(["machines", "show", path])
            .output()
            .expect("it runs");
        let said = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{new}: {said}");
        assert!(said.contains(expected), "{new}: {said}");
        if line != "[[transfer]]" {
            assert!(
                said.starts_with(&format!("cohort: {path}:{at}:")),
                "{new} at {at}: {said}"
            );
        }
    }
}

#[test]
fn a_shape_needs_a_model_and_must_nest() {
    cohort()
        .args(["machines", "show", "--synthetic", "core:4 pu:2"])
        .assert()
        .code(2)
        .stderr(contains("--like"));
    cohort()
        .args([
            "machines",
            "show",
            "--synthetic",
            "core:4",
            "--like",
            "superdome-x",
        ])
        .assert()
        .code(2)
        .stderr(contains("expected it to end with `pu:N`"));
    cohort()
        .args(["machines", "show"])
        .assert()
        .code(2)
        .stderr(starts_with("cohort: "));
}
