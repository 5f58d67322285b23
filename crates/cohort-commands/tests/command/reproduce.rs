//! `cohort reproduce`: every row, the same bytes twice, a page, refusals.

use crate::cohort;
use crate::schemas::valid;
use cohort_lab::claims::CLAIMS;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::{contains, starts_with};
use serde_json::Value;

/// Fast rows; one waits for locks, one is about this machine.
const ROWS: [&str; 4] = ["F1", "K10", "K3", "G7"];

#[test]
fn rows_are_judged_alike_twice_and_shown_as_a_page() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("claims.html");
    let run = || {
        let output = cohort()
            .arg("reproduce")
            .args(ROWS)
            .args(["--seeds", "2", "--json", "--html"])
            .arg(&file)
            .output()
            .expect("the command runs");
        assert!(output.status.success(), "{output:?}");
        let page = std::fs::read_to_string(&file).expect("a page was written");
        (output.stdout, page)
    };
    let (said, page) = run();
    assert_eq!((said.clone(), page.clone()), run());
    let rows: Value = serde_json::from_slice(&said).expect("JSON");
    valid("reproduce", &rows);
    let rows = rows["claims"].as_array().expect("rows");
    let ids: Vec<&str> = rows.iter().filter_map(|row| row["id"].as_str()).collect();
    assert_eq!(ids, ["K3", "K10", "F1", "G7"]);
    for row in rows {
        let id = row["id"].as_str().expect("a name");
        assert!(page.contains(&format!("id=\"{id}\"")), "{id}");
        let judged = row["verdict"] != "not-yet-runnable";
        assert!(judged || row["missing"].is_string(), "{row}");
        for part in row["parts"].as_array().expect("parts") {
            assert!(part["hash"].as_str().is_some_and(|hash| hash.len() > 8));
            assert_eq!(part["agrees"] == false, part["why"].is_string(), "{part}");
            let seeds = if id == "F1" { 1 } else { 2 };
            assert_eq!(part["seeds"], seeds, "{part}");
            let agreeing = part["agreeing"].as_u64().expect("a number");
            assert_eq!(part["agrees"] == true, agreeing == seeds, "{part}");
        }
    }
}

#[test]
fn every_claim_is_listed() {
    let output = cohort().args(["reproduce", "--list"]).output();
    let output = output.expect("the command runs");
    let said = String::from_utf8_lossy(&output.stdout);
    let words = said.split_whitespace().collect::<Vec<&str>>().join(" ");
    let begins = |line: &&str| !line.starts_with(' ');
    assert_eq!(said.lines().filter(begins).count(), CLAIMS.len());
    for claim in CLAIMS {
        let says: Vec<&str> = claim.says.split_whitespace().collect();
        assert!(words.contains(&says.join(" ")), "{}", claim.id);
    }
}

#[test]
fn an_unknown_claim_and_a_page_that_cannot_be_written_are_refused() {
    cohort().args(["reproduce", "K99"]).assert().code(2).stderr(
        starts_with("cohort: ")
            .and(contains("`K99`"))
            .and(contains("--list")),
    );
    cohort()
        .args(["reproduce", "S4", "--html", "/absent/claims.html"])
        .assert()
        .code(125)
        .stderr(contains("/absent/claims.html"));
}

/// A page that does not fit the disk does not affect the printed text.
#[test]
fn what_was_found_is_printed_before_a_page_fails() {
    let output = cohort()
        .args(["reproduce", "F1", "--json", "--html", "/dev/full"])
        .output()
        .expect("the command runs");
    assert_eq!(output.status.code(), Some(125), "{output:?}");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("cannot write /dev/full"), "{told}");
    let rows: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(rows["claims"][0]["id"], "F1", "{rows}");
}

