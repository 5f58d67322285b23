//! The compiler's message for a misused lock names the lock and an alternative.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;
use tempfile::TempDir;

/// The folder of this package's compiled libraries, found from the test itself.
fn compiled() -> PathBuf {
    let this = std::env::current_exe().expect("a test knows where it is");
    this.parent().expect("it is in a folder").to_owned()
}

/// The newest library of that name, which this test was linked with.
fn library(folder: &Path, name: &str) -> PathBuf {
    let begins = format!("lib{name}-");
    let newest = fs::read_dir(folder)
        .expect("the folder can be read")
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let file = path.file_name()?.to_str()?;
            let fits = file.starts_with(&begins) && file.ends_with(".rlib");
            let made = path.metadata().ok()?.modified().ok()?;
            fits.then_some((made, path))
        })
        .max_by_key(|(made, _): &(SystemTime, PathBuf)| *made);
    newest.expect("the library has been compiled").1
}

/// The compiler's message on refusing a function with that body.
fn refused(body: &str) -> String {
    let folder = TempDir::new().expect("a temporary folder");
    let source = folder.path().join("program.rs");
    let text = format!("#![allow(unused)]\npub fn body() {{\n{body}\n}}\n");
    fs::write(&source, text).expect("the folder is writable");
    let compiled = compiled();
    let output = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
        .args(["--edition=2024", "--crate-type=lib", "--emit=metadata"])
        .arg("-L")
        .arg(format!("dependency={}", compiled.display()))
        .arg("--extern")
        .arg(format!("cohort={}", library(&compiled, "cohort").display()))
        .arg("--out-dir")
        .arg(folder.path())
        .arg(&source)
        .output()
        .expect("there is a compiler");
    assert!(!output.status.success(), "this compiles: {body}");
    // The printed paths depend on the program's imports.
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    ["basic", "compose", "rwlock"]
        .iter()
        .fold(said, |said, room| {
            said.replace(&format!("cohort::{room}::"), "")
        })
}

/// Each message names the lock, then the alternative.
#[test]
fn a_refusal_says_what_to_use_instead() {
    for (body, lock, instead) in [
        (
            "cohort::Mutex::<u32, cohort::basic::Mcs>::from(1)\
             .try_lock_for(std::time::Duration::ZERO);",
            "waiters of `Mcs` have no timeout",
            "use the default lock",
        ),
        (
            "fn locks(data: &cohort::Mutex<u32, cohort::compose::Gated<cohort::basic::Tas>>) {\
             data.lock(); }",
            "`Tas", // of whichever form
            "a FIFO lock",
        ),
        (
            "fn locks(data: &cohort::Mutex<u32, cohort::rwlock::RawRwLock>) { data.locking(|_| ()); }",
            "`RawRwLock` is not a lock",
            "takes the locks",
        ),
        (
            "fn reads(data: &cohort::RwLock<u32, cohort::basic::Ticket>) {\
             data.reading(|_| ()); }",
            "is not an rwlock",
            "`rwlock::CRwNp`",
        ),
        (
            "cohort::Mutex::<u32, cohort::compose::Gated<cohort::basic::Mcs>>::from(1)\
             .try_lock_for(std::time::Duration::ZERO);",
            "waiters of `Gated<Mcs",
            "use the default lock",
        ),
    ] {
        let said = refused(body);
        assert!(said.contains(lock), "{body}: {said}");
        assert!(said.contains(instead), "{body}: {said}");
    }
}

/// Safe code cannot leave a caller's context in use; a call that delegates a section needs
/// exclusive access to its context.
#[test]
fn no_safe_code_leaves_a_context_in_use() {
    let calls = [
        "RawLock acquire(cx)",
        "RawTry try_acquire(cx)",
        "Abortable acquire_within(cx, &cohort::Patience::ENDLESS)",
        "LowLock acquire_counted(cx)",
        "HighLock acquire_at_cached_place(cx)",
        "RawShared read(cx, cohort::Recursion::Allowed)",
        "RawShared try_read(cx, cohort::Recursion::Allowed)",
        "RawShared write(cx)",
        "RawShared try_write(cx)",
        "AbortableShared read_within(cx, cohort::Recursion::Allowed, &cohort::Patience::ENDLESS)",
        "AbortableShared write_within(cx, &cohort::Patience::ENDLESS)",
    ];
    let functions = calls.iter().enumerate().map(|(number, call)| {
        let (kind, call) = call.split_once(' ').expect("a trait and a call");
        format!(
            "fn call_{number}<L: cohort::{kind}>(lock: &L, cx: &L::Context) {{ lock.{call}; }}\n"
        )
    });
    let said = refused(&functions.collect::<String>());
    assert_eq!(said.matches("error[E0133]").count(), calls.len(), "{said}");
    assert_eq!(said.matches("error[").count(), calls.len(), "{said}");
    let said = refused(
        "fn run<D: cohort::Delegate>(delegate: &D, cx: &D::Context, section: cohort::Section<'_>) {\
         delegate.run(cx, section); }",
    );
    assert!(said.contains("E0308"), "{said}");
}

