//! The commands that show something: `list`, `doctor`, help.

use crate::cohort;
use cohort::catalogue::{COPYING, DELEGATES, LOCKS, SHARED};
use predicates::str::contains;
use serde_json::Value;

fn json(arguments: &[&str]) -> Value {
    let output = cohort().args(arguments).output().expect("the command runs");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!(
            "{arguments:?} printed no JSON ({error}): {}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        )
    })
}

#[test]
fn the_list_has_every_lock() {
    let output = cohort().arg("list").output().expect("the command runs");
    assert!(output.status.success());
    let said = String::from_utf8_lossy(&output.stdout);
    for lock in LOCKS {
        assert!(
            said.split_whitespace().any(|word| word == lock.name),
            "{} is missing:\n{said}",
            lock.name
        );
    }
    let words: Vec<&str> = said.split_whitespace().collect();
    let words = words.join(" ");
    for lock in LOCKS {
        assert!(words.contains(lock.about), "{} is cut:\n{said}", lock.name);
    }
    let choosing = words
        .split(" lock also ")
        .next()
        .expect("a text above the table");
    for lock in LOCKS.iter().filter(|lock| !lock.serves_programs()) {
        assert!(
            choosing.contains(lock.name),
            "`run` refuses {}:\n{said}",
            lock.name
        );
    }
    for words in ["tkt", "shfllock"] {
        assert!(
            said.contains(words),
            "the alias {words} is missing:\n{said}"
        );
    }
}

#[test]
fn a_lock_is_shown_whole_when_it_is_asked_for() {
    let one = cohort().args(["list", "tkt"]).output().expect("it runs");
    let said = String::from_utf8_lossy(&one.stdout);
    for words in ["ticket: ", "aliases", "source", "can", "bytes"] {
        assert!(said.contains(words), "{words} is missing:\n{said}");
    }
    let all = cohort().args(["list", "--long"]).output().expect("it runs");
    let said = String::from_utf8_lossy(&all.stdout);
    assert_eq!(said.matches("\n  source ").count(), LOCKS.len());
    cohort()
        .args(["list", "tiket"])
        .assert()
        .code(2)
        .stderr(contains("`ticket`"));
}

/// What prints tables, and is quick.
const TABLES: [&[&str]; 13] = [
    &["list"],
    &["list", "--long"],
    &["list", "--rwlocks"],
    &["list", "--compositions"],
    &["doctor"],
    &["bar", "--list"],
    &["survey", "--list"],
    &["study", "--list"],
    &["machines"],
    &["machines", "show", "epyc-7352x2"],
    &["bench", "--list"],
    &["reproduce", "--list"],
    &["reproduce", "F1", "G7"],
];

fn lines(arguments: &[&str], columns: Option<&str>) -> Vec<String> {
    let mut command = cohort();
    if let Some(columns) = columns {
        command.env("COLUMNS", columns);
    }
    let output = command.args(arguments).output().expect("the command runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(!said.is_empty(), "{arguments:?}: {output:?}");
    said.lines().map(str::to_owned).collect()
}

#[test]
fn tables_fit_the_page_and_lines_end_with_no_blank() {
    for arguments in TABLES {
        for (columns, most) in [(None, 80), (Some("60"), 60), (Some("120"), 120)] {
            for line in lines(arguments, columns) {
                assert!(line.chars().count() <= most, "{arguments:?} {most}: {line}");
                assert_eq!(line.trim_end(), line, "{arguments:?}");
            }
        }
    }
}

#[test]
fn json_says_where_it_is_from_wherever_there_is_a_table() {
    for arguments in TABLES {
        let said = json(&[arguments, &["--json"]].concat());
        let origin = &said["origin"];
        assert_eq!(origin["command"][1], arguments[0]);
        assert_eq!(origin["version"], env!("CARGO_PKG_VERSION"));
        // What is simulated is the same on every machine and on every day.
        let simulated = origin["machine"]["simulated"].is_string();
        assert_eq!(origin["date"].is_null(), simulated, "{origin}");
        assert!(
            simulated || origin["machine"]["cpus"].as_u64() > Some(0),
            "{origin}"
        );
    }
}

/// A table that is cut short must not pass for a whole one.
#[test]
fn a_full_disk_is_an_error_and_no_panic() {
    let others: [&[&str]; 8] = [
        &["--help"],
        &["help", "run"],
        &["run", "--help"],
        &["--version"],
        &["list", "--json"],
        &["compare", "--repeat", "1", "--", "true"],
        &["demo", "--seconds", "0.1"],
        &[
            "machines",
            "show",
            "--synthetic",
            "pu:2",
            "--like",
            "superdome-x",
        ],
    ];
    for arguments in TABLES.iter().chain(&others) {
        let full = std::fs::File::create("/dev/full").expect("Linux has it");
        let output = std::process::Command::new(crate::command())
            .args(*arguments)
            .stdout(full)
            .output()
            .expect("the command runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(125), "{arguments:?}: {said}");
        assert!(said.contains("cannot write to standard output"), "{said}");
    }
    // A message beside the result is not part of the result.
    let shown: &[&str] = &[
        "compare",
        "--repeat",
        "1",
        "--show-output",
        "--",
        "echo",
        "hi",
    ];
    for (arguments, status) in [(&["list", "nonsense"][..], 2), (shown, 0)] {
        let full = std::fs::File::create("/dev/full").expect("Linux has it");
        let output = std::process::Command::new(crate::command())
            .args(arguments)
            .stderr(full)
            .output()
            .expect("the command runs");
        assert_eq!(output.status.code(), Some(status), "{arguments:?}");
        assert_eq!(output.stdout.is_empty(), status != 0, "{arguments:?}");
    }
}

/// What is printed nowhere was not printed.
#[test]
fn a_closed_output_is_an_error() {
    for arguments in [
        &["list"][..],
        &["list", "--json"],
        &["bench", "--list"],
        &["--help"],
        &["--version"],
    ] {
        let output = std::process::Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" >&-", crate::command()])
            .args(arguments)
            .output()
            .expect("there is a shell");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(125), "{arguments:?}: {said}");
        assert!(said.contains("cannot write to standard output"), "{said}");
    }
}

