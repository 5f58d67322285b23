//! `cohort compare`: which processes are served, what prepares a run, what is printed.

use crate::{cohort, compiled};
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

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
fn the_systems_locks_are_measured_on_one_cpu() {
    let script = "taskset -cp $$ | grep -o '[^ ]*$' >>cpus";
    let folder = tempfile::tempdir().expect("a temporary folder");
    let words = ["sh", "-c", script];
    let output = compare(&["--one-cpu", "--json"], &words)
        .current_dir(folder.path())
        .output()
        .expect("the command runs");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let found = String::from_utf8_lossy(&output.stdout);
    assert!(found.contains("\"system, one CPU\""), "{found}");
    let cpus = std::fs::read_to_string(folder.path().join("cpus")).expect("it was written");
    let is_one = |line: &&str| line.bytes().all(|c| c.is_ascii_digit());
    // A warm-up and a run.
    assert!(cpus.lines().filter(is_one).count() >= 2, "{cpus}");
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
        .stderr(contains("its preparation failed").and(contains("no room")));
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

/// The programs that run with this file open as their code, by number.
pub fn running(program: &Path) -> Vec<u32> {
    let processes = std::fs::read_dir("/proc")
        .expect("there is /proc")
        .flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let runs =
        |id: &u32| std::fs::read_link(format!("/proc/{id}/exe")).is_ok_and(|file| file == program);
    numbers.filter(runs).collect()
}

/// A comparison of `net.c` as a server, with a client of these words.
fn served(net: &compiled::Program, server: &str, client: &str) -> assert_cmd::Command {
    let path = net.path();
    let path = path.display();
    let mut command = cohort();
    command
        .args(["compare", "-r", "1", "--server"])
        .arg(format!("{path} {server}"))
        .arg("--client")
        .arg(format!("{path} {client}"));
    command
}

#[test]
fn a_server_is_compared_by_its_clients_figures() {
    let net = compiled::net();
    let output = served(&net, "serve {port}", "ask {port} 50")
        .args([
            "--metric",
            "rate=rate: ([0-9.]+)",
            "--metric",
            "mean=mean: ([0-9.]+)",
        ])
        .args(["--lower-is-better=mean", "--json"])
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let said: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(said["metric"], "rate");
    assert_eq!(said["lower_is_better"], false);
    assert_eq!(said["metrics"][1]["metric"], "mean");
    assert_eq!(said["metrics"][1]["lower_is_better"], true);
    let locks: Vec<&str> = said["rows"]
        .as_array()
        .expect("rows")
        .iter()
        .map(|row| row["lock"].as_str().expect("a name"))
        .collect();
    // It has two threads; a machine with one CPU has no row for it.
    assert!(
        locks == ["system", "system, one CPU", "futex-hmcs"] || locks == ["system", "futex-hmcs"],
        "{locks:?}"
    );
    let counted = &said["counted"]["futex-hmcs"]["acquired"];
    // Each answer, and that it listens.
    assert!(counted.as_u64() >= Some(50), "{said}");
    assert_eq!(running(&net.path()), [0; 0]);
    let output = served(&net, "serve {port}", "ask {port} 9")
        .args([
            "--metric",
            "rate=rate: ([0-9.]+)",
            "--metric",
            "mean=mean: ([0-9.]+)",
        ])
        .arg("--no-one-cpu")
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout);
    // A line may be broken after any word.
    let words: Vec<&str> = said.split_whitespace().collect();
    assert!(
        said.starts_with("lock") && words.join(" ").contains("; mean "),
        "{said}"
    );
    assert!(!said.contains("one CPU"), "{said}");
}

/// Each failure is reported in one line that says what to do, and nothing is left running.
#[test]
fn what_goes_wrong_with_a_server_is_told() {
    let net = compiled::net();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("bound").port();
    let taken = format!("serve {port}");
    for (server, client, ready, words) in [
        ("serve {port}", "no {port}", None, "the client failed"),
        (
            "serve {port}",
            "ask {port} 1 end",
            None,
            "ended before its client",
        ),
        ("leave {port}", "ask {port}", None, "foreground"),
        (
            taken.as_str(),
            "ask {port}",
            Some(port.to_string()),
            "already",
        ),
    ] {
        let began = Instant::now();
        let mut command = served(&net, server, client);
        if let Some(ready) = ready {
            command.args(["--ready", &ready]);
        }
        command.assert().code(125).stderr(contains(words));
        assert!(began.elapsed() < Duration::from_secs(40), "{server}");
        assert_eq!(running(&net.path()), [0; 0], "{server}");
    }
    served(&net, "serve {port}", "ask {port}")
        .args(["--metric", "no such ([0-9]+)"])
        .assert()
        .code(125)
        .stderr(contains("does not match"));
    let one = net.path().display().to_string();
    for (options, words) in [
        (&["--server", "a", "--client", "b"][..], "--ready"),
        (
            &["--server", "'", "--client", "b", "--ready", "1"][..],
            "quote",
        ),
        (&["--server", "a {port}"][..], "--client"),
        (
            &["--server", "a {port}", "--client", "b", "--ready", "x"],
            "HOST:PORT",
        ),
        (&["--lower-is-better=p99", "--", &one][..], "--metric p99="),
        (&["-L", "threads", "1,2", "--", &one][..], "{threads}"),
    ] {
        cohort()
            .arg("compare")
            .args(options)
            .assert()
            .code(2)
            .stderr(contains(words));
    }
}

