//! `cohort top` and `cohort profile snapshot` watch a program that runs, begin and end as they like,
//! and say why they cannot.

use crate::debug::has_containers;
use crate::{LEFT_OUT, cohort};
use predicates::prelude::PredicateBooleanExt;
use predicates::str::{contains, starts_with};
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::FromRawFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Compiles a source file of this package, seen from its folder.
pub fn compile(source: &str, into: &TempDir) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(source);
    let program = into.path().join(source.file_stem().expect("a file"));
    let status = Command::new("cc")
        .args(["-g", "-O1", "-Wall", "-Wextra", "-Werror", "-o"])
        .arg(&program)
        .arg(&source)
        .arg("-lpthread")
        .status()
        .expect("there is a C compiler");
    assert!(status.success(), "{} does not compile", source.display());
    program
}

/// A program that runs, until this value goes, and the first line that it has printed.
pub struct Running {
    child: Child,
    said: String,
}

impl Running {
    fn start(words: &[&str]) -> Self {
        let mut command = Command::new(crate::command());
        for name in LEFT_OUT {
            command.env_remove(name);
        }
        let mut child = command
            .args(words)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the command runs");
        let mut said = String::new();
        let output = child.stdout.take().expect("a pipe");
        BufReader::new(output).read_line(&mut said).expect("text");
        Self { child, said }
    }

    /// The queue, for so many seconds at most.
    pub fn queue(folder: &TempDir, seconds: &str) -> Self {
        let program = compile("../../examples/profile/queue.c", folder);
        let program = program.to_str().expect("plain");
        Self::start(&["run", "--observe", "--", program, seconds])
    }

    /// Waits until it has become the program of that name, and that sleeps.
    fn sleeps(&self, name: &str) {
        let there = format!("({name}) S");
        let last = Instant::now() + Duration::from_secs(20);
        loop {
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.id()));
            let stat = stat.expect("it runs");
            if stat.contains(&there) {
                return;
            }
            assert!(Instant::now() < last, "no {there} in {stat}");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Its number.
    pub fn id(&self) -> String {
        self.child.id().to_string()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What `cohort top` says in JSON, with these words too.
fn seen(process: &str, words: &[&str]) -> Value {
    let output = cohort()
        .args(["top", "--json", "--once", "--interval", "0.5"])
        .args(words)
        .arg(process)
        .output()
        .expect("the command runs");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn names(seen: &Value) -> Vec<&str> {
    let locks = seen["locks"].as_array().expect("locks");
    locks
        .iter()
        .filter_map(|lock| lock["name"].as_str())
        .collect()
}

#[test]
fn a_running_programs_locks_are_seen_again_and_again() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let running = Running::queue(&folder, "50");
    for _ in 0..2 {
        let seen = seen(&running.id(), &[]);
        assert_eq!(seen["process"], running.child.id());
        assert_eq!(
            (&seen["program"], &seen["lock"]),
            (&"queue".into(), &"futex-hmcs".into())
        );
        assert_eq!(seen["threads"], 4);
        let lock = &seen["locks"][0];
        assert_eq!(
            (&lock["name"], &lock["named_by"], &lock["kind"]),
            (&"queue_lock".into(), &"symbol".into(), &"mutex".into())
        );
        // One drains while two wait, nearly all the time.
        assert!(lock["lost_per_second"].as_f64() > Some(0.3), "{seen:#}");
        assert!(lock["taken_per_second"].as_f64() > Some(1.0), "{seen:#}");
        let place = |list: &str| &lock[list][0]["frames"][0]["function"];
        assert_eq!(place("waited_at"), "fill", "{seen:#}");
        assert_eq!(place("held_at"), "drain", "{seen:#}");
        for holder in lock["holders"].as_array().expect("holders") {
            assert!(holder["name"] == "drain" || holder["name"] == "fill");
        }
    }
}

/// What a shell starts in the background is the shell still when its number is known.
#[test]
fn a_shell_that_is_about_to_become_the_command_is_waited_for() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let program = compile("../../examples/profile/queue.c", &folder);
    let script = "sleep 0.2; exec \"$0\" run --observe -- \"$1\" 50";
    let child = Command::new("sh")
        .args(["-c", script, crate::command()])
        .arg(program)
        .stdout(Stdio::null())
        .spawn()
        .expect("there is a shell");
    let said = String::new();
    let running = Running { child, said };
    assert_eq!(seen(&running.id(), &[])["program"], "queue");
}

#[test]
fn the_table_fits_a_terminal_and_is_sorted_and_filtered() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let running = Running::queue(&folder, "50");
    let output = cohort()
        .args(["top", "--once", "--interval", "0.3"])
        .arg(running.id())
        .output()
        .expect("the command runs");
    let said = String::from_utf8(output.stdout).expect("text");
    for words in [
        "queue (process",
        "under futex-hmcs",
        "queue_lock",
        "settings (rwlock)",
    ] {
        assert!(said.contains(words), "no {words:?} in {said}");
    }
    for line in said.lines() {
        assert!(line.chars().count() <= 80, "{line}");
        assert_eq!(line, line.trim_end());
    }
    let by_name = seen(&running.id(), &["--sort", "name"]);
    assert_eq!(names(&by_name), ["queue_lock", "settings"]);
    let taken = seen(&running.id(), &["--sort", "taken", "--filter", "SETT"]);
    assert_eq!(names(&taken), ["settings"]);
    let none = seen(&running.id(), &["--filter", "nobody"]);
    assert!(names(&none).is_empty());
}

