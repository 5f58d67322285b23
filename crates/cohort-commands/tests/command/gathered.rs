//! `cohort report`: other commands' results as one page.

use crate::cohort;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// A study's document.
pub const STUDY: &str = r#"{"format": 1, "origin": {"command": ["cohort", "study", "redis"], "version": "0.1.0",
    "machine": {"cpu": "C", "cpus": 2, "architecture": "x", "kernel": "k"}, "date": "2026-01-02T03:04:05Z"},
    "programs": [{"name": "redis", "about": "a server", "conclusion": {"kind": "nothing"}, "found": {"cases": [
        {"threads": 2, "failure": null, "comparison": {"metric": "wall s", "lower_is_better": true, "rows": [
            {"lock": "system", "values": [1], "figure": {"median": 1, "low": 1, "high": 1, "confidence": 0,
             "count": 1}, "gain": null, "wall": 1, "cpu": 1, "voluntary": 1, "involuntary": 1, "disturbed": 0,
             "failure": null, "answer": null, "verdict": null}]}}]}}]}"#;

/// A folder with the study, without results of earlier runs.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("study.json"), STUDY).expect("the folder is writable");
    folder
}

/// The command in that folder, with its own cache and configuration.
fn report(folder: &Path) -> assert_cmd::Command {
    let mut command = cohort();
    command
        .arg("report")
        .current_dir(folder)
        .env("XDG_CACHE_HOME", folder.join("cache"))
        .env("XDG_CONFIG_HOME", folder.join("config"));
    command
}

#[test]
fn a_page_has_the_results_of_files_and_names_the_missing_ones() {
    let folder = folder();
    report(folder.path())
        .args(["--no-run", "--html", "page.html", "study.json"])
        .assert()
        .code(0)
        .stdout(contains("2026-01-02T03:04:05Z").and(contains("Missing: Tuned lock")));
    let page = std::fs::read_to_string(folder.path().join("page.html")).expect("it was written");
    for words in [
        "cohort study redis",
        "2026-01-02T03:04:05Z",
        "cohort tune -o best.toml",
        "CPU 0",
    ] {
        assert!(page.contains(words), "{words}");
    }
    assert!(page.ends_with("</html>") && !page.contains("<script"));
    looked_at(&folder.path().join("page.html"));
}

/// Shows the page in a browser, on a narrow screen and in print.
fn looked_at(page: &Path) {
    let Ok(browser) = which::which("chromium") else {
        eprintln!("skip: no `chromium` here");
        return;
    };
    let folder = page.parent().expect("a folder");
    let around = folder.join("around.html");
    let frame = "<iframe id=f src=page.html width=400 height=600 onload=\"document.title = 'width ' + \
                 f.contentDocument.documentElement.scrollWidth\"></iframe>";
    std::fs::write(&around, frame).expect("the folder is writable");
    let pdf = folder.join("page.pdf");
    let look = |arguments: &[String], page: &Path| {
        Command::new(&browser)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--allow-file-access-from-files",
            ])
            .arg(format!(
                "--user-data-dir={}",
                folder.join("browser").display()
            ))
            .args(arguments)
            .arg(format!("file://{}", page.display()))
            .output()
            .expect("the browser runs")
    };
    let shown = look(&["--dump-dom".to_owned()], &around);
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    let width = shown
        .split("<title>width ")
        .nth(1)
        .and_then(|rest| rest.split('<').next());
    let width: u32 = width
        .and_then(|width| width.parse().ok())
        .unwrap_or_else(|| panic!("{shown}"));
    assert!((300..=400).contains(&width), "{width}");
    look(&[format!("--print-to-pdf={}", pdf.display())], page);
    let printed = std::fs::read(&pdf).expect("it was printed");
    assert!(printed.starts_with(b"%PDF"));
}

/// A study's result is in the next report.
#[test]
fn earlier_runs_are_found() {
    let folder = folder();
    let mut study = cohort();
    study
        .args([
            "study",
            "phoenix-words",
            "--repeat",
            "1",
            "--threads",
            "2",
            "--locks",
            "default",
        ])
        .arg("--no-one-cpu")
        .env("XDG_CACHE_HOME", folder.path().join("cache"))
        .assert()
        .code(0);
    let output = report(folder.path()).args(["--no-run", "--json"]).output();
    let found: Value =
        serde_json::from_slice(&output.expect("the command runs").stdout).expect("JSON");
    crate::schemas::valid("report", &found);
    assert_eq!(
        found["parts"][0]["document"]["programs"][0]["name"],
        "phoenix-words"
    );
    assert_eq!(found["missing"].as_array().map(Vec::len), Some(5));
}

#[test]
fn other_files_are_refused() {
    let folder = folder();
    std::fs::write(
        folder.path().join("other.json"),
        STUDY.replace("\"study\"", "\"list\""),
    )
    .expect("writable");
    std::fs::write(folder.path().join("cut.json"), &STUDY[..300]).expect("writable");
    for (file, why) in [
        ("other.json", "`cohort list`"),
        ("cut.json", "not a document"),
        ("absent.json", "No such file"),
        (".", "directory"),
    ] {
        report(folder.path())
            .args(["--no-run", file])
            .assert()
            .code(2)
            .stdout("")
            .stderr(contains(why));
    }
    report(folder.path())
        .args(["--no-run", "--html", "/absent/page.html"])
        .assert()
        .code(125)
        .stderr(contains("/absent/page.html"));
}
