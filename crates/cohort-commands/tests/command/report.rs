//! `--report` counts the program's lock operations, however it ends.

use crate::top::compile;
use crate::{cohort, compiled};
use cohort::catalogue::LOCKS;
use cohort::condvar::Waiter;
use cohort::host::Arena;
use predicates::str::contains;
use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The command, on a page wide enough to avoid wrapping.
fn on_a_wide_page() -> assert_cmd::Command {
    let mut command = cohort();
    command.env("COLUMNS", "1000");
    command
}

/// The rows of a report: kind and acquisitions.
fn rows(report: &str) -> Vec<(String, u64)> {
    report
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let kind = words.next()?.to_owned();
            let acquired = words.next()?.replace(',', "").parse().ok()?;
            Some((kind, acquired))
        })
        .collect()
}

fn report_of(lock: &str, program: &Path, ending: &str) -> (Option<i32>, String) {
    let output = on_a_wide_page()
        .args(["run", "--lock", lock, "--report", "--"])
        .arg(program)
        .arg(ending)
        .output()
        .expect("the command runs");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "counted\n");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), said)
}

fn check_counts(lock: &str, report: &str) {
    assert!(report.contains(&format!("under {lock},")), "{report}");
    assert!(report.contains("in 1 process\n"), "{report}");
    let rows = rows(report);
    for (kind, acquired) in [
        ("mutex-normal", 1000),
        ("mutex-recursive", 200),
        ("rwlock-read", 30),
        ("rwlock-write", 4),
    ] {
        let row = (kind.to_owned(), acquired);
        assert!(rows.contains(&row), "expected {row:?} in:\n{report}");
    }
}

#[test]
fn every_acquisition_is_counted_by_kind() {
    let program = compiled::usual();
    for lock in LOCKS.iter().filter(|lock| lock.serves_programs()) {
        let (status, report) = report_of(lock.name, &program.path(), "");
        assert_eq!(status, Some(0));
        check_counts(lock.name, &report);
    }
}

#[test]
fn a_program_that_fails_or_is_killed_is_reported_too() {
    let program = compiled::usual();
    let (status, report) = report_of("mcs", &program.path(), "failing");
    assert_eq!(status, Some(7));
    check_counts("mcs", &report);
    let (status, report) = report_of("mcs", &program.path(), "killed");
    assert_eq!(status, None);
    check_counts("mcs", &report);
}

#[test]
fn a_report_fits_the_page() {
    let program = compiled::needs();
    for lock in ["system", "mcs", LOCKS[0].name] {
        let output = cohort()
            .env("COLUMNS", "80")
            .args(["run", "--lock", lock, "--report", "--"])
            .arg(program.path())
            .output()
            .expect("the command runs");
        let report = String::from_utf8_lossy(&output.stderr);
        let widest = report.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(80), "a line of {widest:?}:\n{report}");
        // Continuation lines have a hanging indent.
        assert!(
            lock == "system" || report.contains("\n        "),
            "no line is broken:\n{report}"
        );
        let trimmed = report.lines().all(|line| !line.ends_with(' '));
        assert!(trimmed, "a blank at an end:\n{report}");
    }
}

#[test]
fn the_programs_of_a_program_are_counted() {
    let program = compiled::usual();
    let path = program.path();
    let script = format!("{0}; {0}; {0}; true", path.display());
    let output = on_a_wide_page()
        .args(["run", "--report", "--only", "count"])
        .args(["--", "sh", "-c", &script])
        .output()
        .expect("the command runs");
    let report = String::from_utf8_lossy(&output.stderr);
    assert!(report.contains("in 3 processes\n"), "{report}");
    assert!(
        rows(&report).contains(&("mutex-normal".to_owned(), 3000)),
        "{report}"
    );
}

#[test]
fn programs_left_out_are_not_counted() {
    let program = compiled::usual();
    for options in [["--only", "another"], ["--exclude", "count"]] {
        let output = on_a_wide_page()
            .args(["run", "--report"])
            .args(options)
            .arg("--")
            .arg(program.path())
            .output()
            .expect("the command runs");
        let report = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success());
        assert!(report.contains("no process of"), "{report}");
        assert!(report.contains("--only"), "{report}");
    }
}