/// Calls for holders, and calls for single-threaded processes, are unsafe.
#[test]
fn safe_code_calls_nothing_that_a_holder_promises() {
    for (kind, call) in [
        ("DetectsWaiters", "has_waiters(cx)"),
        ("HandsOver", "handed(cx)"),
        ("LowLock", "hand_offs(cx)"),
        ("rwlock::ForWriters", "has_writers(cx)"),
    ] {
        expect_unsafe(&format!(
            "fn call<L: cohort::{kind}>(lock: &L, cx: &L::Context) {{ lock.{call}; }}"
        ));
    }
    expect_unsafe(
        "fn forget<L: cohort::HighLock>(cx: &L::Context) { L::forget_cached_place(cx); }",
    );
    for lock in ["basic::Futex", "numa::FutexHmcs"] {
        for call in ["acquire_alone", "release_alone", "release_attentive"] {
            expect_unsafe(&format!("cohort::{lock}::new().{call}();"));
        }
    }
    for kind in ["compose::Composed", "numa::Shape", "numa::hmcs::Entry"] {
        let said = refused(&format!("struct Mine; impl cohort::{kind} for Mine {{}}"));
        assert!(said.contains("E0200"), "{kind} is no promise: {said}");
    }
}

fn expect_unsafe(body: &str) {
    let said = refused(body);
    assert!(said.contains("E0133"), "{body}: {said}");
}

/// Values that must stay on their thread are refused elsewhere, as in the standard library.
#[test]
fn guards_and_data_stay_where_they_belong() {
    for (body, marker) in [
        (
            "let lock = cohort::RwLock::new(1); let guard = lock.upgradable_read();\
             std::thread::scope(|scope| { scope.spawn(move || drop(guard)); });",
            "Send",
        ),
        (
            "let data = cohort::FairMutex::new(std::rc::Rc::new(1));\
             std::thread::scope(|scope| { scope.spawn(|| drop(data.lock())); });",
            "Send",
        ),
        (
            "let lock = std::sync::Arc::new(cohort::RwLock::new(1)); let guard = lock.read_arc();\
             std::thread::spawn(move || drop(guard));",
            "Send",
        ),
        (
            "let lock = cohort::RwLock::new(std::cell::Cell::new(1));\
             let guard = cohort::WriteGuard::map(lock.write(), |cell| cell);\
             std::thread::scope(|scope| { scope.spawn(|| guard.set(2)); });",
            "Sync",
        ),
    ] {
        let said = refused(body);
        let words = format!("`{marker}`");
        assert!(
            said.contains("E0277") && (said.contains(&words) || said.contains("cannot be s")),
            "{body}: {said}"
        );
    }
}

/// A guard cannot outlive its lock, and cannot shorten the data's lifetime.
#[test]
fn lifetimes_are_those_of_the_data() {
    for body in [
        "let guard = { let mutex = cohort::Mutex::new(1); mutex.lock() };",
        "let mutex = cohort::Mutex::new(String::new()); let guard = mutex.lock(); drop(mutex); drop(guard);",
        "fn shorter<'a>(guard: cohort::MutexGuard<'_, &'static str>, text: &'a str) {\
         let mut guard: cohort::MutexGuard<'_, &'a str> = guard; *guard = text; }",
    ] {
        let said = refused(body);
        assert!(
            ["E0505", "E0597", "lifetime may not live long enough"]
                .iter()
                .any(|error| said.contains(error)),
            "{body}: {said}"
        );
    }
}