/// A completed row survives Ctrl-C in the next: the same command resumes with it.
#[test]
fn finished_rows_are_kept_over_a_signal() {
    use rustix::process::{Pid, Signal, kill_process};
    use std::io::{BufRead, BufReader, Read};
    use std::process::{Command, Stdio};

    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut command = Command::new(crate::command());
    command
        .args(["reproduce", "--seeds", "1", "K13", "F12"])
        .env("XDG_CACHE_HOME", folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("the command runs");
    let mut told = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut line = String::new();
    while !line.starts_with("K13: ") && !line.starts_with("cohort: K13: ") {
        line.clear();
        assert!(told.read_line(&mut line).expect("text") > 0, "no row ended");
    }
    // F12 takes minutes.
    kill_process(Pid::from_child(&child), Signal::INT).expect("our child");
    let mut rest = String::new();
    told.read_to_string(&mut rest).expect("text");
    let mut shown = String::new();
    let mut output = child.stdout.take().expect("a pipe");
    output.read_to_string(&mut shown).expect("text");
    assert_eq!(child.wait().expect("it ends").code(), Some(130), "{rest}");
    assert!(rest.contains("1 of 2 claims"), "{rest}");
    assert!(shown.contains("K13") && !shown.contains("F12"), "{shown}");
    let again = |ids: &[&str]| {
        let mut command = cohort();
        command.args(["reproduce", "--seeds", "1"]).args(ids);
        command.env("XDG_CACHE_HOME", folder.path());
        let output = command.output().expect("the command runs");
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let text = |bytes| String::from_utf8(bytes).expect("text");
        (text(output.stdout), text(output.stderr))
    };
    let (kept, told) = again(&["K13"]);
    assert!(told.contains("1 complete claim"), "{told}");
    // Reported rows are not kept.
    let (fresh, told) = again(&["K13"]);
    assert!(!told.contains("complete claim"), "{told}");
    assert_eq!(kept, fresh);
}

/// Ctrl-C in the last of the parts.
#[test]
fn what_a_signal_has_ended_is_no_result() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().expect("a temporary folder");
    let compiler = folder.path().join("cc");
    // It compiles nothing, and a signal arrives during the fifth compilation.
    let script = "#!/bin/sh\necho >>\"${0%cc}calls\"\n\
                  [ $(wc -l <\"${0%cc}calls\") -lt 5 ] || { kill -INT $PPID; sleep 1; }\nexit 1\n";
    std::fs::write(&compiler, script).expect("our folder");
    std::fs::set_permissions(&compiler, PermissionsExt::from_mode(0o755)).expect("our file");
    let path = std::env::var("PATH").unwrap_or_default();
    let output = cohort()
        .args(["reproduce", "--here", "g7"])
        .env("PATH", format!("{}:{path}", folder.path().display()))
        .output()
        .expect("the command runs");
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
}

/// The programs themselves show the claim about the debugging service.
#[test]
fn a_claim_about_this_machine_is_run_here() {
    let output = cohort()
        .args(["reproduce", "--here", "--json", "g7"])
        .output()
        .expect("the command runs");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let rows: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    valid("reproduce-here", &rows);
    let row = &rows["claims"][0];
    assert_eq!(
        (&row["id"], &row["verdict"]),
        (&"G7".into(), &"agrees".into()),
        "{row:#}"
    );
    let parts = row["parts"].as_array().expect("parts");
    assert_eq!(parts.len(), 5);
    for part in parts {
        assert_eq!(part["agrees"], true, "{part:#}");
    }
    cohort()
        .args(["reproduce", "--here", "k1"])
        .assert()
        .code(2)
        .stderr(contains("G7"));
    let output = cohort()
        .args(["reproduce", "--here", "g7"])
        .env("COLUMNS", "80")
        .output()
        .expect("the command runs");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let told = String::from_utf8(output.stdout).expect("text");
    for words in [
        "2016 §4.2)",
        "1 of 1 claim agrees",
        "forwards at abba.c:13\n",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
    let widest = told.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{told}");
}

/// A thread's cost for an adaptive lock, and for a lock found by address; both depend on other load
/// here.
#[test]
fn costs_of_one_thread_are_measured_here() {
    let output = cohort()
        .args(["reproduce", "--here", "--json", "g2", "g5"])
        .output()
        .expect("the command runs");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let rows: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    for (row, parts) in [(0, 1), (1, 2)] {
        let row = &rows["claims"][row];
        assert_eq!(
            row["parts"].as_array().map(Vec::len),
            Some(parts),
            "{row:#}"
        );
        for part in row["parts"].as_array().expect("parts") {
            let found = part["found"].as_str().expect("text");
            assert!(
                found.contains("paper") && found.contains("ours"),
                "{part:#}"
            );
        }
    }
}