#[test]
fn help_is_a_subcommand_too() {
    for (typed, usage) in [
        (&["help"][..], "Usage: cohort <COMMAND>"),
        (&["help", "run"], "Usage: cohort run"),
        (&["help", "machines", "show"], "Usage: cohort machines show"),
    ] {
        cohort()
            .args(typed)
            .assert()
            .code(0)
            .stdout(contains(usage));
    }
}

/// A line below the titles, and none between rows.
#[test]
fn tables_have_one_rule_at_most() {
    for arguments in TABLES {
        let is_rule = |line: &&String| line.starts_with('─');
        let rules = lines(arguments, None).iter().filter(is_rule).count();
        let tables = if arguments.contains(&"show") { 2 } else { 1 };
        assert!(rules <= tables, "{arguments:?}: {rules} rules");
    }
}

#[test]
fn the_list_is_json_on_request() {
    let list = json(&["list", "--json"]);
    let text = list.to_string();
    for lock in LOCKS {
        assert!(
            text.contains(&format!("\"name\":\"{}\"", lock.name)),
            "{text}"
        );
    }
}

#[test]
fn locks_that_readers_share_have_a_list() {
    let list = json(&["list", "--rwlocks", "--json"]).to_string();
    let output = cohort()
        .args(["list", "--rwlocks"])
        .output()
        .expect("the command runs");
    let said = String::from_utf8_lossy(&output.stdout);
    for lock in SHARED {
        let name = lock.name;
        assert!(list.contains(&format!("\"name\":\"{name}\"")), "{list}");
        assert!(said.contains(name), "{said}");
    }
}

#[test]
fn locks_that_sections_are_brought_to_have_a_list() {
    let list = json(&["list", "--delegates", "--json"]).to_string();
    let output = cohort()
        .args(["list", "--delegates"])
        .output()
        .expect("the command runs");
    let said = String::from_utf8_lossy(&output.stdout);
    let copying = COPYING.iter().map(|copying| copying.name);
    for name in DELEGATES.iter().map(|lock| lock.name).chain(copying) {
        assert!(list.contains(&format!("\"name\":\"{name}\"")), "{list}");
        assert!(said.contains(name), "{said}");
    }
    let beside: Vec<&str> = list.matches("\"runs_once\":false").collect();
    assert_eq!(beside.len(), COPYING.len(), "{list}");
}

/// A pipe has no columns and no colours.
#[test]
fn pipes_get_plain_text() {
    for arguments in [&["list"][..], &["doctor"], &["--help"], &["run", "--help"]] {
        let output = cohort().args(arguments).output().expect("the command runs");
        assert!(!output.stdout.is_empty(), "{arguments:?}");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(
            said.lines().all(|line| line == line.trim_end()),
            "{arguments:?}"
        );
        assert!(!output.stdout.contains(&0x1b), "{arguments:?}");
    }
}

#[test]
fn the_doctor_answers_in_both_forms() {
    let output = cohort().arg("doctor").output().expect("the command runs");
    assert!(matches!(output.status.code(), Some(0 | 1)));
    let said = String::from_utf8_lossy(&output.stdout);
    for topic in ["rseq", "membarrier", "futex", "CPU", "time-slice extension"] {
        assert!(said.contains(topic), "nothing about {topic}:\n{said}");
    }
    assert!(!json(&["doctor", "--json"]).is_null());
}

#[test]
fn help_has_the_subcommands_in_groups() {
    for arguments in [&["--help"][..], &["-h"], &["help"]] {
        let said = lines(arguments, None);
        for title in ["Use:", "Diagnose:", "Machines and research:", "Options:"] {
            assert!(said.iter().any(|line| line == title), "{title}: {said:#?}");
        }
        let is_there = |name: &str| {
            said.iter()
                .any(|line| line.starts_with(&format!("  {name} ")))
        };
        for name in ["run", "check", "bench"] {
            assert!(is_there(name), "{name}: {said:#?}");
        }
        for line in said {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}

#[test]
fn every_subcommand_explains_itself() {
    for subcommand in [
        "run",
        "compare",
        "list",
        "locks",
        "machines",
        "doctor",
        "demo",
        "bar",
        "bench",
        "reproduce",
        "survey",
        "study",
        "report",
    ] {
        cohort()
            .args([subcommand, "--help"])
            .assert()
            .code(0)
            .stdout(contains("Usage: cohort"));
    }
    cohort()
        .arg("--version")
        .assert()
        .code(0)
        .stdout(contains(env!("CARGO_PKG_VERSION")));
}
