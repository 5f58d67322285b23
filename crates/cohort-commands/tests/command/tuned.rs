//! `cohort tune -- PROGRAM` finds the lock that a program is best under, and writes it only if it gains.

use crate::compare::running;
use crate::schemas::valid;
use crate::top::compile;
use crate::{LEFT_OUT, cohort, compiled};
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const SCORE: &str = "score: ([0-9]+)";

fn tune(folder: &TempDir, words: &[&str]) -> Command {
    let mut command = Command::new(crate::command());
    for name in LEFT_OUT {
        command.env_remove(name);
    }
    command.arg("tune").args(words).current_dir(folder.path());
    command
}

fn tuned(folder: &TempDir, program: &Path, variables: &[(&str, &str)]) -> Value {
    let mut command = tune(
        folder,
        &["--json", "--within", "20", "--metric", SCORE, "--"],
    );
    found(command.arg(program).envs(variables.iter().copied()))
}

fn found(command: &mut Command) -> Value {
    let output = command.output().expect("the command runs");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let found = serde_json::from_slice(&output.stdout).expect("JSON");
    valid("tune-program", &found);
    found
}

#[test]
fn the_lock_that_gains_is_found_and_written() {
    let folder = TempDir::new().expect("a temporary folder");
    let program = compile("tests/command/tuned.c", &folder);
    let file = folder.path().join("tuned.cohort.toml");
    let found = tuned(&folder, &program, &[("PREFERRED", "hemlock")]);
    assert_eq!(found["answer"], "better", "{found:#}");
    assert_eq!(found["gain"]["median"], 2.0, "{found:#}");
    assert!(
        found["best"]
            .as_str()
            .is_some_and(|best| best.starts_with("hemlock")),
        "{found:#}"
    );
    // The default, twelve others, and variants.
    let tried = found["tried"].as_array().expect("a list");
    assert!(
        tried.len() >= 13 && tried.iter().any(|one| one["lock"] == "futex-hmcs"),
        "{found:#}"
    );
    let text = std::fs::read_to_string(&file).expect("it was written");
    assert!(text.contains("\nlock = \"hemlock\"\n"), "{text}");
    cohort()
        .args(["run", "--config"])
        .arg(&file)
        .args(["--", "sh", "-c", "echo $COHORT_LOCK"])
        .assert()
        .code(0)
        .stdout("hemlock\n");
}

#[test]
fn where_nothing_gains_nothing_is_written() {
    let folder = TempDir::new().expect("a temporary folder");
    let program = compile("tests/command/tuned.c", &folder);
    // Every lock has the same figure, or the default alone has a better one.
    for preferred in ["none", "futex-hmcs"] {
        let found = tuned(&folder, &program, &[("PREFERRED", preferred)]);
        assert_ne!(found["answer"], "better", "{found:#}");
        let verdict = found["verdict"].as_str().expect("a text");
        assert!(
            verdict.starts_with("no lock gains over the default, futex-hmcs"),
            "{verdict}"
        );
        assert!(found["file"].is_null());
    }
    // A single thread: the first run shows it.
    let found = tuned(&folder, &program, &[("ALONE", "1")]);
    let judgement = found["judgement"].as_str().expect("a judgement");
    assert!(judgement.contains("nothing to gain"), "{judgement}");
    assert_eq!(found["tried"].as_array().map(Vec::len), Some(1));
    assert!(!folder.path().join("tuned.cohort.toml").exists());
}

#[test]
fn what_cannot_be_tuned_is_refused() {
    for (words, code, why) in [
        (vec!["--", "/absent/program"], 127, "/absent/program"),
        (
            vec!["-o", "/absent/f", "--", "true"],
            125,
            "choose another file",
        ),
        (vec!["--metric", "(", "--", "true"], 2, "--metric"),
        (
            vec!["--on", "epyc-7352x2", "--", "true"],
            2,
            "cannot be used with",
        ),
        (vec!["--", "false"], 125, "fails under the default lock"),
    ] {
        let folder = TempDir::new().expect("a temporary folder");
        cohort()
            .arg("tune")
            .args(&words)
            .current_dir(folder.path())
            .assert()
            .code(code)
            .stdout("")
            .stderr(contains("cohort: ").and(contains(why)));
        assert_eq!(
            std::fs::read_dir(folder.path()).expect("a folder").count(),
            0
        );
    }
}

/// A search with `net.c` as a server, and with a client of these words.
fn served(folder: &TempDir, net: &Path, server: &str, client: &str) -> Command {
    let net = net.display();
    let (server, client) = (format!("{net} {server}"), format!("{net} {client}"));
    tune(folder, &["--server", &server, "--client", &client])
}

