//! Processes that do not run under Cohort: `top`, `locks`, `check` and `profile --pid` look at them from
//! outside.

use crate::top::compile;
use crate::{LEFT_OUT, cohort, compiled};
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use serde_json::Value;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A program that is ended with the test.
pub struct Running(Child);

impl Running {
    pub fn start(program: &Path, arguments: &[&str]) -> Self {
        let mut command = Command::new(program);
        command.args(arguments).env_remove("LD_PRELOAD");
        Self::of(command)
    }

    /// Starts a program, and returns once it has several threads.
    pub fn of(mut command: Command) -> Self {
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program runs");
        let running = Self(child);
        let began = Instant::now();
        let threads = || std::fs::read_dir(format!("/proc/{}/task", running.0.id()));
        while threads().map_or(0, Iterator::count) < 2 {
            assert!(
                began.elapsed() < Duration::from_secs(30),
                "it has one thread"
            );
            std::thread::sleep(Duration::from_millis(5));
        }
        running
    }

    pub fn id(&self) -> String {
        self.0.id().to_string()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn json(words: &[&str]) -> Value {
    let mut command = Command::new(crate::command());
    for name in LEFT_OUT {
        command.env_remove(name);
    }
    let output = command.args(words).output().expect("the command runs");
    assert!(output.status.success(), "{words:?}: {output:?}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn top_finds_the_lock_and_its_holder() {
    let folder = TempDir::new().expect("a temporary folder");
    let program = compile("../../examples/profile/queue.c", &folder);
    let queue = Running::start(&program, &["60"]);
    let said = json(&["top", "--json", "--once", "--interval", "2", &queue.id()]);
    let first = &said["locks"][0];
    assert_eq!(first["name"], "queue_lock", "{said}");
    assert_eq!(first["kind"], "mutex");
    assert!(first["taken_per_second"].is_null());
    // Two threads fill it, and wait while it is drained.
    let lost = first["lost_per_second"].as_f64().expect("a number");
    assert!((0.5..=2.05).contains(&lost), "{said}");
    assert_eq!(first["holders"][0]["name"], "drain", "{said}");
    let share = first["holders"][0]["share"].as_f64();
    assert!(share > Some(0.5), "{said}");
    let held = &first["held_at"][0]["frames"][0];
    assert!(
        held["file"]
            .as_str()
            .is_some_and(|file| file.ends_with("queue.c")),
        "{said}"
    );
    let waited = &first["waited_at"][0]["frames"][0];
    assert_eq!(waited["function"], "fill", "{said}");
    let cost = said["cost"].as_f64().expect("a number");
    assert!(cost < 0.02, "sampling took {cost}");
    assert!(said["naming"].as_f64() > Some(0.0), "{said}");
    cohort()
        .args(["top", "--once", &queue.id()])
        .assert()
        .code(0)
        .stdout(contains("queue_lock").and(contains("sampling took")));
}

/// The lock that costs most time is the same under Cohort and not; ten times each in the full tier.
#[test]
fn top_finds_the_same_lock_as_under_cohort() {
    let folder = TempDir::new().expect("a temporary folder");
    let program = compile("tests/command/hottest.c", &folder);
    let program = program.as_path();
    let is_full = std::env::var("COHORT_TIER").as_deref() == Ok("full");
    let hottest = &|running: &Running| {
        let said = json(&["top", "--json", "--once", "--interval", "1", &running.id()]);
        said["locks"][0]["name"].as_str().map(str::to_owned)
    };
    // One after the other: their threads would keep each other from the CPUs.
    for (load, hot) in [
        ("mutex", "hot"),
        ("rwlock", "hot_rwlock"),
        ("queue", "hot"),
        ("allocator", "hot"),
        ("nested", "hot"),
    ] {
        for round in 0..if is_full { 10 } else { 1 } {
            let outside = Running::start(program, &[load]);
            assert_eq!(
                hottest(&outside).as_deref(),
                Some(hot),
                "{load}, run {round}"
            );
            drop(outside);
            let under = observed(program, load);
            assert_eq!(hottest(&under).as_deref(), Some(hot), "{load} under Cohort");
        }
    }
}

/// The program under Cohort, ready to be observed.
fn observed(program: &Path, argument: &str) -> Running {
    let mut command = Command::new(crate::command());
    for name in LEFT_OUT {
        command.env_remove(name);
    }
    command
        .args(["run", "--observe", "--"])
        .arg(program)
        .arg(argument);
    Running::of(command)
}

/// Under Cohort with counts, otherwise from outside.
#[test]
fn a_running_process_is_profiled() {
    let folder = TempDir::new().expect("a temporary folder");
    let program = compile("../../examples/profile/queue.c", &folder);
    let queue = Running::start(&program, &["60"]);
    let profile = |words: &[&str]| {
        let mut command = cohort();
        command.args(["profile", "--seconds", "1", "--pid"]);
        command.args(words).assert()
    };
    profile(&[&queue.id()]).code(0).stdout(
        contains("mutex queue_lock")
            .and(contains("held by"))
            .and(contains("waited at"))
            .and(contains("fill ")),
    );
    let file = folder.path().join("p.json");
    let path = file.to_str().expect("text");
    profile(&[&queue.id(), "-o", path]).code(0);
    let said = std::fs::read(&file).expect("it was written");
    let said: Value = serde_json::from_slice(&said).expect("JSON");
    assert_eq!(said["locks"][0]["name"], "queue_lock", "{said}");
    profile(&[&queue.id(), "--html", path])
        .code(2)
        .stderr(contains("start the program by `cohort run --observe`"));
    profile(&["4194304"]).code(2).stderr(contains("no process"));
    drop(queue);
    let under = observed(&program, "60");
    let said = json(&["profile", "--json", "--seconds", "1", "--pid", &under.id()]);
    assert!(said["cohort_profile"].is_number(), "{said}");
    assert!(said["locks"][0]["acquired"].as_u64() > Some(0), "{said}");
}

/// The shell waits for the programs that it has started.
#[test]
fn a_tree_has_the_locks_of_all_its_processes() {
    let folder = TempDir::new().expect("a temporary folder");
    let queue = compile("../../examples/profile/queue.c", &folder);
    let hottest = compile("tests/command/hottest.c", &folder);
    let script = format!(
        "{} 60 & {} mutex & wait",
        queue.display(),
        hottest.display()
    );
    let mut command = Command::new("sh");
    command.args(["-c", &script]).env_remove("LD_PRELOAD");
    command.process_group(0);
    let shell = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the shell runs");
    let shell = Group(shell);
    let id = &shell.0.id().to_string();
    let names = ["queue: queue_lock", "hottest: hot"];
    let began = Instant::now();
    loop {
        let said = json(&["top", "--tree", "--once", "--json", id]);
        let locks = said["locks"].as_array().expect("a list");
        let has = |name| locks.iter().any(|lock| lock["name"] == name);
        if names.into_iter().all(has) {
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{said}");
    }
    let alone = json(&["top", "--once", "--json", id]);
    assert_eq!(alone["locks"].as_array().map(Vec::len), Some(0), "{alone}");
    let tree = ["--tree", "--seconds", "2"];
    cohort()
        .args(["profile", "--pid", id])
        .args(tree)
        .assert()
        .code(0)
        .stdout(
            contains("sh (process")
                .and(contains(names[0]))
                .and(contains(names[1])),
        );
    let checked = json(&[&["check", "--json", id], &tree[..]].concat());
    assert_ne!(checked["verdict"], "not-locks", "{checked}");
    for command in ["check", "profile"] {
        cohort()
            .args([command, "--tree", "--", "true"])
            .assert()
            .code(2);
    }
}

/// A shell with all that it has started; ended with the test.
struct Group(Child);

impl Drop for Group {
    fn drop(&mut self) {
        let group = rustix::process::Pid::from_child(&self.0);
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        let _ = self.0.wait();
    }
}

/// A mutex, a rwlock, a condition and more, each distinguished from the others.
#[test]
fn locks_tells_what_threads_wait_for() {
    let program = compiled::waits();
    let waits = Running::start(&program.path(), &[]);
    let began = Instant::now();
    loop {
        let said = json(&["locks", "--json", &waits.id()]);
        let locks = said["locks"].as_array().expect("a list");
        let kinds: Vec<&str> = locks
            .iter()
            .filter_map(|lock| lock["kind"].as_str())
            .collect();
        if ["mutex", "rwlock", "condition"]
            .iter()
            .all(|kind| kinds.contains(kind))
        {
            let mutex = locks
                .iter()
                .find(|lock| lock["kind"] == "mutex")
                .expect("one");
            assert!(mutex["variable"].is_string(), "{said}");
            assert_eq!(mutex["holders"].as_array().map(Vec::len), Some(1), "{said}");
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(30), "{said}");
        std::thread::sleep(Duration::from_millis(50));
    }
    cohort()
        .args(["locks", &waits.id()])
        .assert()
        .code(0)
        .stdout(contains("not under Cohort"));
}

#[test]
fn check_says_where_a_holder_sleeps() {
    let folder = TempDir::new().expect("a temporary folder");
    let program = compile("../../examples/profile/queue.c", &folder);
    let queue = Running::start(&program, &["60"]);
    cohort()
        .args(["check", "--seconds", "2", &queue.id()])
        .assert()
        .code(0)
        .stdout(contains("Locks, held too long at").and(contains("queue.c:")));
    let said = json(&["check", "--json", "--seconds", "1", &queue.id()]);
    assert_eq!(said["verdict"], "held-too-long");
    assert_eq!(said["format"], 1);
}

/// Twenty threads wait for one lock: the table names some, JSON all.
#[test]
fn a_crowd_of_waiters_is_counted() {
    let folder = TempDir::new().expect("a temporary folder");
    let program = compile("tests/command/crowd.c", &folder);
    let crowd = Running::start(&program, &[]);
    let began = Instant::now();
    let waiting = || {
        let said = json(&["locks", "--json", &crowd.id()]);
        let locks = said["locks"].as_array().cloned().unwrap_or_default();
        let mut waiters = locks.iter().filter_map(|lock| lock["waiters"].as_array());
        waiters.next().map_or(0, Vec::len)
    };
    while waiting() < 20 {
        assert!(began.elapsed() < Duration::from_secs(60), "{}", waiting());
    }
    cohort()
        .args(["locks", &crowd.id()])
        .assert()
        .code(0)
        .stdout(contains("and 12 more"));
}

/// A process with threads is no shell that is about to become the command: it is not waited for.
#[test]
fn a_young_program_is_looked_at_at_once() {
    let folder = TempDir::new().expect("a temporary folder");
    let program = compile("../../examples/profile/queue.c", &folder);
    let ticks = |words: &str| -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{words}/stat")).expect("it runs");
        let (_, rest) = stat.rsplit_once(") ").expect("its name");
        let began = rest.split(' ').nth(19).expect("its begin");
        began.parse().expect("a number")
    };
    // The least of several: the machine may be busy.
    let waited = (0..5).map(|_| {
        let queue = Running::start(&program, &["60"]);
        let said = Command::new(crate::command())
            .args(["top", "--once", "--interval", "0.05", &queue.id()])
            .output()
            .expect("the command runs");
        assert!(said.status.success(), "{said:?}");
        let after = Running::start(&program, &["60"]);
        ticks(&after.id()) - ticks(&queue.id())
    });
    let least = waited.min().expect("five");
    // In hundredths of a second; a process counts as young for two seconds.
    assert!(least < 180, "{least}");
}

#[test]
fn check_says_that_it_is_not_locks() {
    cohort()
        .args(["check", "--", "sha256sum", "/dev/null"])
        .assert()
        .code(0)
        .stdout(contains("Not locks:").and(contains("0 acquisitions")));
}

#[test]
fn what_cannot_be_checked_is_told() {
    cohort()
        .args(["check", "4294967295"])
        .assert()
        .code(2)
        .stderr(contains("no process"));
    cohort().args(["check"]).assert().code(2);
    cohort()
        .args(["check", "--", "sh", "-c", "echo no luck; exit 3"])
        .assert()
        .code(125)
        .stderr(contains("no luck"));
    // The beginning of a 32-bit program; it is not run.
    let folder = TempDir::new().expect("a temporary folder");
    let program = folder.path().join("old");
    let mut bytes = b"\x7fELF\x01\x01\x01".to_vec();
    bytes.resize(64, 0);
    std::fs::write(&program, bytes).expect("the folder is ours");
    let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&program, permissions).expect("it is ours");
    cohort()
        .args(["check", "--"])
        .arg(&program)
        .assert()
        .code(125)
        .stderr(contains("32-bit program"));
    let net = compiled::net();
    cohort()
        .args(["check", "--"])
        .arg(net.path())
        .args(["serve", "0"])
        .assert()
        .code(125)
        .stderr(contains("--server").and(contains("cohort check PID")));
}

#[test]
fn ps_lists_the_process_whose_locks_cost_time() {
    let folder = TempDir::new().expect("a temporary folder");
    let program = compile("../../examples/profile/queue.c", &folder);
    let queue = Running::start(&program, &["60"]);
    let said = json(&["ps", "--json", "--seconds", "2"]);
    let processes = said["processes"].as_array().expect("a list");
    let id: u64 = queue.id().parse().expect("a number");
    let row = processes
        .iter()
        .find(|row| row["process"] == id)
        .unwrap_or_else(|| panic!("{said}"));
    assert_eq!(row["program"], "queue", "{said}");
    assert_eq!(row["under_cohort"], false, "{said}");
    assert_ne!(row["verdict"], "not-locks", "{said}");
    assert!(row["share_lost"].as_f64() > Some(0.1), "{said}");
    cohort()
        .args(["ps", "--seconds", "1"])
        .assert()
        .code(0)
        .stdout(contains("queue").and(contains("queue_lock")));
}

/// A stand-in for elfutils' client finds the debug information of a stripped program.
#[test]
fn debuginfod_gives_lines_to_a_stripped_program() {
    let folder = TempDir::new().expect("a temporary folder");
    let program = compile("../../examples/profile/queue.c", &folder);
    let kept = folder.path().join("kept.debug");
    let changed = |tool: &str, arguments: &[&str]| {
        let status = Command::new(tool).args(arguments).status();
        assert!(status.expect("binutils are here").success(), "{tool}");
    };
    let [path, debug] = [&program, &kept].map(|file| file.to_str().expect("text"));
    changed("objcopy", &["--only-keep-debug", path, debug]);
    changed("strip", &["--strip-debug", path]);
    let client = folder.path().join("debuginfod-find");
    let script = format!("#!/bin/sh\n[ \"$1\" = debuginfo ] && echo {debug}\n");
    std::fs::write(&client, script).expect("our folder");
    let everybody = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&client, everybody).expect("our file");
    let queue = Running::start(&program, &["60"]);
    let file = |servers: &str| {
        let path = std::env::var("PATH").unwrap_or_default();
        let output = cohort()
            .args(["top", "--json", "--once", &queue.id()])
            .env("PATH", format!("{}:{path}", folder.path().display()))
            .env("DEBUGINFOD_URLS", servers)
            .output()
            .expect("the command runs");
        let said: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let place = &said["locks"][0]["waited_at"][0]["frames"][0];
        place["file"].as_str().map(str::to_owned)
    };
    assert_eq!(file(""), None);
    let found = file("http://127.0.0.1:9");
    assert!(
        found.as_ref().is_some_and(|file| file.ends_with("queue.c")),
        "{found:?}"
    );
}
