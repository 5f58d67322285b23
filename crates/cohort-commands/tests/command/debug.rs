//! `cohort debug` finds each bug of `examples/bugs`, and none in the similar correct programs
//! beside them.

use crate::{cohort, compiled};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use tempfile::TempDir;

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/bugs")
}

/// Compiles one of the programs.
fn compile(name: &str, into: &TempDir) -> PathBuf {
    let program = into.path().join(name.replace('/', "-"));
    let status = Command::new("cc")
        .args(["-g", "-O1", "-Wall", "-Wextra", "-Werror", "-o"])
        .arg(&program)
        .arg(sources().join(format!("{name}.c")))
        .arg("-lpthread")
        .status()
        .expect("there is a C compiler");
    assert!(status.success(), "{name}.c does not compile");
    program
}

const FORKED: &[&str] = &[
    "was held at the fork of its process",
    "waits for the mutex heap",
    "work  bugs/forked.c:12",
    "main  bugs/forked.c:29",
    "the main thread is",
];

const FORKED_RECURSIVE: &[&str] = &[
    "was held at the fork of its process",
    "waits for the mutex heap",
    "main  bugs/forked_recursive.c:30",
    "the main thread is",
];

/// Each bug: the level that finds it, and its report, lines of code included.
const BUGS: &[(&str, &str, &[&str])] = &[
    (
        "abba",
        "stuck",
        &[
            "2 threads wait for each other",
            "waits for the mutex second",
            "waits for the mutex first",
            "forwards  bugs/abba.c:13",
            "backwards  bugs/abba.c:23",
        ],
    ),
    (
        "relock",
        "stuck",
        &[
            "2 threads wait for each other",
            "waits for the mutex inner",
            "waits for the mutex outer",
            "waits  bugs/relock.c:18",
            "main  bugs/relock.c:34",
        ],
    ),
    (
        "rwlock",
        "stuck",
        &["waits for the rwlock table", "upgrade  bugs/rwlock.c:9"],
    ),
    (
        "recursive",
        "stuck",
        &[
            "2 threads wait for each other",
            "main  bugs/recursive.c:26",
            "backwards  bugs/recursive.c:15",
        ],
    ),
    (
        "read_write",
        "stuck",
        &[
            "2 threads wait for each other",
            "main  bugs/read_write.c:25",
            "rename_group  bugs/read_write.c:14",
        ],
    ),
    (
        "two_mutexes",
        "owner",
        &[
            "wait at the condition ready",
            "with the mutex left",
            "with the mutex right",
            "wait_with  bugs/two_mutexes.c:16",
        ],
    ),
    ("forked", "stuck", FORKED),
    ("forked", "order", FORKED),
    ("forked_recursive", "stuck", FORKED_RECURSIVE),
    (
        "join",
        "stuck",
        &["waits for the end of thread", "finish  bugs/join.c:9"],
    ),
    (
        "join_c11",
        "stuck",
        &["waits for the end of thread", "finish  bugs/join_c11.c:10"],
    ),
    (
        "first_ended",
        "stuck",
        &[
            "2 threads wait for each other",
            "forwards  bugs/first_ended.c:14",
            "backwards  bugs/first_ended.c:24",
            "the main thread is",
        ],
    ),
    (
        "exit_holding",
        "owner",
        &[
            "a thread ended while it held the mutex account",
            "leave_locked  bugs/exit_holding.c:9",
        ],
    ),
    (
        "unlock_free",
        "owner",
        &["counter", "while it is free", "main  bugs/unlock_free.c:10"],
    ),
    (
        "unlock_others",
        "owner",
        &[
            "by a thread that does not hold it",
            "unlock  bugs/unlock_others.c:9",
            "main  bugs/unlock_others.c:16",
        ],
    ),
    (
        "unlocked_meanwhile",
        "order",
        &[
            "by a thread that does not hold it",
            "unlock  bugs/unlocked_meanwhile.c:11",
            "main  bugs/unlocked_meanwhile.c:22",
        ],
    ),
    (
        "destroy_used",
        "owner",
        &[
            "destroyed while it is in use",
            "main  bugs/destroy_used.c:9",
        ],
    ),
    (
        "use_destroyed",
        "owner",
        &["used after its destruction", "main  bugs/use_destroyed.c:9"],
    ),
    (
        "lock_twice",
        "owner",
        &[
            "not recursive",
            "append  bugs/lock_twice.c:8",
            "main  bugs/lock_twice.c:15",
        ],
    ),
    (
        "wait_unlocked",
        "owner",
        &["which it does not hold", "main  bugs/wait_unlocked.c:13"],
    ),
    (
        "uninitialised",
        "owner",
        &[
            "ledger",
            "without initialisation",
            "main  bugs/uninitialised.c:13",
        ],
    ),
    (
        "read_behind",
        "stuck",
        &[
            "2 threads wait for each other",
            "waits for the rwlock table",
            "which prefers writers, behind thread",
            "main  bugs/read_behind.c:26",
            "write_table  bugs/read_behind.c:11",
        ],
    ),
    (
        "nested_monitor",
        "stuck",
        &[
            "every thread waits without a deadline",
            "waits at the condition filled",
            "waits for the mutex table (",
            "held by thread",
            "holds the mutex table",
            "take  bugs/nested_monitor.c:15",
            "put  bugs/nested_monitor.c:24",
            "main  bugs/nested_monitor.c:51",
            "was killed",
        ],
    ),
    (
        "nested_beside",
        "stuck",
        &[
            "waited for 2 s while it holds a lock that others await",
            "waits at the condition filled",
            "holds the mutex table",
            "since take  bugs/nested_beside.c:13",
            "take  bugs/nested_beside.c:16",
            "waits for the mutex table (",
            "put  bugs/nested_beside.c:26",
        ],
    ),
    (
        "semaphore",
        "stuck",
        &[
            "every thread waits without a deadline",
            "waits for the semaphore loaded",
            "holds the mutex table",
            "load  bugs/semaphore.c:13",
            "main  bugs/semaphore.c:27",
        ],
    ),
    (
        "lost_signal",
        "stuck",
        &[
            "every thread waits without a deadline",
            "waits at the condition filled",
            "take  bugs/lost_signal.c:11",
        ],
    ),
    (
        "spin",
        "stuck",
        &[
            "2 threads wait for each other",
            "waits for the spin lock count",
            "waits for the mutex table",
            "forwards  bugs/spin.c:13",
            "backwards  bugs/spin.c:23",
        ],
    ),
    (
        "write_twice",
        "owner",
        &[
            "table",
            "not recursive, is locked again",
            "add  bugs/write_twice.c:10",
            "main  bugs/write_twice.c:18",
        ],
    ),
    (
        "inversion_late",
        "order",
        &[
            "acquired in different orders",
            "transfer  bugs/inversion_late.c:13",
            "audit  bugs/inversion_late.c:25",
        ],
    ),
    (
        "inversion_signalled",
        "order",
        &[
            "acquired in different orders",
            "transfer  bugs/inversion_signalled.c:18",
            "audit  bugs/inversion_signalled.c:32",
        ],
    ),
    (
        "inversion_read",
        "order",
        &[
            "acquired in different orders",
            "transfer  bugs/inversion_read.c:15",
            "audit  bugs/inversion_read.c:29",
        ],
    ),
    (
        "inversion",
        "order",
        &[
            "acquired in different orders",
            "acquires the lock journal",
            "acquires the lock accounts",
            "transfer  bugs/inversion.c:11",
            "audit  bugs/inversion.c:20",
        ],
    ),
];

