//! What the program finds in its environment, and what the command needs of its
//! own.

use crate::{cohort, compiled};
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

#[test]
fn an_empty_environment_is_enough() {
    let program = compiled::usual();
    cohort()
        .env_clear()
        .args(["run", "--report", "--"])
        .arg(program.path())
        .assert()
        .code(0)
        .stdout("counted\n")
        .stderr(contains("mutex-normal"));
}

#[test]
fn an_unwritable_cache_is_not_needed() {
    let program = compiled::usual();
    cohort()
        .env("XDG_CACHE_HOME", "/proc/none")
        .env("HOME", "/proc/none")
        .args(["run", "--report", "--"])
        .arg(program.path())
        .assert()
        .code(0)
        .stderr(contains("mutex-normal"));
}

#[test]
fn other_preloaded_libraries_stay_behind_ours() {
    let output = cohort()
        .env("LD_PRELOAD", "libm.so.6")
        .args(["run", "--", "env"])
        .output()
        .expect("the command runs");
    let said = String::from_utf8_lossy(&output.stdout);
    let preload = said
        .lines()
        .find_map(|line| line.strip_prefix("LD_PRELOAD="))
        .expect("the program is served");
    let names: Vec<&str> = preload.split([':', ' ']).collect();
    assert_eq!(names.len(), 2, "{preload}");
    assert!(names[0].ends_with("libcohort_preload.so"), "{preload}");
    assert_eq!(names[1], "libm.so.6");
}

#[test]
fn the_systems_locks_leave_the_environment_alone() {
    cohort()
        .args(["run", "--lock", "system", "--", "env"])
        .assert()
        .code(0)
        .stdout(contains("LD_PRELOAD").not().and(contains("COHORT_").not()));
}

#[test]
fn the_library_finds_what_was_chosen() {
    cohort()
        .args([
            "run",
            "--lock",
            "mcs",
            "--rwlock",
            "c-rw-wp",
            "--wait",
            "yield",
            "--exclude",
            "a",
            "--exclude",
            "b",
        ])
        .args(["--", "env"])
        .assert()
        .code(0)
        .stdout(
            contains("COHORT_LOCK=mcs\n")
                .and(contains("COHORT_RWLOCK=c-rw-wp\n"))
                .and(contains("libcohort_compositions.so"))
                .and(contains("COHORT_WAIT=yield\n"))
                .and(contains("COHORT_EXCLUDE=a:b\n")),
        );
}
