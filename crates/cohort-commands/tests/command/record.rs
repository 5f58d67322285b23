//! `cohort record` and `cohort replay`: programs of known patterns, and files that are no traces.

use crate::cohort;
use crate::schemas::valid;
use crate::top::compile;
use assert_cmd::assert::Assert;
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A folder with the program.
fn place() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let program = compile("tests/command/pattern.c", &folder);
    (folder, program)
}

/// Records the program with these words, whatever it costs.
fn record(folder: &Path, words: &[&str]) -> Assert {
    let mut command = cohort();
    command.current_dir(folder);
    command.args([
        "record",
        "-o",
        "t.trace",
        "--cost",
        "100",
        "--",
        "./pattern",
    ]);
    command.args(words).assert()
}

fn json(folder: &Path, words: &[&str]) -> Value {
    let output = cohort().current_dir(folder).args(words).output();
    let output = output.expect("the command runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words:?}: {said}");
    serde_json::from_slice(&output.stdout).expect("a document")
}

fn dump(folder: &Path) -> Value {
    let dump = json(
        folder,
        &["record", "dump", "t.trace", "--head", "40", "--json"],
    );
    valid("record-dump", &dump);
    dump
}

/// A lock's figures.
fn lock<'a>(dump: &'a Value, name: &str) -> &'a Value {
    let locks = dump["summary"]["locks"].as_array().expect("a list");
    let found = locks.iter().find(|lock| lock["name"] == name);
    found.unwrap_or_else(|| panic!("no lock {name}: {locks:?}"))
}

fn stderr(of: &Assert) -> String {
    String::from_utf8_lossy(&of.get_output().stderr).into_owned()
}

#[test]
fn a_trace_has_every_operation_with_its_time() {
    let (folder, _) = place();
    let done = record(folder.path(), &["2", "2000", "2000", "8000"]).code(3);
    let said = stderr(&done);
    assert!(said.contains("recorded all"), "{said}");
    assert!(said.contains("% of the program's CPU time"), "{said}");
    let dump = dump(folder.path());
    let hot = lock(&dump, "hot");
    assert_eq!(hot["acquired"], 4_000);
    assert_eq!(lock(&dump, "inner")["acquired"], 40);
    // The clock's reads in the loop and between operations take some time.
    let median = |what: &str| hot[what]["p50"].as_u64().expect("nanoseconds");
    assert!((1_950..3_000).contains(&median("hold")), "{hot}");
    assert!((7_900..10_000).contains(&median("gap")), "{hot}");
    let events = dump["events"].as_array().expect("a list");
    assert!(events.iter().any(|event| event["event"] == "create"));
    assert!(
        events
            .windows(2)
            .all(|two| two[0]["at"].as_u64() <= two[1]["at"].as_u64())
    );
}

/// The replay of a recorded pattern resembles its direct simulation. The bounds are generous, since the
/// host disturbs the recording; the replay of an undisturbed trace is within 5 % (`replay.rs` of the
/// laboratory).
#[test]
fn a_replay_resembles_the_direct_simulation() {
    let (folder, _) = place();
    let _ = record(folder.path(), &["4", "3000", "2000", "8000"]).code(3);
    let words = "replay t.trace --on i5-12500 --locks mcs,ticket --lines 1 --seeds 1 --json";
    let words: Vec<&str> = words.split(' ').collect();
    let replayed = json(folder.path(), &words);
    valid("replay", &replayed);
    let words = "bench --on i5-12500 --workload loop --locks mcs,ticket --served --threads 4 \
                 --critical 2000ns --outside 8000ns --lines 1 --json";
    let words: Vec<&str> = words.split_whitespace().collect();
    let direct = json(folder.path(), &words);
    for name in ["mcs", "ticket"] {
        let of = |points: &Value| {
            let points = points.as_array().expect("a list").clone();
            let point = points.into_iter().find(|point| point["lock"] == name);
            point.unwrap_or_else(|| panic!("no point of {name}"))
        };
        let replayed = of(&replayed["points"])["runs"][0]["per_second"].as_f64();
        let direct = of(&direct["points"])["middle"]["per_second"].as_f64();
        let (replayed, direct) = (replayed.expect("a rate"), direct.expect("a rate"));
        let ratio = replayed / direct;
        assert!(
            (0.5..1.2).contains(&ratio),
            "{name}: {replayed} and {direct}"
        );
    }
}