/// Each bug with locks of Cohort's own interfaces, likewise.
const OWN_BUGS: &[(&str, &str, &[&str])] = &[
    (
        "gls_abba.c",
        "stuck",
        &[
            "2 threads wait for each other",
            "waits for the key journal",
            "waits for the key accounts+4",
            "since transfer own/gls_abba.c:12",
            "transfer own/gls_abba.c:14",
            "audit own/gls_abba.c:25",
            "was killed",
        ],
    ),
    (
        "three_sorts.c",
        "stuck",
        &[
            "3 threads wait for each other",
            "waits for the cohort mutex cache",
            "waits for the key journal",
            "waits for the mutex table",
            "look_up own/three_sorts.c:16",
            "store own/three_sorts.c:26",
            "replay own/three_sorts.c:36",
        ],
    ),
    (
        "abba.cpp",
        "stuck",
        &[
            "2 threads wait for each other",
            "waits for the cohort mutex accounts",
            "waits for the cohort rwlock journal",
            "own/abba.cpp:16",
            "own/abba.cpp:23",
        ],
    ),
    (
        "delegated.c",
        "stuck",
        &[
            "deadlock: a thread waits for a lock that it already holds",
            "waits for the cohort mutex table",
            "main own/delegated.c:20",
            "add own/delegated.c:11",
        ],
    ),
    (
        "between.c",
        "stuck",
        &[
            "every thread waits without a deadline",
            "waits at the condition filled",
            "take own/between.c:21",
            "main own/between.c:31",
        ],
    ),
    (
        "twice.c",
        "owner",
        &[
            "the key ledger+8",
            "not recursive, is locked again",
            "append own/twice.c:8",
            "main own/twice.c:15",
        ],
    ),
    (
        "unlock_free.c",
        "owner",
        &["counter", "while it is free", "main own/unlock_free.c:11"],
    ),
];

