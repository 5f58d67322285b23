//! `cohort study`, with the shortest of its programs.

use crate::cohort;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

const SHORT: [&str; 9] = [
    "study",
    "hamster-50",
    "--repeat",
    "1",
    "--threads",
    "2",
    "--no-one-cpu",
    "--locks",
    "default,mcs",
];

#[test]
fn a_study_prints_its_matrix_and_writes_its_page() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let page = folder.path().join("page.html");
    cohort()
        .args(SHORT)
        .arg("--html")
        .arg(&page)
        .assert()
        .code(0)
        .stdout(
            contains("hamster-50")
                .and(contains("mcs"))
                .and(contains("hamster-50: too few rounds to tell")),
        );
    let page = std::fs::read_to_string(&page).expect("it was written");
    assert!(page.contains("cohort study hamster-50") && page.ends_with("</html>"));
}

#[test]
fn mistakes_are_refused_before_anything_runs() {
    let refused = |arguments: &[&str], why: &str| {
        cohort()
            .arg("study")
            .args(arguments)
            .assert()
            .code(2)
            .stdout("")
            .stderr(contains(why));
    };
    refused(&[], "--all");
    refused(&["nonsense"], "`nonsense`");
    refused(&["leveldb"], "`rocksdb` continues it");
    refused(&["hamster", "--all"], "cannot be used with");
    refused(&["hamster", "--locks", "system"], "always measured");
    refused(&["hamster", "--locks", "mcs,mcs"], "twice");
    refused(&["hamster", "--locks", "tiket"], "`ticket`");
    refused(&["hamster", "--threads", "0"], "0");
    cohort()
        .args(["study", "hamster", "--html", "/does/not/exist/page.html"])
        .assert()
        .failure()
        .stderr(contains("/does/not/exist/page.html"));
}
