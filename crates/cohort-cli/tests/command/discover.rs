//! `cohort discover` and `cohort tune`: what is written is taken by what comes next, the same
//! command gives the same bytes, and mistakes are named.

use crate::cohort;
use predicates::str::contains;
use serde_json::Value;
use std::path::Path;

fn run(folder: &Path, arguments: &[&str]) -> Vec<u8> {
    let output = cohort().current_dir(folder).args(arguments).output();
    let output = output.expect("the command runs");
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    output.stdout
}

const LOOK: [&str; 9] = [
    "discover",
    "--on",
    "ivy-bridge-2s",
    "-o",
    "h.cohorts",
    "--plot",
    "h.svg",
    "--machine",
    "mine.toml",
];

#[test]
fn a_simulated_machine_is_found_twice_alike_and_tuned_for() {
    let folders = [(); 2].map(|()| tempfile::tempdir().expect("a temporary folder"));
    let looked = folders.each_ref().map(|folder| {
        let printed = run(
            folder.path(),
            &[&LOOK[..], &["--like", "haswell-ep-2s"]].concat(),
        );
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
        (printed, read("h.cohorts"), read("h.svg"), read("mine.toml"))
    });
    assert_eq!(looked[0], looked[1]);
    assert!(looked[0].1.contains("core 0,20\n"), "{}", looked[0].1);
    let folder = folders[0].path();
    let tune = [
        "tune",
        "--on",
        "ivy-bridge-2s",
        "--cohorts",
        "h.cohorts",
        "--levels",
        "numa",
        "--basic",
        "ticket,mcs",
        "--threads",
        "1,20,39",
        "-o",
        "best.toml",
        "--plot",
        "beam.svg",
    ];
    let first = run(folder, &tune);
    let written = std::fs::read_to_string(folder.join("best.toml")).unwrap();
    assert_eq!(first, run(folder, &tune));
    assert_eq!(
        written,
        std::fs::read_to_string(folder.join("best.toml")).unwrap()
    );
    assert!(written.contains("cohorts = \"h.cohorts\""), "{written}");
    let configuration = folder.join("best.toml");
    // From another folder: the file of cohorts is looked for beside the configuration.
    cohort()
        .args(["run", "--config"])
        .arg(&configuration)
        .args(["--", "true"])
        .assert()
        .code(0)
        .stderr(contains(
            "was tuned on ivy-bridge-2s (numa:2 core:20 cpus:40)",
        ));
}

#[test]
fn this_machine_is_looked_at() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let printed = run(folder.path(), &["discover", "--json", "-o", "here.cohorts"]);
    let printed: Value = serde_json::from_slice(&printed).expect("JSON");
    let cpus = printed["cpus"].as_array().expect("a list").len();
    assert!(cpus > 0);
    let told = std::fs::read_to_string(folder.path().join("here.cohorts")).unwrap();
    assert!(
        told.starts_with(&format!("# {cpus} CPUs of this machine")),
        "{told}"
    );
    run(
        folder.path(),
        &["run", "--cohorts", "here.cohorts", "--", "true"],
    );
}

#[test]
fn mistakes_are_named() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("other.cohorts", "numa 0-3\nnuma 4-99\n");
    write("across.cohorts", "core 0,30\nnuma 0-19\nnuma 20-39\n");
    write("broken.toml", "lock = \"mcs\"\ncohorts = \"absent\"\n");
    write("odd.toml", "lock = \"mcs\"\n[tuned]\nmachin = \"x\"\n");
    let on = ["tune", "--on", "ivy-bridge-2s"];
    for (arguments, why) in [
        (
            &["--cohorts", "other.cohorts"][..],
            "other.cohorts: there is no CPU 40",
        ),
        (
            &["--cohorts", "across.cohorts"],
            "the level `core` does not nest in `numa`",
        ),
        (&["--levels", "nuna"], "did you mean `numa`?"),
        (&["--levels", "package"], "has no level `package`"),
        (&["--basic", "tickt"], "did you mean `ticket`?"),
        (&["--workload", "pingpong"], "not one to tune a mutex for"),
        (&["--workload", "lbenc"], "did you mean `lbench`?"),
        (&["--threads", "1,400"], "expected 1 to 40"),
        (
            &["--threads", "1,2", "--policy", "8=1"],
            "8 threads are not run",
        ),
    ] {
        let mut command = cohort();
        command.current_dir(folder.path()).args(on).args(arguments);
        command.assert().code(2).stderr(contains(why));
    }
    for (file, why) in [
        ("broken.toml", "broken.toml:2:11: cannot read absent"),
        ("odd.toml", "odd.toml:3:1: unknown field `machin`"),
    ] {
        let mut command = cohort();
        command.current_dir(folder.path());
        let command = command.args(["run", "--config", file, "--", "true"]);
        command.assert().code(2).stderr(contains(why));
    }
    let mut command = cohort();
    let command = command.args(["discover", "--on", "ivy-bridg-2s"]);
    command.assert().code(2).stderr(contains("ivy-bridge-2s"));
}
