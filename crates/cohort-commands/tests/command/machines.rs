//! `cohort machines`: the list, one machine, files good and bad, made-up shapes, this machine.

use crate::cohort;
use crate::schemas::valid;
use predicates::str::{contains, starts_with};
use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde_json::Value;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;
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

/// This machine's own file: it is complete, names its sources, and `bench` accepts it.
#[test]
fn this_machine_is_measured_written_and_simulated() {
    let folder = tempfile::tempdir().expect("a folder for a file");
    let here = folder.path().join("here.toml");
    let path = here.to_str().expect("a plain path");
    let said = json(&["machines", "measure", "--quick", "-o", path, "--json"]);
    valid("machines-measure", &said);
    let text = std::fs::read_to_string(&here).expect("the file is written");
    assert_eq!(said["file"].as_str(), Some(&*text));
    let figures = said["figures"].as_array().expect("a list");
    for name in ["hit load", "hit rmw", "scheduler system-call"] {
        let figure = figures.iter().find(|figure| figure["figure"] == name);
        let median = figure.and_then(|figure| figure["median"].as_f64());
        assert!(median > Some(0.1), "{name}: {said}");
    }
    let shown = json(&["machines", "show", path, "--json"]);
    assert_eq!(
        (&shown["name"], &shown["hit"]["load"]["source"]),
        (&"here".into(), &"measured".into())
    );
    let like = said["like"].as_str().expect("a name");
    let note = shown["costs"]["instruction"]["note"]
        .as_str()
        .expect("a note");
    assert!(note.starts_with(&format!("{like}: ")), "{note}");
    let bench = [
        "bench",
        "--on",
        path,
        "--workload",
        "lbench",
        "--seconds",
        "0.0005",
    ];
    assert!(output(&bench).contains("futex-hmcs"));
    let checked = json(&["machines", "check", "--quick", path, "--json"]);
    valid("machines-check", &checked);
    let rows = checked["rows"].as_array().expect("a list");
    let hit = rows
        .iter()
        .find(|row| row["figure"] == "hit load")
        .expect("a row");
    assert!(hit["ratio"].as_f64() > Some(0.0), "{hit}");
}

/// With one permitted CPU there is no distance: the file says so, and is accepted.
#[test]
fn one_cpu_is_measured_too() {
    let all = sched_getaffinity(None).expect("the kernel has one");
    let first = (0..CpuSet::MAX_CPU).find(|cpu| all.is_set(*cpu));
    let mut one = CpuSet::new();
    one.set(first.expect("a CPU"));
    let (_folder, path) = file("");
    std::thread::scope(|scope| {
        let alone = scope.spawn(|| {
            sched_setaffinity(None, &one).expect("an allowed CPU");
            cohort().args(["machines", "measure", "--quick"]).output()
        });
        let output = alone.join().expect("no panic").expect("the command runs");
        assert!(output.status.success(), "{output:?}");
        std::fs::write(&path, &output.stdout).expect("the file is written");
        let said = String::from_utf8_lossy(&output.stderr);
        let said: Vec<&str> = said.split_whitespace().collect();
        let said = said.join(" ");
        assert!(
            said.contains("one CPU has no other's lines: permit more CPUs"),
            "{said}"
        );
    });
    let path = path.to_str().expect("a plain path");
    assert_eq!(
        json(&["machines", "show", path, "--json"])["hierarchy"],
        "pu:1"
    );
}

#[test]
fn mistakes_are_refused_before_anything_is_measured() {
    for (words, status, expected) in [
        (
            &["-o", "/nowhere/x.toml"][..],
            125,
            "cannot write /nowhere/x.toml: ",
        ),
        (&["--name", "two words"], 2, "found the name `two words`"),
        (&["--like", "epyc-9454"], 2, "did you mean `epyc-9454p`?"),
    ] {
        let mut command = cohort();
        command.args(["machines", "measure", "--quick"]).args(words);
        command
            .assert()
            .code(status)
            .stdout("")
            .stderr(contains(expected));
    }
    let (_folder, path) = file("about = \"a list of something\"\n");
    let path = path.to_str().expect("a plain path");
    cohort()
        .args(["machines", "check", "--quick", path])
        .assert()
        .code(2)
        .stdout("")
        .stderr(contains(format!("{path}:1:1: missing field `name`")))
        .stderr(contains("`cohort machines show i5-12500 --file` prints"));
    cohort()
        .args(["machines", "check", "./nowhere.toml"])
        .assert()
        .code(2)
        .stderr(starts_with("cohort: cannot read ./nowhere.toml: "));
}

/// A figure far beyond this machine's: `--strict` fails, the table alone does not.
#[test]
fn a_deviation_is_an_error_on_request_only() {
    let text = output(&["machines", "show", "i5-12500", "--file"]);
    let key = "\npause = { cycles = ";
    let (before, after) = text.split_once(key).expect("it is there");
    let (_, rest) = after.split_once(',').expect("a figure");
    let (_folder, path) = file(&format!("{before}{key}1000000,{rest}"));
    let path = path.to_str().expect("a plain path");
    for (strict, status) in [(None, 0), (Some("--strict"), 1)] {
        let mut command = cohort();
        command
            .args(["machines", "check", "--quick", path])
            .args(strict);
        let output = command.output().expect("the command runs");
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(status), "{output:?}");
        let pause = said.lines().find(|line| line.starts_with("costs pause"));
        assert!(pause.is_some_and(|line| line.ends_with(" no")), "{said}");
        assert!(
            said.lines().all(|line| line.chars().count() <= 80),
            "{said}"
        );
    }
}

/// Ctrl-C ends the measurement with the status that shells expect; what was measured is a file.
#[test]
fn an_interrupted_measurement_says_so() {
    let mut command = std::process::Command::new(crate::command());
    command.args(["machines", "measure"]);
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let child = child.expect("the command runs");
    std::thread::sleep(Duration::from_millis(300));
    let id = Pid::from_child(&child);
    kill_process(id, Signal::INT).expect("it runs");
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr);
    // It may have ended before on a fast machine.
    if output.status.success() {
        eprintln!("skip: measured within 300 ms");
        return;
    }
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("interrupted"), "{said}");
    if !output.stdout.is_empty() {
        let (_folder, path) = file(&String::from_utf8_lossy(&output.stdout));
        let path = path.to_str().expect("a plain path");
        json(&["machines", "show", path, "--json"]);
    }
}
