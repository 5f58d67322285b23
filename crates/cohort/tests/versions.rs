//! Programs that depend on two versions of this package at once, or on it without the feature
//! `internals`.
// Not on the portable backend: its programs have the native backend.
#![cfg(not(feature = "portable"))]

#[path = "support/program.rs"]
mod program;

use program::{cargo, package};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use tempfile::TempDir;

fn root() -> &'static Path {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    root.expect("this crate is in its workspace")
}

fn succeeds(output: &Output) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}

/// A copy of both packages with another version number.
fn other_version(folder: &Path) -> PathBuf {
    for package in ["cohort", "cohort-raw"] {
        for part in ["src", "examples"] {
            let from = root().join("crates").join(package).join(part);
            if from.exists() {
                copy(&from, &folder.join("crates").join(package).join(part));
            }
        }
        for file in ["Cargo.toml", "build.rs"] {
            let from = root().join("crates").join(package).join(file);
            if from.exists() {
                fs::copy(from, folder.join("crates").join(package).join(file)).expect("it is here");
            }
        }
    }
    let manifest = fs::read_to_string(root().join("Cargo.toml")).expect("it is here");
    let before = env!("CARGO_PKG_VERSION");
    let members = manifest.find("members").expect("a workspace has members");
    let end = members + manifest[members..].find(']').expect("the list ends");
    let manifest = format!(
        "{}members = [\"crates/cohort\", \"crates/cohort-raw\"{}",
        &manifest[..members],
        &manifest[end..]
    );
    let manifest = manifest
        .replace(&format!("version = \"{before}\""), "version = \"9.0.0\"")
        .replace(&format!("version = \"={before}\""), "version = \"=9.0.0\"");
    let lines = manifest
        .lines()
        .filter(|line| !line.starts_with("default-members"));
    let manifest: Vec<_> = lines.collect();
    fs::write(folder.join("Cargo.toml"), manifest.join("\n")).expect("the folder is writable");
    folder.join("crates/cohort")
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("the folder is writable");
    for entry in fs::read_dir(from).expect("the sources are here") {
        let path = entry.expect("the folder can be read").path();
        let to = to.join(path.file_name().expect("it has a name"));
        if path.is_dir() {
            copy(&path, &to);
        } else {
            fs::copy(&path, to).expect("the folder is writable");
        }
    }
}

/// Each version has its own thread-local words, and its locks exclude.
#[test]
fn a_program_links_two_versions() {
    let folder = TempDir::new().expect("a temporary folder");
    let other = other_version(&folder.path().join("other"));
    let dependencies = format!(
        "one = {{ package = \"cohort\", path = {:?} }}\n\
         other = {{ package = \"cohort\", path = {other:?} }}\n",
        env!("CARGO_MANIFEST_DIR")
    );
    let program = folder.path().join("program");
    package(
        &program,
        &dependencies,
        r#"
        static ONE: one::Mutex<u64> = one::Mutex::new(0);
        static OTHER: other::Mutex<u64> = other::Mutex::new(0);

        fn main() {
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        for _ in 0..10_000 {
                            let mut outer = ONE.lock();
                            *OTHER.lock() += 1;
                            *outer += 1;
                        }
                    });
                }
            });
            assert_eq!((*ONE.lock(), *OTHER.lock()), (40_000, 40_000));
        }
        "#,
    );
    succeeds(&cargo(&program, &["run"], ""));
}

/// Without the feature `internals`, a program has no access to these modules, nor to the clock of
/// deadlines.
#[test]
fn modules_of_other_packages_are_hidden() {
    let folder = TempDir::new().expect("a temporary folder");
    let dependency = format!("cohort = {{ path = {:?} }}\n", env!("CARGO_MANIFEST_DIR"));
    let clock = "fn main() { assert!(cohort::now() <= cohort::door::now()); }";
    package(folder.path(), &dependency, clock);
    succeeds(&cargo(folder.path(), &["check"], ""));
    let modules = [
        "condvar",
        "context",
        "host",
        "made",
        "records",
        "report",
        "service",
        "wait",
        "abortable::swept",
        "delegation::request",
        "delegation::roster",
        "delegation::told",
        "rwlock::object",
        "rwlock::in_object",
    ];
    let modules = modules.map(|module| format!("use cohort::{module} as _;\n"));
    let items = ["thread", "AtomicU32", "Cell", "sleep_on"]
        .map(|item| format!("use cohort::door::{item} as _;\n"));
    let uses = modules.len() + items.len();
    let program = format!("{}{}fn main() {{}}", modules.concat(), items.concat());
    package(folder.path(), &dependency, &program);
    let output = cargo(folder.path(), &["check"], "");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    // Private modules, and modules that exist with the feature only.
    let reasons = [
        "error[E0603]",
        "error[E0365]",
        "an item that was configured out",
    ];
    let refused: usize = reasons
        .map(|reason| said.matches(reason).count())
        .iter()
        .sum();
    assert_eq!(refused, uses, "{said}");
}
