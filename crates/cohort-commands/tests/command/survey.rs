//! `cohort survey`, with lists of a person's own: its own programs take too long for a test.

use crate::cohort;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use serde_json::Value;
use std::path::Path;
use tempfile::TempDir;

/// Two programs: one packs what its setup made, the other fails its check.
const LIST: &str = r#"
[[row]]
name = "packed"
about = "packs numbers"
needs = ["gzip"]
setup = "seq 1000 > numbers; test -z \"${LD_PRELOAD:-}\""
command = "gzip -k -f numbers; echo packed by $THREADS, 0.25 seconds"
wall = ', ([0-9.]+) seconds'
check = "gzip -d -c numbers.gz | cmp - numbers && grep -qx \"packed by $THREADS, 0.25 seconds\" output"
cleanup = "cp numbers \"$LIST/left\""

[[row]]
name = "absent"
needs = ["no-such-program:no-such-package"]
command = "no-such-program"
check = "true"
"#;

const WRONG: &str = r#"
[[row]]
name = "wrong"
command = "echo 41"
check = "grep -qx 42 output"
"#;

fn list(text: &str) -> (TempDir, String) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("list.toml");
    std::fs::write(&file, text).expect("the folder is writable");
    let file = file.to_str().expect("temporary folders have plain names");
    let file = file.to_owned();
    (folder, file)
}

fn survey(file: &str) -> assert_cmd::Command {
    let mut command = cohort();
    command.args(["survey", "--file", file, "--repeat", "1", "--cpus", "one"]);
    command
}

#[test]
fn its_own_programs_are_listed_in_80_columns() {
    let output = cohort()
        .args(["survey", "--list"])
        .output()
        .expect("the command runs");
    let said = String::from_utf8_lossy(&output.stdout);
    for name in ["python-queue", "java-parallel-gc", "mariadb", "qemu"] {
        assert!(said.contains(name), "{said}");
    }
    let widest = said.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{widest:?} columns:\n{said}");
    cohort()
        .args(["survey", "--list", "nonsense"])
        .assert()
        .code(2)
        .stderr(contains("`nonsense`"));
}

#[test]
fn a_list_of_ones_own_is_run_and_tidied_up() {
    let (folder, file) = list(LIST);
    survey(&file)
        .args(["--threads", "2,3"])
        .assert()
        .code(0)
        .stdout(
            contains("packed   2, one")
                .and(contains("         3, one"))
                .and(contains("absent: missing: package no-such-package"))
                .and(contains("1 program run, none failed")),
        );
    let left = std::fs::read_to_string(folder.path().join("left"));
    assert!(left.is_ok_and(|left| left.ends_with("\n1000\n")));
}

#[test]
fn json_has_every_figure() {
    let (_folder, file) = list(LIST);
    let output = survey(&file)
        .args(["--threads", "2", "--json"])
        .output()
        .expect("the command runs");
    let said: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let found = &said["programs"];
    assert_eq!(found[0]["name"], "packed");
    let cell = &found[0]["found"]["cells"][0];
    assert_eq!(cell["threads"], 2);
    assert_eq!(cell["cpus"], "one");
    assert_eq!(cell["ours"]["wall"], 0.25);
    assert_eq!(cell["ratios"]["wall"]["median"], 1.0);
    assert!(cell["ratios"]["switches"]["median"].is_number());
    assert_eq!(found[1]["found"]["not-here"], "package no-such-package");
}

#[test]
fn a_check_that_fails_fails_the_survey() {
    let (_folder, file) = list(WRONG);
    survey(&file).assert().code(1).stdout(
        contains("wrong (2, one): under the C library's locks too")
            .and(contains("41"))
            .and(contains("1 failed: wrong")),
    );
}

#[test]
fn mistakes_in_a_list_are_quoted() {
    let (_folder, file) = list("[[row]]\nname = \"a\"\ncomand = \"true\"\n");
    survey(&file)
        .assert()
        .code(2)
        .stdout("")
        .stderr(contains("list.toml:3:1").and(contains("comand")));
    survey("/does/not/exist")
        .assert()
        .code(2)
        .stderr(contains("/does/not/exist"));
    let (_folder, file) = list(WRONG);
    survey(&file)
        .args(["--lock", "system"])
        .assert()
        .code(2)
        .stderr(contains("always measured"));
}

/// The folder and what runs in it go with the survey.
#[test]
fn an_interrupted_survey_leaves_nothing_running() {
    let text = "[[row]]\nname = 'long'\ncommand = 'echo $$ > \"$LIST/pid\"; sleep 50'\n\
                check = 'true'\ncleanup = 'touch \"$LIST/tidy\"'\n";
    let (folder, file) = list(text);
    let mut child = std::process::Command::new(crate::command())
        .args(["survey", "--file", &file])
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("the command runs");
    let pid = folder.path().join("pid");
    let started = std::time::Instant::now();
    let shell = loop {
        let text = std::fs::read_to_string(&pid).unwrap_or_default();
        if let Ok(shell) = text.trim().parse::<u32>() {
            break shell;
        }
        assert!(started.elapsed().as_secs() < 30, "nothing was started");
        std::thread::sleep(std::time::Duration::from_millis(10));
    };
    let own = rustix::process::Pid::from_child(&child);
    // As `timeout` does, which sends one to the command and one to its group.
    for _ in 0..2 {
        rustix::process::kill_process(own, rustix::process::Signal::INT).expect("it runs");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let status = child.wait().expect("it is our child");
    assert_eq!(status.code(), Some(130));
    assert!(!Path::new(&format!("/proc/{shell}")).exists());
    assert!(folder.path().join("tidy").exists());
}
