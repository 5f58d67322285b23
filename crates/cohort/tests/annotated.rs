//! Race detectors on programs that use the crate: they report races, and no data guarded by a lock.
// Not on the portable backend: its programs have the native backend.
#![cfg(not(feature = "portable"))]

#[path = "support/program.rs"]
mod program;

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Runs a command; on failure returns its standard error.
fn run(words: &[&OsStr]) -> Result<(), String> {
    let mut command = Command::new(words[0]);
    let output = command.args(&words[1..]).env_remove("LD_PRELOAD").output();
    let output = output.map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() {
        Ok(())
    } else {
        Err(said)
    }
}

/// A folder with a package of `annotated/races.rs`.
fn races() -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = env!("CARGO_MANIFEST_DIR");
    let dependencies = format!("cohort = {{ path = {path:?} }}\nlibc = \"0.2\"\n");
    program::package(
        folder.path(),
        &dependencies,
        include_str!("annotated/races.rs"),
    );
    folder
}

fn build(folder: &Path, options: &[&str]) -> PathBuf {
    let output = program::cargo(folder, &[&["build"], options].concat(), "");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    folder.join("target/debug/program")
}

/// Runs the program under a race detector; an error if the detector fails it.
fn finds(tool: &[&str], program: &Path, argument: &str) -> Result<(), String> {
    let words = tool.iter().map(OsStr::new);
    let words: Vec<&OsStr> = words
        .chain([program.as_os_str(), argument.as_ref()])
        .collect();
    run(&words)
}

fn finds_all(tool: &[&str], program: &Path) {
    finds(tool, program, "guarded").unwrap_or_else(|why| panic!("{tool:?}: {why}"));
    for race in ["open", "apart"] {
        let report = finds(tool, program, race).expect_err("there is a race");
        assert!(report.contains("Number"), "{tool:?} {race}: {report}");
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn valgrind_finds_the_races_there_are() {
    if run(&["valgrind", "--version"].map(OsStr::new)).is_err() {
        eprintln!("skip: no valgrind here (package valgrind)");
        return;
    }
    let folder = races();
    let tools = ["--tool=helgrind", "--tool=drd"];
    let under = |tool| ["valgrind", "-q", "--error-exitcode=9", tool];
    let program = build(folder.path(), &["--features", "cohort/annotate"]);
    for tool in tools {
        finds_all(&under(tool), &program);
    }
    let program = build(folder.path(), &[]);
    for tool in tools {
        let report = finds(&under(tool), &program, "guarded");
        report.expect_err("the tools do not know atomic instructions");
    }
}

/// ThreadSanitizer sees all compiled code, and needs no annotations.
#[test]
fn thread_sanitizer_finds_the_races_there_are() {
    if env::var("COHORT_TIER").as_deref() != Ok("full") {
        println!("left to the full tier (COHORT_TIER=full): ThreadSanitizer");
        return;
    }
    let folder = races();
    let target = format!("{}-unknown-linux-gnu", env::consts::ARCH);
    let mut cargo = Command::new("cargo");
    cargo
        .args([
            "+nightly",
            "build",
            "--offline",
            "--quiet",
            "--target",
            &target,
        ])
        .current_dir(folder.path())
        .env("CARGO_TARGET_DIR", folder.path().join("target"))
        .env(
            "RUSTFLAGS",
            "-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer",
        );
    if !cargo.status().is_ok_and(|status| status.success()) {
        eprintln!("skip: no nightly Rust here");
        return;
    }
    let program = folder.path().join(format!("target/{target}/debug/program"));
    finds_all(&["env"], &program);
}