/// Words, regardless of line breaks.
fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Runs a program of this folder at a level, under a lock; returns its exit status and the output.
fn debugged(program: &Path, level: &str, lock: &str) -> (Option<i32>, String) {
    let output = cohort()
        .args(["debug", "--level", level, "--lock", lock, "--"])
        .arg(program)
        .output()
        .expect("the command runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), said)
}

#[test]
fn each_bug_is_found_with_its_lock_and_its_lines() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, level, expected) in BUGS {
        let program = compile(name, &folder);
        for lock in ["futex-hmcs", "mcs"] {
            if name.starts_with("forked") && lock == "mcs" {
                // A child drops its parent's queue, and acquires the lock.
                continue;
            }
            let (status, said) = debugged(&program, level, lock);
            assert_eq!(status, Some(1), "{name} under {lock}: {said}");
            let longest = said.lines().map(|line| line.chars().count()).max();
            assert!(longest <= Some(80), "{name} under {lock}: {said}");
            let said = in_one_line(&said);
            for words in *expected {
                assert!(
                    said.contains(&in_one_line(words)),
                    "{name} under {lock}: no {words:?} in {said}"
                );
            }
        }
    }
}

/// Compiles one of the programs with locks of Cohort's own interfaces.
fn compile_own(name: &str, library: &str, into: &TempDir) -> PathBuf {
    let prefix = compiled::prefix();
    let program = into.path().join(name.replace('/', "-")).with_extension("");
    let compiler = if name.ends_with(".cpp") { "c++" } else { "cc" };
    let status = Command::new(compiler)
        .args(["-g", "-O1", "-Wall", "-Wextra", "-Werror", "-o"])
        .arg(&program)
        .arg(sources().join("own").join(name))
        .arg(format!("-I{}/include", prefix.display()))
        .arg(format!("-Wl,-rpath,{}/lib", prefix.display()))
        .arg(prefix.join("lib").join(library))
        .arg("-lpthread")
        .status()
        .expect("there is a compiler");
    assert!(status.success(), "{name} does not compile");
    program
}

/// Locks of the libraries for C and C++, by either library, are found with pthread locks.
#[test]
fn each_bug_with_own_locks_is_found() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, level, expected) in OWN_BUGS {
        for library in ["libcohort.so", "libcohort.a"] {
            let program = compile_own(name, library, &folder);
            let (status, said) = debugged(&program, level, "futex-hmcs");
            assert_eq!(status, Some(1), "{name} with {library}: {said}");
            let said = in_one_line(&said);
            for words in *expected {
                assert!(
                    said.contains(words),
                    "{name} with {library}: no {words:?} in {said}"
                );
            }
        }
    }
}

/// Programs compiled with `cohort-debug.h`: zeroes are locks only if an initialiser wrote them.
#[test]
fn zeroes_without_an_initialiser_are_found_in_a_marked_program() {
    let told = [
        "forgotten+40 (",
        "is locked without initialisation: its bytes are zero",
        "main command/zeroes.c:64",
        "neglected (",
        "main command/zeroes.c:66",
    ];
    for (header, argument, level, status) in [
        (true, "x", "owner", 1),
        (true, "x", "order", 1),
        (true, "x", "stuck", 0),
        (true, "", "order", 0),
        (false, "x", "order", 0),
    ] {
        let program = compiled::zeroes(header);
        for lock in ["futex-hmcs", "mcs"] {
            let mut command = cohort();
            command.args(["debug", "--level", level, "--lock", lock, "--"]);
            command.arg(program.path());
            command.args((!argument.is_empty()).then_some(argument));
            let output = command.output().expect("the command runs");
            let said = in_one_line(&String::from_utf8_lossy(&output.stderr));
            let case = format!("header {header}, {argument:?}, {level}, {lock}");
            assert_eq!(output.status.code(), Some(status), "{case}: {said}");
            for words in told {
                assert_eq!(
                    said.contains(words),
                    status == 1,
                    "{case}: {words:?} in {said}"
                );
            }
        }
        let alone = Command::new(program.path()).arg(argument).status();
        assert!(alone.expect("it runs").success());
    }
}