#[test]
fn the_systems_locks_are_not_counted() {
    let program = compiled::usual();
    let (status, report) = report_of("system", &program.path(), "");
    assert_eq!(status, Some(0));
    assert_eq!(rows(&report), []);
    assert!(report.contains("the C library's locks"), "{report}");
    assert!(report.contains("cannot count"), "{report}");
    // A reference for Cohort's locks.
    assert!(report.contains("voluntary and"), "{report}");
    let (_, ours) = report_of("futex", &program.path(), "");
    assert!(ours.contains("voluntary and"), "{ours}");
    let (status, _) = report_of("system", &program.path(), "failing");
    assert_eq!(status, Some(7));
}

/// A report explains its counts.
#[test]
fn a_report_ends_with_a_judgement() {
    let said = |program: &Path| {
        let output = on_a_wide_page()
            .args(["run", "--report", "--"])
            .arg(program)
            .output()
            .expect("the command runs");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let nothing = said(Path::new("true"));
    assert!(
        nothing.contains("cohort: 0 acquisitions: nothing to gain\n"),
        "{nothing}"
    );
    let counted = said(&compiled::usual().path());
    assert!(counted.contains(" acquisitions contended"), "{counted}");
}

#[test]
fn a_report_is_json_on_request() {
    let program = compiled::usual();
    let said = |lock: &str| -> serde_json::Value {
        let output = on_a_wide_page()
            .args(["run", "--lock", lock, "--json", "--"])
            .arg(program.path())
            .output()
            .expect("the command runs");
        serde_json::from_slice(&output.stderr).expect("JSON")
    };
    let ours = said("mcs");
    assert_eq!(ours["origin"]["command"][1], "run");
    assert_eq!(ours["lock"], "mcs");
    assert_eq!(ours["counted"]["processes"], 1);
    let kinds = ours["counted"]["kinds"].as_array().expect("kinds");
    let normal = kinds.iter().find(|kind| kind["kind"] == "mutex-normal");
    assert_eq!(normal.expect("it is counted")["acquired"], 1000);
    let system = said("system");
    assert_eq!(system["lock"], "system");
    assert!(system["counted"].is_null() && system["used"]["cpu"].is_number());
}

/// A daemon's counts are those up to now. Standard error is the program's own.
#[test]
fn a_report_goes_to_a_file_on_request() {
    let program = compiled::usual();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("report");
    for words in [vec![], vec!["--json"], vec!["--lock", "system"]] {
        cohort()
            .args(["run", "-o"])
            .arg(&file)
            .args(&words)
            .arg("--")
            .arg(program.path())
            .assert()
            .code(0)
            .stdout("counted\n")
            .stderr("");
        let text = fs::read_to_string(&file).expect("it was written");
        let expected = match words.first() {
            None => "mutex-normal",
            Some(&"--json") => "\"format\": 1",
            Some(_) => "C library",
        };
        assert!(text.contains(expected), "{text}");
        fs::remove_file(&file).expect("it is ours");
    }
    cohort()
        .args(["run", "-o", "/absent/report", "--"])
        .arg(program.path())
        .assert()
        .code(125)
        .stdout("")
        .stderr(contains("choose another file"));
}

#[test]
fn a_daemon_that_lives_on_is_told() {
    // A process counts from the library's load on, so the daemon signals its start.
    let folder = tempfile::tempdir().expect("a folder");
    let output = on_a_wide_page()
        .args(["run", "--report", "--", "sh", "-c"])
        .arg(
            "sh -c 'mkfifo never; echo $$ >number; mv number here; read line <never' \
             >/dev/null 2>&1 & until [ -s here ]; do :; done; cat here",
        )
        .current_dir(folder.path())
        .output()
        .expect("the command runs");
    let said = String::from_utf8_lossy(&output.stdout);
    end(said.trim());
    let report = String::from_utf8_lossy(&output.stderr);
    assert!(report.contains("others still run"), "{report}");
    assert!(report.contains(said.trim()), "{report}");
}

/// Ends the daemon of that number.
fn end(daemon: &str) {
    let daemon: i32 = daemon.parse().expect("its number");
    let daemon = rustix::process::Pid::from_raw(daemon).expect("a number");
    rustix::process::kill_process(daemon, rustix::process::Signal::KILL).expect("it lives");
}

/// A child that continues without executing another program records its ID itself.
#[test]
fn a_forked_child_that_lives_on_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile("tests/command/daemon.c", &folder);
    // The daemon keeps its standard error; this test would wait for its end.
    let output = on_a_wide_page()
        .args([
            "run",
            "--report",
            "--",
            "sh",
            "-c",
            "exec \"$0\" 2>/dev/null",
        ])
        .arg(program)
        .output()
        .expect("the command runs");
    let said = String::from_utf8_lossy(&output.stdout);
    end(said.trim());
    let report = String::from_utf8_lossy(&output.stderr);
    assert!(
        report.contains(&format!("process {}", said.trim())),
        "{report}"
    );
}