/// Waits at conditions end with their signals, on a machine of any speed and with any number of copies.
#[test]
fn waiters_wait_for_their_signals() {
    let (folder, _) = place();
    let _ = record(folder.path(), &["4", "300", "1000", "20000", "queue"]).code(3);
    let dump = dump(folder.path());
    assert!(
        lock(&dump, "filled")["acquired"].as_u64() > Some(0),
        "{dump}"
    );
    for scale in ["1", "3"] {
        let words = [
            "replay",
            "t.trace",
            "--on",
            "i5-12500",
            "--locks",
            "system,default,mcs",
            "--threads-scale",
            scale,
            "--seeds",
            "2",
            "--json",
        ];
        let replayed = json(folder.path(), &words);
        valid("replay", &replayed);
        // Two producers of 300 items, each after 20 µs.
        for point in replayed["points"].as_array().expect("a list") {
            for run in point["runs"].as_array().expect("a list") {
                assert!(run["seconds"].as_f64() > Some(300.0 * 20e-6), "{point}");
            }
        }
    }
}

/// On this machine a replay takes about as long as the program did, with generous bounds.
#[test]
fn a_native_replay_resembles_the_run() {
    let (folder, _) = place();
    let _ = record(folder.path(), &["2", "3000", "2000", "8000"]).code(3);
    let words = [
        "replay",
        "t.trace",
        "--native",
        "--locks",
        "system,default",
        "--seeds",
        "1",
        "--json",
    ];
    let replayed = json(folder.path(), &words);
    let recorded = replayed["recorded"]["per_second"].as_f64().expect("a rate");
    for point in replayed["points"].as_array().expect("a list") {
        let rate = point["runs"][0]["per_second"].as_f64().expect("a rate");
        assert!(
            (0.1..10.0).contains(&(rate / recorded)),
            "{point}: {recorded}"
        );
    }
}

#[test]
fn forked_and_killed_programs_are_recorded() {
    let (folder, _) = place();
    let _ = record(folder.path(), &["2", "200", "100", "100", "fork"]).code(3);
    let both = dump(folder.path());
    // The child's mutex is another one, of the same name.
    assert_eq!(lock(&both, "hot")["acquired"], 600);
    assert_eq!(lock(&both, "hot")["objects"], 2);
    let output = record(folder.path(), &["2", "200", "100", "100", "abort"]);
    assert_eq!(output.get_output().status.code(), None);
    assert_eq!(lock(&dump(folder.path()), "hot")["acquired"], 400);
}

/// The children of a process.
fn children(process: u32) -> Vec<u32> {
    let file = format!("/proc/{process}/task/{process}/children");
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let numbers = text.split_whitespace();
    numbers.filter_map(|number| number.parse().ok()).collect()
}

