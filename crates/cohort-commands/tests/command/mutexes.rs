//! Locks of their own for mutexes: `[[mutex]]` in a configuration file.

use crate::{cohort, compiled};
use predicates::prelude::PredicateBooleanExt;
use predicates::str::{contains, starts_with};
use std::path::PathBuf;

/// The line of the source on which `words` stand.
fn line(words: &str) -> usize {
    let source = include_str!("mutexes.c");
    let before = source.split(words).next().expect("they stand there");
    before.matches('\n').count() + 1
}

fn file(program: &compiled::Program, text: &str) -> PathBuf {
    let file = program.folder().join("c.toml");
    std::fs::write(&file, text).expect("the folder is ours");
    file
}

/// A configuration with a lock of its own for each `(key, value, lock)`.
fn configuration(lines: &[(&str, &str, &str)]) -> String {
    let tables = lines.iter().map(|(key, value, lock)| {
        format!("[[mutex]]\n{key} = \"{value}\"\nlock = \"{lock}\"\nbecause = \"so\"\n")
    });
    tables.collect()
}

fn run(program: &compiled::Program, options: &[&str], text: &str) -> assert_cmd::assert::Assert {
    let mut command = cohort();
    command.arg("run").arg("--config").arg(file(program, text));
    command.args(options).arg("--").arg(program.path());
    command.arg("3000").assert()
}

#[test]
fn each_mutex_has_the_lock_that_its_line_says() {
    let debug = compiled::mutexes(&["-g"]);
    let site = format!("mutexes.c:{}", line("pthread_mutex_init(table"));
    let first = format!("command/mutexes.c:{}", line("pthread_mutex_lock(nobodys)"));
    let by_lines = configuration(&[
        ("name", "stats_lock", "mcs"),
        ("site", &site, "clh"),
        ("site", &first, "ticket"),
        ("name", "again", "anderson"),
        ("name", "part+8", "mcs"),
    ]);
    for own in ["futex-hmcs", "k42", "hmcs-2"] {
        run(&debug, &["--lock", own], &by_lines)
            .code(0)
            .stdout(starts_with(
                "stats 2 table 3 nobodys 4 plain 1 again 5 part 2\nall are counted\nthe child too\n",
            ));
    }
    let by_functions = configuration(&[
        ("site", "touch", "tas"),
        ("site", "open_table", "hclh"),
        ("name", "part", "futex"),
        ("name", "plain", "clof:ticket-mcs/compiled"),
    ]);
    for own in ["mcs", "ttas"] {
        run(&compiled::mutexes(&[]), &["--lock", own], &by_functions)
            .code(0)
            .stdout(starts_with(
                "stats 1 table 3 nobodys 2 plain 5 again 1 part 4\nall are counted\nthe child too\n",
            ));
    }
}

#[test]
fn a_line_for_the_own_lock_changes_nothing() {
    let program = compiled::mutexes(&[]);
    let text = configuration(&[("name", "stats_lock", "mcs")]);
    run(&program, &["--lock", "mcs"], &text)
        .code(0)
        .stdout(contains("stats 1 ").and(contains("all are counted")));
}

#[test]
fn acquisitions_are_counted_as_ever() {
    let program = compiled::mutexes(&[]);
    let text = configuration(&[("name", "stats_lock", "mcs"), ("name", "plain", "tas")]);
    run(&program, &["--report"], &text)
        .code(0)
        .stdout(contains("stats 2 ").and(contains("all are counted")))
        .stderr(contains("normal"));
}

#[test]
fn a_name_that_is_not_there_is_answered_with_its_neighbour() {
    let program = compiled::mutexes(&["-g"]);
    for (key, value, said) in [
        ("name", "stats_lok", "did you mean `stats_lock`?"),
        ("site", "tuch", "did you mean `touch`?"),
        ("site", "mutexe.c:7", "did you mean `mutexes.c`?"),
        ("site", "mutexes.c:2", "the nearest line with code is "),
        ("site", "libc.so.7+0x12", "in count"),
    ] {
        let text = configuration(&[("name", "plain", "mcs"), (key, value, "mcs")]);
        run(&program, &[], &text)
            .code(2)
            .stdout("")
            .stderr(contains("c.toml:6:8: ").and(contains(said)));
    }
    let stripped = compiled::mutexes(&["-s"]);
    let text = configuration(&[("site", "mutexes.c:30", "mcs")]);
    run(&stripped, &[], &text)
        .code(2)
        .stderr(contains("build with -g"));
}

#[test]
fn a_lock_that_cannot_be_is_refused_where_it_stands() {
    let program = compiled::mutexes(&[]);
    let five = ["mcs", "tas", "ticket", "clh", "k42"];
    let five: Vec<_> = five.iter().map(|lock| ("name", "plain", *lock)).collect();
    run(&program, &[], &configuration(&five))
        .code(2)
        .stderr(contains("c.toml:18:8: ").and(contains("`k42` exceeds")));
    run(&program, &[], &configuration(&[("name", "plain", "msc")]))
        .code(2)
        .stderr(contains("c.toml:3:8: ").and(contains("`mcs`")));
    let text = configuration(&[("name", "plain", "mcs")]);
    run(&program, &["--lock", "system"], &text)
        .code(2)
        .stderr(contains("the lock is `system`"));
}

#[test]
fn programs_that_are_observed_have_their_locks_too() {
    let program = compiled::mutexes(&["-g"]);
    let site = format!("mutexes.c:{}", line("pthread_mutex_init(table"));
    let text = configuration(&[
        ("name", "stats_lock", "mcs"),
        ("site", &site, "clh"),
        ("site", "touch", "ticket"),
        ("name", "again", "k42"),
    ]);
    let file = file(&program, &text);
    let profile = program.folder().join("p.json");
    for words in [
        &["profile", "-o", profile.to_str().expect("plain")][..],
        &["debug"],
        &["debug", "--level", "owner"],
        &["debug", "--level", "order"],
        &["run", "--observe"],
    ] {
        for own in ["futex-hmcs", "glk", "clof:ticket-mcs/compiled"] {
            cohort()
                .args(words)
                .args(["--lock", own, "--config"])
                .arg(&file)
                .arg("--")
                .arg(program.path())
                .arg("3000")
                .assert()
                .code(0)
                .stdout(
                    "stats 2 table 3 nobodys 4 plain 1 again 5 part 1\n\
                     all are counted\nthe child too\n",
                );
        }
    }
    let profile = std::fs::read(profile).expect("it was written");
    let profile: serde_json::Value = serde_json::from_slice(&profile).expect("JSON");
    let stats = profile["locks"].as_array().expect("locks");
    let stats = stats.iter().find(|lock| lock["name"] == "stats_lock");
    // Four threads of the parent and of the child, and once before the fork.
    let wanted = 2 * 4 * 3000 + 1;
    assert_eq!(stats.expect("it was taken")["acquired"], wanted);
}