#[test]
fn own_locks_in_one_order_are_not_reported() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let program = compile_own("clean/sorts.c", "libcohort.a", &folder);
    for level in ["stuck", "owner", "order"] {
        let (status, said) = debugged(&program, level, "futex-hmcs");
        assert_eq!(status, Some(0), "level {level}: {said}");
        assert!(said.starts_with("cohort: no findings"), "{said}");
    }
}

/// The same program, unobserved and profiled: it works, and each sort of lock is counted.
#[test]
fn own_locks_are_profiled() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let program = compile_own("clean/sorts.c", "libcohort.a", &folder);
    let alone = Command::new(&program).status().expect("it runs");
    assert!(alone.success());
    let output = cohort()
        .args(["profile", "--json", "--"])
        .arg(&program)
        .output()
        .expect("the command runs");
    assert!(output.status.success(), "{output:?}");
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    let sheet: serde_json::Value = serde_json::from_str(&text[text.find('{').unwrap_or(0)..])
        .unwrap_or_else(|error| panic!("{error}: {text}"));
    let locks = sheet["locks"].as_array().expect("a list");
    // Of each thread, of four, in 2,000 turns.
    for (name, kind, acquired) in [
        ("key", "key", 8_000),
        ("inner", "cohort mutex", 8_000),
        ("table", "cohort rwlock", 8_000),
    ] {
        let lock = locks.iter().find(|lock| lock["name"] == name);
        let lock = lock.unwrap_or_else(|| panic!("no {name} in {locks:?}"));
        assert_eq!(lock["kind"], kind, "{lock}");
        assert_eq!(lock["acquired"], acquired, "{lock}");
    }
    let sections = locks.iter().find(|lock| lock["kind"] == "delegated lock");
    let sections = sections.unwrap_or_else(|| panic!("no sections in {locks:?}"));
    assert_eq!(sections["acquired"], 8_000, "{sections}");
}

/// Builds the examples of a crate that have deadlocks, with the feature `observe`; returns their
/// folder.
fn observed_examples(package: &str, names: &[&str]) -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("observed");
    let mut cargo = Command::new(env!("CARGO"));
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text == "CARGO_ENCODED_RUSTFLAGS" {
            cargo.env_remove(name);
        }
    }
    let output = cargo
        .args(["build", "--quiet", "--release", "--package", package])
        .args(names.iter().flat_map(|name| ["--example", name]))
        .args(["--features", "observe", "--target-dir"])
        .arg(&target)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .env("CARGO_PROFILE_RELEASE_DEBUG", "line-tables-only")
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{output:?}");
    target.join("release/examples")
}