#[test]
fn one_watches_at_a_time_and_one_that_was_killed_does_not_count() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let running = Running::queue(&folder, "50");
    let watch_long = || {
        Command::new(crate::command())
            .args(["top", "--once", "--interval", "60", &running.id()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the command runs")
    };
    let mut other = watch_long();
    let refused = (0..100).any(|_| {
        // It may not have begun yet, or have been refused itself.
        std::thread::sleep(Duration::from_millis(100));
        if other.try_wait().expect("it was started here").is_some() {
            other = watch_long();
        }
        let output = cohort()
            .args(["top", "--once", "--interval", "0.05", &running.id()])
            .output()
            .expect("the command runs");
        String::from_utf8_lossy(&output.stderr).contains("already has an observer")
    });
    other.kill().expect("it runs");
    other.wait().expect("it was started here");
    assert!(refused, "two watched at once");
    assert_eq!(
        names(&seen(&running.id(), &["--filter", "queue"])),
        ["queue_lock"]
    );
}

#[test]
fn a_program_that_ends_while_it_is_watched_is_said_to_have_ended() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut running = Running::queue(&folder, "1");
    let watching = cohort()
        .args(["top", "--once", "--interval", "50", &running.id()])
        .timeout(Duration::from_secs(40))
        .assert();
    watching.code(0).stderr(contains("has ended"));
    let status = running.child.wait().expect("it was started here");
    assert!(status.success());
}

#[test]
fn a_daemon_that_closes_all_its_files_keeps_its_records() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let program = compile("tests/command/daemon.c", &folder);
    for way in ["0", "1", "2"] {
        let program = program.to_str().expect("plain");
        let running = Running::start(&["run", "--observe", "--", program, way]);
        let process = running.said.trim();
        let seen = seen(process, &[]);
        assert_eq!(names(&seen), ["ledger"], "by way {way}: {seen:#}");
        let _ = Command::new("kill").arg(process).status();
    }
}

#[test]
fn a_snapshot_has_what_happened_in_its_time() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let running = Running::queue(&folder, "50");
    let file = folder.path().join("p.json");
    // More was taken before and between than in each.
    for _ in 0..2 {
        let output = cohort()
            .args(["profile", "snapshot", "--for", "0.7", "-o"])
            .arg(&file)
            .arg(running.id())
            .output()
            .expect("the command runs");
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let said = String::from_utf8(output.stdout).expect("text");
        assert!(said.contains("1. queue_lock"), "{said}");
        let bytes = std::fs::read(&file).expect("the profile was written");
        let profile: Value = serde_json::from_slice(&bytes).expect("JSON");
        assert_eq!(
            (&profile["program"], &profile["lock"]),
            (&"queue".into(), &"futex-hmcs".into())
        );
        assert_eq!(
            (&profile["processes"], &profile["threads"]),
            (&1.into(), &3.into())
        );
        let lock = &profile["locks"][0];
        assert!(lock["lost"]["value"].as_f64() > Some(0.2), "{profile:#}");
        // One acquisition drains for 5 ms, and each filler gets in once meanwhile, or a few times.
        let acquired = lock["acquired"].as_u64().expect("a number");
        assert!((1..100_000).contains(&acquired), "{profile:#}");
        let site = |function: &str| {
            let sites = lock["sites"].as_array().expect("sites");
            sites
                .iter()
                .find(|site| site["frames"][0]["function"] == function)
                .unwrap_or_else(|| panic!("no {function}: {profile:#}"))
        };
        assert!(site("fill")["lost"].as_f64() > site("drain")["lost"].as_f64());
        assert!(site("drain")["blamed"].as_f64() > site("fill")["blamed"].as_f64());
        std::thread::sleep(Duration::from_millis(300));
    }
}