/// A machine has hundreds of processes, some of them other users'.
#[test]
fn no_other_processs_files_are_opened() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = folder.path().join("trace");
    let Ok(output) = Command::new("strace")
        .args(["-f", "-e", "trace=open,openat,readlink,readlinkat", "-o"])
        .arg(&trace)
        .args([crate::command(), "run", "--report", "--", "true"])
        .env_remove("LD_PRELOAD")
        .output()
    else {
        eprintln!("skip: no strace here (package strace)");
        return;
    };
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("ptrace") {
        eprintln!("skip: nothing may be traced here: {said}");
        return;
    }
    assert!(output.status.success(), "{said}");
    let trace = fs::read_to_string(trace).expect("strace wrote it");
    let number = |text: &str| text.split([' ', '/']).next()?.parse::<u32>().ok();
    let traced: HashSet<u32> = trace.lines().filter_map(number).collect();
    assert!(
        traced.len() >= 2 && trace.contains("/proc/self/"),
        "{trace}"
    );
    let opened = trace.split("\"/proc/").skip(1).filter_map(number);
    let others: Vec<u32> = opened.filter(|id| !traced.contains(id)).collect();
    assert!(others.is_empty(), "{others:?}: {trace}");
}

/// The number after `before` in the report's line on memory; 0 if missing.
fn number_after(report: &str, before: &str) -> u64 {
    let Some((_, rest)) = report.split_once(before) else {
        return 0;
    };
    let digits = rest
        .chars()
        .take_while(|character| character.is_ascii_digit() || *character == ',')
        .filter(char::is_ascii_digit);
    digits.collect::<String>().parse().unwrap_or(0)
}

/// A node for each waiting or holding thread, and at most one inflated lock for each, however many
/// threads and mutexes a process has had.
#[test]
fn memory_follows_the_waiters_not_the_threads_over_a_life() {
    /// The crowds of `needs.c`.
    const FOR_MUTEX: u64 = 64;
    const AT_CONDITION: u64 = 48;
    /// Nodes kept by ended threads are reclaimed when an arena has this many nodes of a cache line,
    /// or as many larger ones of the same total size, and again when it has twice the number in
    /// use. A living thread keeps a few more. For nodes kept by records, unused records count as in
    /// use.
    const KEPT: u64 = 256;
    const ALIVE: u64 = 8;
    const OF_CONDITION: u64 = Arena::<Waiter>::NODE_BYTES as u64;
    let nodes = |taken: u64| 2 * taken.max(KEPT + ALIVE);
    let program = compiled::needs();
    let everything = std::env::var("COHORT_TIER").as_deref() == Ok("full");
    let mut seen = HashSet::new();
    for lock in LOCKS.iter().filter(|lock| lock.serves_programs()) {
        // The quick tier takes the first lock with the same needs.
        let needs = (lock.bytes_contended, lock.bytes_per_waiter);
        if !seen.insert(needs) && !everything {
            continue;
        }
        let output = on_a_wide_page()
            .args(["run", "--lock", lock.name, "--report", "--"])
            .arg(program.path())
            .output()
            .expect("the command runs");
        let report = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{report}");
        assert_eq!(number_after(&report, "at most "), FOR_MUTEX, "{report}");
        assert_eq!(number_after(&report, ", and "), AT_CONDITION, "{report}");
        let bytes = number_after(&report, "nodes took ");
        let inflated = number_after(&report, ", with ");
        // The crowd, and the thread that holds its lock.
        let taken = FOR_MUTEX + 1;
        let kept = KEPT * 64 / (lock.bytes_contended as u64).max(64);
        let most = 2 * taken.max(kept + ALIVE);
        assert!(inflated <= most, "more than {most} inflated:\n{report}");
        let of_mutexes = nodes(taken) * lock.bytes_per_waiter as u64;
        let of_conditions = nodes(AT_CONDITION) * OF_CONDITION;
        let most = of_mutexes + of_conditions + inflated * lock.bytes_contended as u64;
        assert!(bytes <= most, "more than {most} bytes:\n{report}");
        let least = AT_CONDITION * OF_CONDITION;
        assert!(bytes >= least, "less than {least} bytes:\n{report}");
    }
}