/// Runs a program with arguments at a level; returns its exit status and the output.
fn debugged_with(program: &Path, arguments: &[&str], level: &str) -> (Option<i32>, String) {
    let output = cohort()
        .args(["debug", "--level", level, "--"])
        .arg(program)
        .args(arguments)
        .output()
        .expect("the command runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), said)
}

/// Each deadlock of the examples: program, argument, and report.
const RUST_BUGS: &[(&str, &str, &[&str])] = &[
    (
        "abba",
        "",
        &[
            "waits for the cohort mutex abba::ACCOUNTS",
            "waits for the delegated lock",
            "abba.rs:20",
            "abba.rs:26",
        ],
    ),
    (
        "deadlocks",
        "rwlocks",
        &[
            "waits for the cohort rwlock deadlocks::ACCOUNTS",
            "waits for the cohort rwlock deadlocks::JOURNAL",
            "transfer",
            "deadlocks.rs:28",
            "audit",
            "deadlocks.rs:34",
        ],
    ),
    (
        "deadlocks",
        "reentrant",
        &[
            "waits for the cohort mutex deadlocks::TREE",
            "waits for the cohort mutex deadlocks::CACHE",
            "insert",
            "deadlocks.rs:41",
            "evict",
            "deadlocks.rs:47",
        ],
    ),
    (
        "deadlocks",
        "upgrade",
        &[
            "waits for the cohort rwlock deadlocks::JOURNAL",
            "append",
            "deadlocks.rs:54",
            "look_and_append",
            "deadlocks.rs:61",
        ],
    ),
    (
        "keys",
        "abba",
        &[
            "waits for the key keys::ACCOUNTS",
            "waits for the key keys::JOURNAL",
            "transfer",
            "keys.rs:21",
            "audit",
            "keys.rs:29",
        ],
    ),
];

/// The crates' locks report with the feature `observe`.
#[test]
fn each_deadlock_of_the_crates_is_found() {
    let folder = observed_examples("cohort", &["abba", "deadlocks"]);
    observed_examples("cohort-service", &["keys"]);
    for (name, argument, expected) in RUST_BUGS {
        for level in ["stuck", "owner"] {
            let (status, said) = debugged_with(&folder.join(name), &[argument], level);
            assert_eq!(status, Some(1), "{name} {argument} at {level}: {said}");
            let said = in_one_line(&said);
            for words in expected.iter().chain(&["2 threads wait for each other"]) {
                assert!(
                    said.contains(words),
                    "{name} {argument} at {level}: no {words:?} in {said}"
                );
            }
        }
    }
}

/// A section waits in its middle, with a lock that its signaller needs.
#[test]
fn a_paused_section_that_none_can_wake_is_found() {
    let folder = observed_examples("cohort", &["abba", "deadlocks"]);
    for level in ["stuck", "owner"] {
        let (status, said) = debugged_with(&folder.join("deadlocks"), &["paused"], level);
        assert_eq!(status, Some(1), "at {level}: {said}");
        let said = in_one_line(&said);
        for words in [
            "every thread waits without a deadline",
            "waits at the condition",
            "holds the cohort mutex deadlocks::CACHE",
            "since take examples/deadlocks.rs:67",
            "take examples/deadlocks.rs:69",
            "waits for the cohort mutex deadlocks::CACHE",
            "put examples/deadlocks.rs:77",
            "was killed",
        ] {
            assert!(said.contains(words), "at {level}: no {words:?} in {said}");
        }
    }
}

/// Upgraded, downgraded and recursive holds, forgotten guards, reused memory and panics leave no
/// wrong record.
#[test]
fn right_uses_of_the_crates_locks_are_not_reported() {
    let folder = observed_examples("cohort", &["abba", "deadlocks"]);
    observed_examples("cohort-service", &["keys"]);
    for name in ["deadlocks", "keys"] {
        for level in ["stuck", "owner", "order"] {
            let (status, said) = debugged_with(&folder.join(name), &["right"], level);
            assert_eq!(status, Some(0), "{name} at {level}: {said}");
            let begin = format!("cohort: no findings at level `{level}` in ");
            assert!(said.starts_with(&begin), "{name}: {said}");
        }
    }
}

/// A deadlock that is known is no finding, nor is the end of its process.
#[test]
fn a_known_deadlock_is_ended_in_silence() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let program = compile("abba", &folder);
    let known = folder.path().join("known.toml");
    std::fs::write(&known, "[[suppress]]\nkind = \"deadlock\"\n").expect("written");
    let output = cohort()
        .args(["debug", "--suppress"])
        .arg(&known)
        .arg("--")
        .arg(&program)
        .output()
        .expect("the command runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.ends_with("; 1 suppressed\n"), "{said}");
    assert_ne!(output.status.code(), Some(1), "{said}");
}

/// The second module is loaded at the first one's address, if possible.
#[test]
fn places_in_modules_that_were_closed_have_names() {
    let (program, [one, other]) = compiled::closed(["alpha_takes", "beta_takes"]);
    let output = cohort()
        .args(["debug", "--level", "order", "--"])
        .arg(program.path())
        .args([one.path(), other.path()])
        .output()
        .expect("the command runs");
    let said = in_one_line(&String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{said}");
    for words in [
        "since alpha_takes command/closed.c:",
        "since beta_takes command/closed.c:",
        "run command/closed.c:",
    ] {
        assert!(said.contains(words), "no {words:?} in {said}");
    }
}

#[test]
fn every_bug_of_the_folder_is_expected_here() {
    for entry in std::fs::read_dir(sources()).expect("the examples") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|extension| extension == "c") {
            let name = path.file_stem().expect("a name").to_string_lossy();
            assert!(BUGS.iter().any(|(known, _, _)| *known == name), "{name}");
        }
    }
}