/// Waits for a value, for half a minute.
fn awaited<T>(what: &str, mut value: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(value) = value() {
            return value;
        }
        assert!(began.elapsed() < Duration::from_secs(30), "no {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A signal that cannot be handled ends the command; the program ends too, and its trace remains.
#[test]
fn a_killed_command_leaves_the_trace() {
    killed_command_leaves_the_trace(false);
}

/// The same of a program that ignores the request to end.
#[test]
fn a_killed_command_ends_a_program_that_ignores_sigterm() {
    killed_command_leaves_the_trace(true);
}

fn killed_command_leaves_the_trace(ignores: bool) {
    let (folder, _) = place();
    let mut command = Command::new(crate::command());
    for name in crate::LEFT_OUT {
        command.env_remove(name);
    }
    let words = "record -o t.trace --cost 100 -- ./pattern 2 100000000 2000 8000";
    command.args(words.split(' ')).current_dir(folder.path());
    if ignores {
        // The program inherits it.
        // SAFETY: the closure makes one system call.
        unsafe {
            command.pre_exec(|| {
                libc::signal(libc::SIGTERM, libc::SIG_IGN);
                Ok(())
            });
        }
    }
    let mut child = command.spawn().expect("the command runs");
    let program = awaited("program", || {
        let below = children(child.id()).into_iter().flat_map(children);
        below.into_iter().find(|process| {
            let name = std::fs::read_to_string(format!("/proc/{process}/comm"));
            name.is_ok_and(|name| name == "pattern\n") && children(*process).is_empty()
        })
    });
    std::thread::sleep(Duration::from_millis(300));
    child.kill().expect("our child");
    child.wait().expect("it ends");
    let trace = folder.path().join("t.trace");
    awaited("trace", || trace.exists().then_some(()));
    assert!(!Path::new(&format!("/proc/{program}")).exists());
    let dump = dump(folder.path());
    assert!(lock(&dump, "hot")["acquired"].as_u64() > Some(0), "{dump}");
    assert!(dump["end"].is_object(), "{dump}");
}

/// Threads that share a CPU compute no longer than it does.
#[test]
fn threads_without_a_cpu_do_not_compute() {
    let (folder, _) = place();
    let mut command = Command::new(crate::command());
    for name in crate::LEFT_OUT {
        command.env_remove(name);
    }
    let words = "record -o t.trace --cost 100 -- ./pattern 4 60 2000 3000000";
    command.args(words.split(' ')).current_dir(folder.path());
    let first = cohort_lab::world::disturb::allowed_cpus()[0];
    let mut one = rustix::thread::CpuSet::new();
    one.set(first);
    // SAFETY: the closure makes one system call.
    unsafe {
        command.pre_exec(move || Ok(rustix::thread::sched_setaffinity(None, &one)?));
    }
    let ended = command.output().expect("the command runs");
    assert_eq!(ended.status.code(), Some(3), "{ended:?}");
    let words = ["record", "dump", "t.trace", "--head", "10000", "--json"];
    let dump = json(folder.path(), &words);
    let events = dump["events"].as_array().expect("a list");
    let of = |event: &Value, what: &str| event[what].as_u64().unwrap_or(0);
    let computed: u64 = events
        .iter()
        .map(|event| of(event, "gap") - of(event, "slept") - of(event, "preempted"))
        .sum();
    let used = dump["end"]["cpu"].as_u64().expect("nanoseconds");
    // Four threads of 60 rounds of 3 ms, less what they had no CPU for.
    assert!(computed as f64 <= 1.2 * used as f64, "{computed} of {used}");
    assert!(computed as f64 >= 0.8 * used as f64, "{computed} of {used}");
}

/// Beyond --limit and --cost, recording stops; what is written is valid.
#[test]
fn limits_are_kept_and_told() {
    let (folder, _) = place();
    let mut command = cohort();
    command.current_dir(folder.path());
    command.args([
        "record", "-o", "t.trace", "--limit", "1M", "--cost", "100", "--",
    ]);
    let done = command
        .args(["./pattern", "2", "100000", "0", "0"])
        .assert();
    let said = stderr(&done.code(3));
    assert!(said.contains("up to --limit"), "{said}");
    let full = dump(folder.path());
    assert_eq!(full["end"]["is_full"], true);
    assert!(
        full["summary"]["events"].as_u64() < Some(1 << 20 >> 5),
        "{full}"
    );

    let mut command = cohort();
    command.current_dir(folder.path());
    command.args(["record", "-o", "t.trace", "--cost", "1", "--"]);
    let _ = command
        .args(["./pattern", "2", "1000000", "0", "0"])
        .assert()
        .code(3);
    let brief = dump(folder.path());
    let end = |what: &str| brief["end"][what].as_f64().expect("a number");
    assert!(end("recorded") < 0.9 * end("ran"), "{}", brief["end"]);
}

#[test]
fn programs_without_locks_leave_an_empty_trace() {
    let (folder, _) = place();
    let mut command = cohort();
    command.current_dir(folder.path());
    let done = command
        .args(["record", "-o", "t.trace", "--", "true"])
        .assert();
    let said = stderr(&done.success());
    assert!(said.contains("no lock operation was recorded"), "{said}");
    assert_eq!(dump(folder.path())["summary"]["events"], 0);
    refused(folder.path(), "t.trace", "no acquisition");
}

/// `replay` and `dump` refuse a file with one line and this part of it.
fn refused(folder: &Path, file: &str, why: &str) {
    for words in [
        &["record", "dump", file][..],
        &["replay", file, "--on", "i5-12500", "--seeds", "1"],
    ] {
        if why == "no acquisition" && words[0] == "record" {
            continue;
        }
        let done = cohort().current_dir(folder).args(words).assert().code(2);
        let said = stderr(&done);
        assert!(
            said.contains(why) && said.contains(file),
            "{words:?}: {said}"
        );
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}

#[test]
fn other_files_are_refused_in_one_line() {
    let (folder, _) = place();
    let _ = record(folder.path(), &["2", "500", "100", "100"]).code(3);
    let trace = std::fs::read(folder.path().join("t.trace")).expect("it is there");
    let write = |name: &str, bytes: &[u8]| {
        std::fs::write(folder.path().join(name), bytes).expect("the folder is writable");
    };
    refused(folder.path(), "absent", "No such file");
    refused(folder.path(), ".", "folder");
    refused(folder.path(), "pattern", "not a trace");
    write("empty", b"");
    refused(folder.path(), "empty", "not a trace");
    let mut changed = trace.clone();
    changed[7] = 9;
    write("later", &changed);
    refused(folder.path(), "later", "format 9");
    let mut changed = trace.clone();
    let middle = changed.len() / 2;
    changed[middle] ^= 1;
    write("damaged", &changed);
    refused(folder.path(), "damaged", "damaged at byte");
    // Cut short, it is read up to there.
    write("cut", &trace[..trace.len() - 3]);
    let done = cohort()
        .current_dir(folder.path())
        .args(["record", "dump", "cut"])
        .assert()
        .success();
    let said = String::from_utf8_lossy(&done.get_output().stdout).into_owned();
    assert!(said.contains("cut short") && said.contains("hot"), "{said}");
}

/// More threads than the machine has CPUs.
#[test]
fn a_crowd_is_replayed() {
    let (folder, _) = place();
    let _ = record(folder.path(), &["32", "50", "1000", "1000"]).code(3);
    let words = [
        "replay",
        "t.trace",
        "--on",
        "i5-12500",
        "--seeds",
        "1",
        "--locks",
        "default,mcs",
        "--json",
    ];
    let replayed = json(folder.path(), &words);
    assert_eq!(replayed["threads"], 33);
    let words = ["replay", "t.trace", "--on", "i5-12500", "--seeds", "1"];
    let output = cohort()
        .current_dir(folder.path())
        .args(words)
        .assert()
        .success();
    let said = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
    assert!(said.contains("33 threads on 12 CPUs"), "{said}");
    assert!(said.contains("Model: "), "{said}");
}

/// A disk that fills up while the trace is written keeps a valid part of it.
#[test]
fn a_full_disk_is_one_line() {
    let (folder, _) = place();
    let mut command = cohort();
    command.current_dir(folder.path());
    command.args([
        "record",
        "-o",
        "/dev/full",
        "--",
        "./pattern",
        "2",
        "500",
        "0",
        "0",
    ]);
    let said = stderr(&command.assert().code(125));
    assert!(
        said.contains("/dev/full") && said.contains("No space"),
        "{said}"
    );

    let small = folder.path().join("small");
    std::fs::create_dir(&small).expect("the folder is writable");
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=32k", "tmpfs"])
        .arg(&small)
        .output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        eprintln!("skip: no permission to mount a small disk");
        return;
    }
    let mut command = cohort();
    command.current_dir(folder.path());
    command.args(["record", "-o", "small/t.trace", "--cost", "100", "--"]);
    let done = command.args(["./pattern", "2", "5000", "0", "0"]).assert();
    let left = std::fs::read(small.join("t.trace"));
    let count = std::fs::read_dir(&small).map_or(0, Iterator::count);
    let _ = Command::new("umount").arg(&small).status();
    let said = stderr(&done.code(125));
    assert!(said.contains("are a valid trace"), "{said}");
    assert_eq!(count, 1);
    std::fs::write(folder.path().join("t.trace"), left.expect("a part of it")).expect("writable");
    let part = dump(folder.path());
    assert!(part["end"].is_null());
    assert!(
        lock(&part, "hot")["acquired"].as_u64() > Some(100),
        "{part}"
    );
}

#[test]
fn wrong_options_say_what_is_right() {
    let (folder, _) = place();
    for (words, why) in [
        (&["record", "--", "true"][..], "--output"),
        (&["record", "-o", "t", "--limit", "7", "--", "true"], "256M"),
        (
            &["record", "-o", "absent/t", "--", "true"],
            "choose another file",
        ),
        (
            &["record", "-o", "t", "--lock", "system", "--", "true"],
            "record",
        ),
        (&["replay", "t"], "--on"),
        (&["replay", "t", "--on", "nowhere"], "t: "),
    ] {
        let done = cohort()
            .current_dir(folder.path())
            .args(words)
            .assert()
            .failure();
        let said = stderr(&done);
        assert!(said.contains(why), "{words:?}: {said}");
    }
    // A folder that cannot be written has no effect on what is there.
    let file = folder.path().join("t.trace");
    std::fs::write(&file, "kept").expect("the folder is writable");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o444)).expect("own");
    let _ = cohort()
        .args(["record", "-o"])
        .arg(&file)
        .args(["--", "/absent"])
        .assert()
        .code(127);
    assert_eq!(std::fs::read_to_string(&file).expect("it is there"), "kept");
}