/// It has another number there.
#[test]
fn a_process_in_a_container_is_watched_from_outside() {
    if !has_containers() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let program = compile("../../examples/profile/queue.c", &folder);
    let mut command = Command::new("unshare");
    command.args(["-rpf", "--mount-proc", "--kill-child"]);
    command.arg(crate::command());
    command.args(["run", "--observe", "--"]);
    command.arg(&program).arg("50").stdout(Stdio::null());
    for name in LEFT_OUT {
        command.env_remove(name);
    }
    let child = command.spawn().expect("unshare runs");
    let said = String::new();
    let outside = Running { child, said };
    let children = format!("/proc/{0}/task/{0}/children", outside.id());
    let last = Instant::now() + Duration::from_secs(20);
    let inside = loop {
        let children = std::fs::read_to_string(&children).expect("it runs");
        let name = |process: &str| std::fs::read_to_string(format!("/proc/{process}/comm"));
        match children.split_whitespace().next() {
            Some(process) if name(process).is_ok_and(|name| name.trim() == "queue") => {
                break process.to_owned();
            }
            _ => assert!(Instant::now() < last, "no child in {children:?}"),
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    let seen = seen(&inside, &[]);
    assert_eq!(seen["process"].to_string(), inside);
    assert!(names(&seen).contains(&"queue_lock"), "{seen:#}");
    let lock = &seen["locks"][0];
    assert!(lock["lost_per_second"].as_f64() > Some(0.3), "{seen:#}");
}

#[test]
fn what_cannot_be_watched_is_said_with_what_to_do() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let refused = |process: &str, status: i32, says: &str| {
        for words in [&["top", "--once"][..], &["profile", "snapshot"]] {
            cohort()
                .args(words)
                .arg(process)
                .assert()
                .code(status)
                .stderr(starts_with("cohort: ").and(contains(says)));
        }
    };
    refused("4194305", 2, "no process 4194305");
    // This process runs under nothing, then has records of another version.
    let own = std::process::id().to_string();
    cohort()
        .args(["profile", "snapshot", &own])
        .assert()
        .code(125)
        .stderr(contains("start it with `cohort run --observe`"));
    let program = compile("../../examples/profile/queue.c", &folder);
    let program = program.to_str().expect("plain");
    let usual = Running::start(&["run", "--", program, "50"]);
    refused(&usual.id(), 125, "without --observe");
    let idle = Running::start(&["run", "--observe", "--", "sh", "-c", "echo; exec sleep 50"]);
    idle.sleeps("sleep");
    refused(&idle.id(), 125, "has used no lock");
    // SAFETY: the name is a string, and nothing else owns the new file.
    let mut file = unsafe {
        let file = libc::memfd_create(c"cohort-records".as_ptr(), libc::MFD_CLOEXEC);
        assert!(file >= 0);
        std::fs::File::from_raw_fd(file)
    };
    file.write_all(b"COHORTO1 and more").expect("room");
    refused(&own, 125, "another version of Cohort");
}

#[test]
fn what_the_library_that_observes_has_not_is_refused() {
    for words in [&["--report"][..], &["--lock", "system"]] {
        cohort()
            .args(["run", "--observe"])
            .args(words)
            .args(["--", "true"])
            .assert()
            .code(2)
            .stderr(contains("--observe"));
    }
    cohort()
        .args(["top", "--interval", "0", "1"])
        .assert()
        .code(2)
        .stderr(contains("seconds from 0.05"));
}

/// A line for each interval, until the process ends.
#[test]
fn json_is_a_stream() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let running = Running::queue(&folder, "50");
    let id = running.id();
    let mut command = Command::new(crate::command());
    for name in LEFT_OUT {
        command.env_remove(name);
    }
    let mut watching = command
        .args(["top", "--json", "--interval", "0.2", &id])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command runs");
    let output = BufReader::new(watching.stdout.take().expect("a pipe"));
    let mut lines = output.lines();
    for _ in 0..2 {
        let line = lines.next().expect("another line").expect("text");
        let seen: Value = serde_json::from_str(&line).expect("a document");
        assert_eq!(
            (&seen["format"], &seen["program"]),
            (&1.into(), &"queue".into())
        );
        assert_eq!(seen["locks"][0]["name"], "queue_lock", "{seen}");
    }
    drop(running);
    let last = lines.last().expect("a last line").expect("text");
    let seen: Value = serde_json::from_str(&last).expect("a document");
    assert_eq!(seen["has_ended"], true, "{seen}");
    assert_eq!(watching.wait().expect("it ends").code(), Some(0));
}