/// A program that waits for ever is no riddle.
#[test]
fn a_program_that_is_a_server_is_recognised() {
    let net = compiled::net();
    let port = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.local_addr().expect("bound").port()
    };
    let began = Instant::now();
    let path = net.path();
    compare(
        &[],
        &[
            path.to_str().expect("a plain name"),
            "serve",
            &port.to_string(),
        ],
    )
    .assert()
    .code(125)
    .stderr(contains(format!("port {port}")).and(contains("serve {port}' --ready {port}")));
    assert!(began.elapsed() < Duration::from_secs(30));
    assert_eq!(running(&path), [0; 0]);
}

/// What there is after Ctrl-C is shown.
#[test]
fn a_comparison_that_is_interrupted_shows_its_rounds() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let runs = folder.path().join("runs");
    let script = format!("echo >>{}", runs.display());
    let mut command = Command::new(crate::command());
    for name in crate::LEFT_OUT {
        command.env_remove(name);
    }
    let child = command
        .args([
            "compare", "-r", "60000", "--json", "--", "sh", "-c", &script,
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command runs");
    let began = Instant::now();
    let lines = || std::fs::read_to_string(&runs).map_or(0, |text| text.lines().count());
    while lines() < 12 {
        assert!(began.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(10));
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("our child");
    let output = child.wait_with_output().expect("our child");
    assert_eq!(output.status.code(), Some(130));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("of 60000 rounds complete"), "{told}");
    let said: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(said["is_interrupted"], true);
    assert!(said["rows"][1]["values"].as_array().expect("rounds").len() > 1);
}

/// The names that hyperfine's users type.
#[test]
fn parameters_and_files_are_as_in_hyperfine() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let said = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect("a file");
    let output = cohort()
        .args([
            "compare",
            "--runs",
            "1",
            "-w",
            "2",
            "-s",
            "echo s >>order",
            "-c",
            "echo c >>order",
        ])
        .args([
            "-p",
            "echo p{n} >>order",
            "-L",
            "n",
            "1,2",
            "-n",
            "mine",
            "--no-one-cpu",
        ])
        .args([
            "--export-json",
            "e.json",
            "--export-markdown",
            "e.md",
            "--export-csv",
            "e.csv",
        ])
        .args(["--", "sh", "-c", "echo r{n} >>order"])
        .current_dir(folder.path())
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(
        printed.contains("n = 1\n") && printed.contains("n = 2\n"),
        "{printed}"
    );
    let order = said("order");
    let first: Vec<&str> = order.lines().take_while(|line| *line != "c").collect();
    // Two warm-ups and a run under either lock; a disturbed run is repeated.
    assert_eq!(first[..3], ["s", "p1", "r1"]);
    assert!(first.len() >= 13 && !first.contains(&"r2"), "{order}");
    let json: Value = serde_json::from_str(&said("e.json")).expect("JSON");
    assert_eq!(json["comparisons"][1]["parameters"]["n"], "2");
    assert_eq!(json["comparisons"][1]["name"], "mine");
    assert!(said("e.md").contains("### n = 2"));
    let csv = said("e.csv");
    let lines: Vec<&str> = csv.lines().collect();
    assert!(
        lines[0].starts_with("n,lock,metric,rounds,median,"),
        "{csv}"
    );
    assert_eq!(lines.len(), 5, "{csv}");
    assert!(lines[4].starts_with("2,futex-hmcs,wall s,1,"), "{csv}");
}

#[test]
fn a_comparison_ends_with_a_judgement() {
    compare(&[], &["true"])
        .assert()
        .code(0)
        .stdout(contains("0 acquisitions: nothing to gain."));
    let program = compiled::usual();
    compare(&[], &[program.path().to_str().expect("a plain name")])
        .assert()
        .code(0)
        .stdout(contains("acquisitions contended"));
}