#[test]
fn what_only_looks_alike_is_not_reported() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for entry in std::fs::read_dir(sources().join("clean")).expect("the examples") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|extension| extension != "c") {
            continue;
        }
        let name = path.file_stem().expect("a name").to_string_lossy();
        let program = compile(&format!("clean/{name}"), &folder);
        for (lock, level) in [
            ("futex-hmcs", "order"),
            ("mcs", "order"),
            ("futex-hmcs", "owner"),
            ("futex-hmcs", "stuck"),
            ("mcs", "stuck"),
        ] {
            let (status, said) = debugged(&program, level, lock);
            assert_eq!(
                status,
                Some(0),
                "{name} under {lock} at level {level}: {said}"
            );
            let says = format!("cohort: no findings at level `{level}` in ");
            assert!(said.starts_with(&says), "{name} under {lock}: {said}");
            assert_eq!(said.lines().count(), 1, "{name} under {lock}: {said}");
        }
    }
}

/// The program is ended, and the command with it, without user action.
#[test]
fn a_deadlock_ends_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let program = compile("abba", &folder);
    let began = Instant::now();
    let (status, said) = debugged(&program, "stuck", "ticket");
    assert_eq!(status, Some(1), "{said}");
    assert!(began.elapsed() < Duration::from_secs(30));
    assert!(said.contains("the main thread is"), "{said}");
}

/// Runs a command as a container's first process.
const CONTAINED: [&str; 3] = ["unshare", "-rpf", "--mount-proc"];

/// Whether a container can be created here; reports it if not.
pub fn has_containers() -> bool {
    let output = Command::new(CONTAINED[0])
        .args(&CONTAINED[1..])
        .arg("true")
        .output();
    let has = output.is_ok_and(|output| output.status.success());
    if !has {
        eprintln!("skip: no namespace of one's own is allowed here");
    }
    has
}

/// A container has its own process IDs: that of its first process belongs to another one outside,
/// and the process gets no signal that it does not handle.
#[test]
fn a_deadlock_in_a_container_is_found_and_ended() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let program = compile("abba", &folder);
    if !has_containers() {
        return;
    }
    for level in ["stuck", "owner"] {
        let output = cohort()
            .args(["debug", "--level", level, "--"])
            .args(CONTAINED)
            .arg(&program)
            .timeout(Duration::from_secs(60))
            .output()
            .expect("the command runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        for words in [
            "2 threads wait for each other",
            "forwards  bugs/abba.c:13",
            "the main thread is",
        ] {
            assert!(said.contains(words), "{level}: {words}: {said}");
        }
    }
}

/// The first processes of two containers have the same ID, and separate records: each deadlock is
/// found, with the names of its threads, and ended.
#[test]
fn processes_of_two_containers_have_records_of_their_own() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let program = compile("abba", &folder);
    if !has_containers() {
        return;
    }
    let one = format!("{} {} &", CONTAINED.join(" "), program.display());
    for options in [&["--lock", "ticket"][..], &["--lock", "mcs", "--abort"]] {
        let output = cohort()
            .arg("debug")
            .args(options)
            .args(["--", "sh", "-c", &format!("{one} {one} wait")])
            .timeout(Duration::from_secs(60))
            .output()
            .expect("the command runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        let line = in_one_line(&said);
        for words in [
            "2 threads wait for each other",
            "(abba) waits for the mutex first",
            "the main thread is",
        ] {
            assert_eq!(line.matches(words).count(), 2, "{words}: {said}");
        }
    }
}

#[test]
fn findings_are_told_in_json() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let program = compile("unlock_free", &folder);
    let output = cohort()
        .args(["debug", "--level", "owner", "--json", "--"])
        .arg(&program)
        .output()
        .expect("the command runs");
    assert_eq!(output.status.code(), Some(1));
    let found: serde_json::Value = serde_json::from_slice(&output.stderr).expect("JSON");
    crate::schemas::valid("debug", &found);
    let finding = &found["findings"][0];
    assert_eq!(finding["kind"], "unlock-free");
    let frame = &finding["parts"][0]["stack"]["frames"][0];
    assert_eq!(frame["function"], "main");
    assert_eq!(frame["file"], "bugs/unlock_free.c");
    assert_eq!(frame["line"], 10);
}

