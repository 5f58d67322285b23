//! Mistakes of the person: status 2, and words that help.

use crate::cohort;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::{contains, starts_with};

#[test]
fn an_unknown_lock_is_answered_with_its_neighbours() {
    for (typed, meant) in [("tiket", "ticket"), ("mc", "mcs"), ("futx", "futex")] {
        cohort()
            .args(["run", "--lock", typed, "--", "true"])
            .assert()
            .code(2)
            .stdout("")
            .stderr(
                starts_with("cohort: ")
                    .and(contains(format!("`{typed}`")))
                    .and(contains(format!("`{meant}`"))),
            );
    }
}

#[test]
fn the_environment_is_checked_like_an_option() {
    cohort()
        .env("COHORT_LOCK", "nonsense")
        .args(["run", "--", "true"])
        .assert()
        .code(2)
        .stderr(contains("`nonsense`"));
}

#[test]
fn a_setting_from_the_environment_is_named_in_its_error() {
    for (variable, value) in [
        ("COHORT_LOCK", "nonsense"),
        ("COHORT_WAIT", "doze"),
        ("COHORT_RWLOCK", "x"),
        ("COHORT_ONLY", "a::b"),
        ("COHORT_EXCLUDE", ":"),
    ] {
        cohort()
            .env(variable, value)
            .args(["run", "--", "true", "--wait"])
            .assert()
            .code(2)
            .stderr(contains(variable));
    }
    cohort()
        .env("COHORT_WAIT", "doze")
        .args(["run", "--wait", "nap", "--", "true"])
        .assert()
        .code(2)
        .stderr(contains("COHORT_WAIT").not());
}

#[test]
fn an_unknown_wait_names_the_known_ones() {
    cohort()
        .args(["run", "--wait", "doze", "--", "true"])
        .assert()
        .code(2)
        .stderr(
            contains("spin")
                .and(contains("yield"))
                .and(contains("park")),
        );
}

#[test]
fn an_unknown_rwlock_names_the_known_ones() {
    cohort()
        .args(["run", "--rwlock", "c-rw-xx", "--", "true"])
        .assert()
        .code(2)
        .stderr(contains("c-rw-np").and(contains("system")));
    cohort()
        .args(["run", "--lock", "system", "--rwlock", "c-rw-np"])
        .args(["--", "true"])
        .assert()
        .code(2)
        .stderr(contains("a lock of Cohort"));
}

#[test]
fn a_program_must_be_given() {
    cohort()
        .arg("run")
        .assert()
        .code(2)
        .stderr(contains("PROGRAM"));
    cohort().assert().code(2);
    cohort().arg("nonsense").assert().code(2);
}

#[test]
fn a_configuration_file_is_quoted_where_it_is_wrong() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("cohort.toml");
    for (text, place, words) in [
        ("lock = \"mcs\"\nwait = doze\n", ":2:8", "expected"),
        ("lock = \"mcs\"\nlok = \"mcs\"\n", ":2:1", "lok"),
        ("rwlock = \"c-rw\"\n", ":1:10", "c-rw-wp"),
        ("lock = 3\n", ":1:8", "string"),
        ("\n\nlock = \"mcz\"\n", ":3:8", "mcs"),
        ("only = [\"a\", 5]\n", ":1:14", "string"),
        ("[[[\n", ":1:", "expected"),
    ] {
        std::fs::write(&file, text).expect("the folder is writable");
        cohort()
            .args(["run", "--config"])
            .arg(&file)
            .args(["--", "true"])
            .assert()
            .code(2)
            .stdout("")
            .stderr(contains(format!("{}{place}", file.display())).and(contains(words)));
    }
    std::fs::write(&file, [0xff, 0xfe, 0x00]).expect("the folder is writable");
    cohort()
        .args(["run", "--config"])
        .arg(&file)
        .args(["--", "true"])
        .assert()
        .code(2)
        .stderr(contains(":1:1"));
    cohort()
        .args(["run", "--config", "/does/not/exist", "--", "true"])
        .assert()
        .code(2)
        .stderr(contains("/does/not/exist"));
}

#[test]
fn what_is_typed_wins_over_the_file_and_this_over_the_environment() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("cohort.toml");
    std::fs::write(&file, "lock = \"mcs\"\nreport = true\n").expect("the folder is writable");
    let under = |options: &[&str]| {
        let output = cohort()
            .env("COHORT_LOCK", "clh")
            .arg("run")
            .args(options)
            .args(["--", "true"])
            .output()
            .expect("the command runs");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let path = file.to_str().expect("temporary folders have plain names");
    for (options, lock) in [
        (&["--config", path, "--lock", "ticket"][..], "ticket"),
        (&["--config", path][..], "mcs"),
        (&["--report"][..], "clh"),
    ] {
        let said = under(options);
        assert!(
            said.contains(&format!("under {lock},")),
            "{options:?}: {said}"
        );
    }
}
