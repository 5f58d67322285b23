//! Programs that cannot be served are refused before they run.

use crate::{cohort, compiled};
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;

const REFUSED: i32 = 125;
const NOT_EXECUTABLE: i32 = 126;
const NOT_FOUND: i32 = 127;

/// The program must not have printed: it must not have run.
fn refused(program: &Path, words: &str) {
    cohort()
        .args(["run", "--"])
        .arg(program)
        .assert()
        .code(REFUSED)
        .stdout("")
        .stderr(contains(words).and(contains(program.to_str().expect("a plain name"))));
}

#[test]
fn static_programs() {
    if let Some(program) = compiled::count("cc", &["-static"]) {
        refused(&program.path(), "statically linked");
    }
    if let Some(program) = compiled::count("cc", &["-static-pie"]) {
        refused(&program.path(), "statically linked");
    }
}

#[test]
fn musl_programs() {
    let target = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
    if let Some(program) = compiled::count("musl-gcc", &["-static"]) {
        refused(&program.path(), "statically linked");
        refused(&program.path(), &target);
    }
    if let Some(program) = compiled::count(
        "musl-gcc",
        &["-Wl,-dynamic-linker,/lib/ld-musl-x86_64.so.1"],
    ) {
        refused(&program.path(), "built for the musl C library");
        refused(&program.path(), &target);
    }
}

#[test]
fn force_runs_them_all_the_same() {
    let Some(program) = compiled::count("cc", &["-static"]) else {
        return;
    };
    cohort()
        .args(["run", "--force", "--report", "--"])
        .arg(program.path())
        .assert()
        .code(0)
        .stdout("counted\n")
        .stderr(contains("warning").and(contains("no process of")));
}

#[test]
fn scripts_are_judged_by_their_interpreter() {
    let Some(program) = compiled::count("cc", &["-static"]) else {
        return;
    };
    let script = program.folder().join("script");
    std::fs::write(&script, format!("#!{}\n", program.path().display())).expect("writable");
    std::fs::set_permissions(&script, Permissions::from_mode(0o755)).expect("our file");
    cohort()
        .args(["run", "--"])
        .arg(&script)
        .assert()
        .code(REFUSED)
        .stdout("")
        .stderr(contains("statically linked"));
}

/// Programs that gain rights lose `LD_PRELOAD`: the loader sees to it.
#[test]
fn programs_that_change_their_user() {
    const NOBODY: u32 = 65534;
    if !rustix::process::geteuid().is_root() {
        eprintln!("skip: only the super-user can give a program to another user");
        return;
    }
    let program = compiled::usual();
    let everyone = Permissions::from_mode(0o755);
    std::fs::set_permissions(program.folder(), everyone).expect("our folder");
    chown(program.path(), Some(NOBODY), None).expect("we are the super-user");
    std::fs::set_permissions(program.path(), Permissions::from_mode(0o4755)).expect("root");
    refused(&program.path(), "set");
}

#[test]
fn what_is_not_there_or_not_a_program() {
    cohort()
        .args(["run", "--", "no-such-program-anywhere"])
        .assert()
        .code(NOT_FOUND)
        .stderr(contains("no-such-program-anywhere"));
    cohort()
        .args(["run", "--", "/no/such/program"])
        .assert()
        .code(NOT_FOUND)
        .stderr(contains("/no/such/program"));

    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("text");
    std::fs::write(&file, "just text").expect("writable");
    cohort()
        .args(["run", "--"])
        .arg(&file)
        .assert()
        .code(NOT_EXECUTABLE)
        .stderr(contains("text"));
    cohort()
        .args(["run", "--"])
        .arg(folder.path())
        .assert()
        .code(NOT_EXECUTABLE);
}

/// A spinning real-time thread can keep the holder from running for milliseconds.
#[test]
fn spinning_under_a_real_time_policy() {
    cohort()
        .args(["run", "--wait", "spin", "--", "chrt", "-f", "1", "true"])
        .assert()
        .code(REFUSED)
        .stdout("")
        .stderr(contains("SCHED_FIFO").and(contains("park")));
}

/// AddressSanitizer ends a program in which another library is first, unless an option permits it.
#[test]
fn address_sanitizer_has_to_be_told() {
    let Some(program) = compiled::count("cc", &["-fsanitize=address"]) else {
        return;
    };
    refused(&program.path(), "verify_asan_link_order=0");
    cohort()
        .env("ASAN_OPTIONS", "detect_leaks=0:verify_asan_link_order=0")
        .args(["run", "--report", "--"])
        .arg(program.path())
        .assert()
        .code(0)
        .stdout("counted\n")
        .stderr(contains("in 1 process"));
}

/// It would take every section for unlocked, however it is linked.
#[test]
fn thread_sanitizer() {
    for options in [
        &["-fsanitize=thread"][..],
        &["-fsanitize=thread", "-static-libtsan"],
    ] {
        if let Some(program) = compiled::count("cc", options) {
            refused(&program.path(), "ThreadSanitizer");
        }
    }
}

/// A Go program is known by a section that its linker makes.
#[test]
fn programs_in_go() {
    let in_go = |options: &[&str]| {
        let program = compiled::count("cc", options)?;
        let marked = std::process::Command::new("objcopy")
            .arg("--add-section")
            .arg(format!(".go.buildinfo={}", program.path().display()))
            .arg(program.path())
            .status()
            .expect("objcopy comes with the compiler");
        assert!(marked.success());
        Some(program)
    };
    if let Some(program) = in_go(&["-static"]) {
        refused(&program.path(), "Go program");
    }
    if let Some(program) = in_go(&[]) {
        cohort()
            .args(["run", "--"])
            .arg(program.path())
            .assert()
            .code(0)
            .stdout("counted\n")
            .stderr(contains("of its C code only"));
    }
}