#[test]
fn the_lock_that_a_server_gains_under_is_found_and_written() {
    let folder = TempDir::new().expect("a temporary folder");
    let net = compiled::net();
    let net = net.path();
    let file = folder.path().join("count.cohort.toml");
    let mut command = served(&folder, &net, "serve {port}", "ask {port} 3");
    command
        .args(["--json", "--within", "20", "--metric"])
        .arg(format!("rate={SCORE}"));
    let nothing = found(command.env("PREFERRED", "none"));
    assert_ne!(nothing["answer"], "better", "{nothing:#}");
    assert!(!file.exists());
    let found = found(command.env("PREFERRED", "ticket"));
    assert_eq!(found["metric"], "rate");
    assert_eq!(found["answer"], "better", "{found:#}");
    assert_eq!(found["gain"]["median"], 2.0, "{found:#}");
    let text = std::fs::read_to_string(&file).expect("it was written");
    assert!(text.contains("\nlock = \"ticket\"\n"), "{text}");
    assert_eq!(running(&net), [0; 0]);
}

/// Each failure is reported with what to do, and nothing is left running or written.
#[test]
fn a_server_that_cannot_be_tuned_is_refused() {
    let folder = TempDir::new().expect("a temporary folder");
    let net = compiled::net();
    let net = net.path();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("bound").port().to_string();
    for (server, client, options, words) in [
        ("serve {port}", "no {port}", &[][..], "the client failed"),
        (
            "serve {port}",
            "ask {port} 1 end",
            &[],
            "ended before its client",
        ),
        ("leave {port}", "ask {port}", &[], "foreground"),
        (
            &format!("serve {port}"),
            "ask {port}",
            &["--ready", &port],
            "already",
        ),
        (
            "serve {port}",
            "ask {port}",
            &["--metric", "no such ([0-9]+)"],
            "does not match",
        ),
    ] {
        let output = served(&folder, &net, server, client)
            .args(options)
            .output()
            .expect("the command runs");
        assert_eq!(output.status.code(), Some(125), "{server}: {output:?}");
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(
            told.starts_with("cohort: ") && told.contains(words),
            "{told}"
        );
        assert_eq!(running(&net), [0; 0], "{server}");
    }
    let path = net.display().to_string();
    for (words, why) in [
        (&["--server", "a", "--client", "b"][..], "--ready"),
        (&["--server", "a {port}"], "--client"),
        (
            &["--server", "a {port}", "--client", "b", "--", &path],
            "cannot be used with",
        ),
        (
            &[
                "--server",
                "a {port}",
                "--client",
                "b",
                "--on",
                "epyc-7352x2",
            ],
            "cannot be used with",
        ),
        (&["--"], "--server"),
    ] {
        let output = tune(&folder, words).output().expect("the command runs");
        assert_eq!(output.status.code(), Some(2), "{words:?}: {output:?}");
        assert!(
            String::from_utf8_lossy(&output.stderr).contains(why),
            "{output:?}"
        );
    }
    assert_eq!(
        std::fs::read_dir(folder.path()).expect("a folder").count(),
        0
    );
}

/// The line to type is for the search, not for a comparison.
#[test]
fn a_search_recognises_a_server() {
    let folder = TempDir::new().expect("a temporary folder");
    let net = compiled::net();
    let net = net.path();
    let port = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.local_addr().expect("bound").port().to_string()
    };
    let path = net.display().to_string();
    let output = tune(&folder, &["--", &path, "serve", &port])
        .output()
        .expect("the command runs");
    assert_eq!(output.status.code(), Some(125), "{output:?}");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(
        told.contains("cohort tune --server") && told.contains("serve {port}' --ready {port}"),
        "{told}"
    );
    assert_eq!(running(&net), [0; 0]);
}

/// Ctrl-C ends a search with the figures so far.
#[test]
fn a_search_that_is_interrupted_shows_its_figures() {
    let folder = TempDir::new().expect("a temporary folder");
    let net = compiled::net();
    let net = net.path();
    let asked = folder.path().join("asked");
    let client = format!("ask {{port}} 3 && echo >>{}", asked.display());
    let child = served(&folder, &net, "serve {port}", &client)
        .args(["--json", "--within", "3600"])
        .env("PREFERRED", "none")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command runs");
    let began = Instant::now();
    let lines = || std::fs::read_to_string(&asked).map_or(0, |text| text.lines().count());
    // A warm-up, then three locks, each with two repetitions at most.
    while lines() <= 1 + 3 * 3 {
        assert!(began.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(5));
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("our child");
    let output = child.wait_with_output().expect("our child");
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("interrupted"), "{told}");
    let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    valid("tune-program", &found);
    let tried = found["tried"].as_array().expect("a list");
    let has_figures = |one: &&Value| one["figures"].as_array().is_some_and(|all| !all.is_empty());
    assert!(tried.iter().filter(has_figures).count() >= 3, "{found:#}");
    assert!(
        found["file"].is_null() && found["answer"].is_null(),
        "{found:#}"
    );
    assert_eq!(running(&net), [0; 0]);
}
