//! `cohort discover` and `cohort tune`: each accepts the files that the other step writes, the
//! same command gives the same bytes, and mistakes are named.

use crate::cohort;
use crate::schemas::valid;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
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
    let explained = run(folder, &["tune", "--explain", "best.toml", "--json"]);
    let explained: Value = serde_json::from_slice(&explained).expect("JSON");
    valid("tune-explain", &explained);
    let choices = explained["choices"].as_array().expect("a list");
    assert!(
        choices
            .iter()
            .all(|choice| choice["swapped"].as_array().unwrap().len() == 3)
    );
    assert_eq!(explained["bounds"].as_array().map(Vec::len), Some(5));
    assert_eq!(explained["elsewhere"].as_array().map(Vec::len), Some(8));
    let mean = run(folder, &["tune", "--mean", "best.toml,best.toml", "--json"]);
    let mean: Value = serde_json::from_slice(&mean).expect("JSON");
    valid("tune-mean", &mean);
    assert_eq!(mean["tuned"]["machine"], "ivy-bridge-2s, ivy-bridge-2s");
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

/// A file that was tuned here is what `clof:best` stands for, with its cohorts; else a shipped
/// one, or the default lock where there is one node.
#[test]
fn the_best_lock_is_known_by_its_file_or_by_the_shape() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let place = folder.path().join("cohort");
    let best = |name: &str| {
        let mut command = cohort();
        command.env("XDG_CONFIG_HOME", folder.path());
        command.args(["run", "--report", "--lock", name, "--", "true"]);
        command.assert()
    };
    best("clof:best")
        .code(0)
        .stderr(contains("note: clof:best is "));
    let tune = [
        "tune",
        "--on",
        "xeon-e7-4850x4",
        "--basic",
        "mcs",
        "--threads",
        "1,10",
        "-o",
    ];
    let mut command = cohort();
    command.env("XDG_CONFIG_HOME", folder.path()).args(tune);
    command.arg(place.join("best.toml")).assert().code(0);
    best("clof:best")
        .code(0)
        .stderr(contains("from this machine's file"));
    std::fs::write(place.join("best.toml"), "lock = \"mcs\"\n").unwrap();
    best("clof:best")
        .code(2)
        .stderr(contains("best.toml:").and(contains("tuned")));
    let bench = |lock: &str| {
        let mut command = cohort();
        command.args([
            "bench",
            "--on",
            "kunpeng-920x2",
            "--workload",
            "leveldb",
            "--locks",
            lock,
        ]);
        command
            .args(["--threads", "2", "--seconds", "0.001"])
            .assert()
    };
    bench("clof:best")
        .code(0)
        .stderr(contains("tuned for kunpeng-920x2, with this topology"))
        .stdout(contains("\nclof:").and(contains("[1]").not()));
    bench("clof:best@epyc-7352x2")
        .code(0)
        .stderr(contains("tuned for epyc-7352x2"));
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

/// Of one CPU there is nothing to measure, and what is written of it says so and is taken.
#[test]
fn one_cpu_is_a_flat_machine() {
    // The thread's CPUs become the command's; other tests keep theirs.
    let looked = std::thread::spawn(|| {
        let all = sched_getaffinity(None).expect("a thread has CPUs");
        let first = (0..CpuSet::MAX_CPU).find(|cpu| all.is_set(*cpu));
        let mut one = CpuSet::new();
        one.set(first.expect("a thread has a CPU"));
        sched_setaffinity(None, &one).expect("a thread may have fewer CPUs");
        let folder = tempfile::tempdir().expect("a temporary folder");
        let printed = run(folder.path(), &["discover", "-o", "flat.cohorts"]);
        let told = std::fs::read_to_string(folder.path().join("flat.cohorts")).unwrap();
        let taken = ["run", "--cohorts", "flat.cohorts", "--", "true"];
        run(folder.path(), &taken);
        (String::from_utf8(printed).expect("text"), told)
    });
    let (printed, told) = looked.join().expect("the command was run");
    assert!(printed.contains("One CPU has no hierarchy"), "{printed}");
    assert!(told.starts_with("# 1 CPU of this machine"), "{told}");
    assert!(told.contains("# no level below the whole system"), "{told}");
}

#[test]
fn mistakes_are_named() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("other.cohorts", "numa 0-3\nnuma 4-99\n");
    write("across.cohorts", "core 0,30\nnuma 0-19\nnuma 20-39\n");
    write("broken.toml", "lock = \"mcs\"\ncohorts = \"absent\"\n");
    write("odd.toml", "lock = \"mcs\"\n[tuned]\nmachin = \"x\"\n");
    write("slip.cohorts", "core 0,20\nnuna 0-19\n");
    write("twice.cohorts", "numa 0-19\nnuma 19-39\n");
    let on = ["tune", "--on", "ivy-bridge-2s"];
    for (arguments, why) in [
        (
            &["--cohorts", "other.cohorts"][..],
            "other.cohorts, line 2: no CPU 40",
        ),
        (
            &["--cohorts", "across.cohorts"],
            "across.cohorts, line 1: the level `core` does not nest in `numa`",
        ),
        (
            &["--cohorts", "twice.cohorts"],
            "twice.cohorts, line 2: CPU 19 is in two cohorts of the level `numa`",
        ),
        (
            &["--cohorts", "slip.cohorts"],
            "slip.cohorts, line 2: begin with a level",
        ),
        (&["--cohorts", "slip.cohorts"], "did you mean `numa`?"),
        (&["--levels", "nuna"], "did you mean `numa`?"),
        (&["--levels", "package"], "has no level `package`"),
        (&["--basic", "tickt"], "did you mean `ticket`?"),
        (&["--workload", "pingpong"], "cannot tune a mutex"),
        (&["--workload", "lbenc"], "did you mean `lbench`?"),
        (&["--threads", "1,400"], "expected 1 to 40"),
        (
            &["--threads", "1,2", "--policy", "8=1"],
            "8 threads are not measured",
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
        let mut command = cohort();
        command.current_dir(folder.path());
        let command = command.args(["tune", "--explain", file]);
        command.assert().code(2).stderr(contains(file));
    }
    for (lock, why) in [
        ("clof:best@epyc-7352x3", "did you mean `epyc-7352x2`?"),
        ("clof:best/soon", "/soon"),
    ] {
        let mut command = cohort();
        command.args([
            "bench",
            "--on",
            "epyc-7352x2",
            "--workload",
            "leveldb",
            "--locks",
            lock,
        ]);
        command.assert().code(2).stderr(contains(why));
    }
    let mut command = cohort();
    let command = command.args(["discover", "--on", "ivy-bridg-2s"]);
    command.assert().code(2).stderr(contains("ivy-bridge-2s"));
}