/// A file beyond its limit would end a process by a signal. Standard error is the program's own.
#[test]
fn findings_go_to_a_file_on_request() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let bug = compile("abba", &folder);
    let file = folder.path().join("report");
    for (words, program, expected) in [
        (vec![], bug.as_path(), "first"),
        (vec!["--json"], bug.as_path(), "\"findings\""),
        (vec![], Path::new("true"), "cohort: "),
    ] {
        let output = cohort()
            .args(["debug", "-o"])
            .arg(&file)
            .args(&words)
            .arg("--")
            .arg(program)
            .output()
            .expect("the command runs");
        assert!(output.stderr.is_empty(), "{output:?}");
        let text = std::fs::read_to_string(&file).expect("it was written");
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn a_limit_of_file_sizes_is_told_and_harms_nobody() {
    let program = compiled::usual();
    let program = program.path();
    let program = program.display();
    let command = crate::command();
    for subcommand in ["debug", "profile", "run --observe"] {
        let words = format!("ulimit -f 1000; {command} {subcommand} -- {program}");
        let output = Command::new("bash").args(["-c", &words]).output();
        let output = output.expect("bash runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{said}");
        assert_eq!(
            said.matches("cannot observe this process").count(),
            1,
            "{said}"
        );
    }
}

/// Memory without room in its file ends a process by a signal.
#[test]
fn a_small_folder_in_memory_is_passed_over() {
    if !has_containers() {
        return;
    }
    let program = compiled::many();
    let program = program.path();
    let (program, command) = (program.display(), crate::command());
    let words =
        format!("mount -t tmpfs -o size=1m none /dev/shm && exec {command} profile -- {program} 1");
    let mut output = Command::new("unshare");
    output.args(["-rm", "sh", "-c", &words]);
    let output = output.output().expect("unshare runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 77)), "{output:?}");
    assert!(said.contains("Profiling overhead"), "{said}");
}

#[test]
fn callers_with_large_frames_are_found() {
    let program = compiled::deep();
    let output = cohort()
        .args(["debug", "--level", "owner", "--json", "--"])
        .arg(program.path())
        .output()
        .expect("the command runs");
    assert_eq!(output.status.code(), Some(1));
    let found: serde_json::Value = serde_json::from_slice(&output.stderr).expect("JSON");
    let stack = &found["findings"][0]["parts"][0]["stack"];
    let frames = stack["frames"].as_array().expect("frames");
    let functions: Vec<_> = frames.iter().map(|frame| &frame["function"]).collect();
    assert_eq!(functions[..3], ["misuse", "wide", "main"], "{found:#}");
    assert_eq!(stack["is_cut"], false, "{found:#}");
}

#[test]
fn a_program_without_findings_ends_as_it_ends() {
    cohort()
        .args(["debug", "--", "sh", "-c", "exit 7"])
        .assert()
        .code(7)
        .stderr("cohort: no findings at level `stuck`: no process used a pthread lock\n");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let program = compile("clean/gate", &folder);
    let (status, said) = debugged(&program, "order", "futex-hmcs");
    let says = "cohort: no findings at level `order` in 1 process and 3 threads\n";
    assert_eq!((status, said.as_str()), (Some(0), says));
}

#[test]
fn the_c_librarys_own_locks_are_not_observed() {
    cohort()
        .args(["debug", "--lock", "system", "--", "true"])
        .assert()
        .code(2)
        .stderr(predicates::str::contains("cohort debug"));
}

/// If the program's memory cannot be read, holders of plain mutexes are unknown. This is reported
/// once, with a remedy. The test ends the program, since the command does not.
#[test]
fn what_may_not_be_read_is_told_with_what_to_do() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let program = compile("abba", &folder);
    let refuse = compiled::refuse();
    let run = |words: &[&str]| {
        let output = Command::new(refuse.path())
            .arg(crate::command())
            .arg("debug")
            .args(words)
            .args(["--", "timeout", "-s", "KILL", "2"])
            .arg(&program)
            .output()
            .expect("the launcher runs");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let said = run(&[]);
    assert_eq!(said.matches("cannot read the memory").count(), 1, "{said}");
    let widest = said.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{said}");
    let said = in_one_line(&said);
    for words in ["--level owner", "no deadlock over plain mutexes"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let found: serde_json::Value = serde_json::from_str(&run(&["--json"])).expect("JSON");
    assert_eq!(found["is_blind"], true);
    let said = run(&["--level", "owner"]);
    assert!(said.contains("2 threads wait for each other"), "{said}");
}

/// A process in a namespace of its own that cannot be identified as the program's: this is reported
/// once, with a remedy.
#[test]
fn a_process_that_may_not_be_asked_is_told_with_what_to_do() {
    const RIGHTS: &str = "-sys_ptrace,-perfmon,-sys_admin";
    let hidden = compiled::hidden();
    let run = |words: &[&str]| {
        Command::new("setpriv")
            .args(["--bounding-set", RIGHTS, "--inh-caps", RIGHTS])
            .arg(crate::command())
            .arg("debug")
            .args(words)
            .args(["--", "sh", "-c", "\"$0\" && sleep 1.5"])
            .arg(hidden.path())
            .output()
            .ok()
            .filter(|output| matches!(output.status.code(), Some(0 | 1)))
            .map(|output| String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let Some(said) = run(&[]).filter(|said| !said.starts_with("setpriv:")) else {
        eprintln!("skip: only root can start a process here that others may not look into");
        return;
    };
    assert_eq!(
        said.matches("cannot identify a process").count(),
        1,
        "{said}"
    );
    let widest = said.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{said}");
    let said = in_one_line(&said);
    for words in [
        "another PID namespace (1 there)",
        "its deadlocks are not detected",
        "unshare -pf --mount-proc cohort debug",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let said = run(&["--json"]).expect("as before");
    let found: serde_json::Value = serde_json::from_str(&said).expect("JSON");
    assert_eq!(found["is_blind"], true);
}

#[test]
fn locks_beyond_the_usual_librarys_are_observed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("own.toml");
    let text = "[[mutex]]\nname = \"first\"\nlock = \"mcs\"\n";
    std::fs::write(&file, text).expect("the folder is ours");
    let file = file.to_str().expect("plain");
    for (name, options, says) in [
        ("abba", ["--config", file], "waits for the mutex first"),
        ("abba", ["--lock", "glk"], "waits for the mutex first"),
        (
            "rwlock",
            ["--rwlock", "c-rw-np"],
            "waits for the rwlock table",
        ),
        (
            "rwlock",
            ["--rwlock", "system"],
            "waits for the rwlock table",
        ),
    ] {
        let program = compile(name, &folder);
        cohort()
            .arg("debug")
            .args(options)
            .arg("--")
            .arg(&program)
            .assert()
            .code(1)
            .stderr(predicates::str::contains(says));
    }
}

/// Suggested suppressions are accepted, and then nothing is found; uncovered findings are reported.
#[test]
fn what_is_known_is_not_told_again() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let program = compile("unlock_free", &folder);
    let [known, breaks] = ["known.toml", "breaks.gdb"].map(|name| folder.path().join(name));
    cohort()
        .args(["debug", "--level", "owner", "--suggest"])
        .arg(&known)
        .arg("--gdb")
        .arg(&breaks)
        .arg("--")
        .arg(&program)
        .assert()
        .code(1);
    let breaks = std::fs::read_to_string(breaks).expect("written");
    assert!(
        breaks.contains("\nbreak bugs/unlock_free.c:10\n"),
        "{breaks}"
    );
    cohort()
        .args(["debug", "--level", "owner", "--suppress"])
        .arg(&known)
        .arg("--")
        .arg(&program)
        .assert()
        .code(0)
        .stderr(predicates::str::ends_with("; 1 suppressed\n"));
    let other = compile("lock_twice", &folder);
    cohort()
        .args(["debug", "--level", "owner", "--suppress"])
        .arg(&known)
        .arg("--")
        .arg(other)
        .assert()
        .code(1)
        .stderr(predicates::str::contains("not recursive"))
        .stderr(predicates::str::contains(
            "known.toml:5: this suppression matches no finding",
        ));
}

#[test]
fn a_file_of_suppressions_is_read_before_anything_runs() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("s.toml");
    std::fs::write(&file, "[[suppress]]\nkind = \"ordre\"\n").expect("written");
    cohort()
        .args(["debug", "--suppress"])
        .arg(&file)
        .args(["--", "echo", "ran"])
        .assert()
        .code(2)
        .stdout("")
        .stderr(predicates::str::contains("s.toml:2:8: "));
}
