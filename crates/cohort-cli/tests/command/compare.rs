//! `cohort compare`: which processes are served, what prepares a run, what is printed.

use crate::{cohort, compiled};
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use serde_json::Value;

fn compare(options: &[&str], words: &[&str]) -> assert_cmd::Command {
    let mut command = cohort();
    command
        .args(["compare", "--repeat", "1"])
        .args(options)
        .arg("--")
        .args(words);
    command
}

#[test]
fn some_of_a_programs_processes_are_served() {
    let program = compiled::usual();
    let path = program.path();
    let path = path.to_str().expect("a plain name");
    let script = format!("{path}; true");
    let words = ["sh", "-c", &script];
    compare(&["--only", "count"], &words)
        .assert()
        .code(0)
        .stdout(contains("futex"));
    for options in [
        &["--only", "another"][..],
        &["--exclude", "count:sh:dash:bash"],
    ] {
        compare(options, &words)
            .assert()
            .code(1)
            .stdout(contains("--only and --exclude"));
    }
    compare(&["--only", ""], &words)
        .assert()
        .code(2)
        .stderr(contains("--only"));
}

#[test]
fn each_run_is_prepared() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("file");
    let file = file.to_str().expect("a plain name");
    let prepare = format!("test -z \"$LD_PRELOAD\" && echo once >> {file}");
    compare(&["--prepare", &prepare], &["cat", file])
        .assert()
        .code(0);
    let lines = std::fs::read_to_string(file).expect("it was written");
    // A warm-up and a run under either lock; a disturbed one is repeated.
    assert!(lines.lines().count() >= 4, "{lines}");
    compare(&["--prepare", "echo no room; exit 3"], &["true"])
        .assert()
        .code(125)
        .stderr(contains("what prepares it failed").and(contains("no room")));
}

#[test]
fn markdown_is_a_table_and_a_list() {
    let output = compare(&["--markdown"], &["true"])
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout);
    let mut lines = said.lines();
    assert!(
        lines.next().is_some_and(|line| line.starts_with("| lock")),
        "{said}"
    );
    assert!(
        lines.next().is_some_and(|line| line.starts_with("|-")),
        "{said}"
    );
    assert!(said.contains("\n- futex-hmcs: "), "{said}");
    compare(&["--markdown", "--json"], &["true"])
        .assert()
        .code(2);
}

#[test]
fn json_says_where_it_is_from() {
    let output = compare(&["--json"], &["true"]).output().expect("it runs");
    let said: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(said["origin"]["command"][1], "compare");
    assert_eq!(said["rows"][1]["lock"], "futex-hmcs");
}

/// No figure is broken: the last columns are left out.
#[test]
fn a_narrow_page_has_fewer_columns() {
    let titles = |columns: &str| {
        let output = compare(&[], &["true"])
            .env("COLUMNS", columns)
            .output()
            .expect("it runs");
        let said = String::from_utf8_lossy(&output.stdout);
        let mut lines = said.lines();
        let titles = lines.next().expect("titles").to_owned();
        assert!(
            lines.next().is_some_and(|rule| rule.starts_with('─')),
            "{said}"
        );
        for lock in ["system", "futex-hmcs"] {
            let line = lines.next().expect("a row");
            assert!(line.starts_with(lock), "{said}");
        }
        titles
    };
    assert!(titles("100").ends_with("preempted"));
    let narrow = titles("50");
    assert!(
        narrow.contains("gain") && !narrow.contains("preempted"),
        "{narrow}"
    );
}
