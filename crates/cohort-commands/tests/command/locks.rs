//! `cohort locks`: what the threads of a process wait for.

use crate::{cohort, compiled};
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;
use serde_json::Value;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Far beyond what four threads need to fall asleep.
const LIMIT: Duration = Duration::from_secs(30);

/// A program that is ended with the test.
struct Running(Child, u32);

impl Drop for Running {
    fn drop(&mut self) {
        // Once it is over, another may have its number.
        if matches!(self.0.try_wait(), Ok(None)) {
            let _ = Command::new("kill")
                .args(["-KILL", &self.1.to_string()])
                .status();
        }
        let _ = self.0.wait();
    }
}

/// Starts `waits.c` by that subcommand.
fn start(subcommand: &str, program: &compiled::Program) -> Running {
    let mut command = Command::new(crate::command());
    started(command.args([subcommand, "--"]).arg(program.path()))
}

/// Starts a program that tells its number.
fn started(command: &mut Command) -> Running {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the command runs");
    let mut line = String::new();
    let output = child.stdout.take().expect("a pipe");
    BufReader::new(output).read_line(&mut line).expect("a line");
    let id = line.trim().parse().expect("a process's number");
    Running(child, id)
}

/// What is said of that process or core dump.
fn sheet(of: &str) -> Value {
    let output = cohort()
        .args(["locks", "--json", of])
        .output()
        .expect("the command runs");
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn waiters(locks: &[Value]) -> usize {
    let waiters = locks.iter().filter_map(|lock| lock["waiters"].as_array());
    waiters.map(Vec::len).sum()
}

/// What is said of that process once so many threads wait.
fn locks(process: u32, waiting: usize) -> Vec<Value> {
    let began = Instant::now();
    loop {
        let sheet = sheet(&process.to_string());
        let locks = sheet["locks"].as_array().expect("a list").clone();
        if waiters(&locks) >= waiting {
            return locks;
        }
        assert!(began.elapsed() < LIMIT, "{waiting} do not wait: {locks:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn named<'a>(locks: &'a [Value], variable: &str) -> &'a Value {
    let found = locks.iter().find(|lock| lock["variable"] == variable);
    found.unwrap_or_else(|| panic!("no {variable} in {locks:?}"))
}

#[test]
fn what_threads_wait_for_is_shown() {
    let program = compiled::waits();
    let running = start("run", &program);
    let locks = locks(running.1, 4);
    shows_what_waits_for(&locks, running.1);
    cohort()
        .args(["locks", &running.1.to_string()])
        .assert()
        .code(0)
        .stdout(contains("owned").and(contains("a writer").not()))
        .stdout(contains("4 sleep for a lock"));
}

/// Each lock of `waits.c`, with the thread that is known to hold it.
fn shows_what_waits_for(locks: &[Value], holder: u32) {
    for (variable, kind, notes) in [
        ("owned", "mutex", true),
        ("plain", "mutex", false),
        ("table", "rwlock", true),
        ("changed", "condition", false),
    ] {
        let lock = named(locks, variable);
        assert_eq!(lock["kind"], kind, "{lock}");
        assert_eq!(lock["waiters"].as_array().map(Vec::len), Some(1), "{lock}");
        let holders = lock["holders"].as_array().expect("a list");
        assert_eq!(holders.len(), usize::from(notes), "{lock}");
        for noted in holders {
            assert_eq!(noted["thread"], holder, "{lock}");
        }
    }
}

/// A core dump of a process, by GDB; none, with a line that says so, where there is no GDB or it may
/// not look.
fn gcore(program: &compiled::Program, id: u32) -> Option<PathBuf> {
    if which::which("gcore").is_err() || cfg!(not(target_arch = "x86_64")) {
        eprintln!("skip: no `gcore` here, from the package gdb, or no x86-64");
        return None;
    }
    let begins = program.folder().join("dumped").display().to_string();
    let output = Command::new("gcore")
        .args(["-o", &begins, &id.to_string()])
        .output()
        .expect("gcore runs");
    let said = [&*output.stdout, &*output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    if said.contains("not permitted") {
        eprintln!("skip: processes may not be looked at here");
        return None;
    }
    assert!(output.status.success(), "{said}");
    Some(PathBuf::from(format!("{begins}.{id}")))
}

/// A dump of a process of `waits.c` that is over.
fn shows_in(dump: &Path, id: u32, lock: &str) {
    let path = dump.display().to_string();
    let told = sheet(&path);
    assert_eq!(told["core"], path.as_str(), "{told}");
    assert_eq!(told["process"], id, "{told}");
    assert_eq!(told["program"], "count", "{told}");
    assert_eq!(told["lock"], lock, "{told}");
    assert_eq!(told["threads"], 5, "{told}");
    let locks = told["locks"].as_array().expect("a list");
    assert_eq!(waiters(locks), 4, "{told}");
    shows_what_waits_for(locks, id);
    assert_eq!(named(locks, "plain")["waiters"][0]["name"], Value::Null);
    cohort()
        .args(["locks", &path])
        .env("COLUMNS", "1000")
        .assert()
        .code(0)
        .stdout(contains("4 sleep for a lock").and(contains("no thread names")))
        .stdout(contains("cohort debug").not());
}

/// Says that of a file, and ends with that status.
fn is_refused(path: &Path, code: i32, why: &str) {
    cohort()
        .arg("locks")
        .arg(path)
        .assert()
        .code(code)
        .stdout("")
        .stderr(contains(why));
}

#[test]
fn a_core_dump_shows_the_same() {
    let program = compiled::waits();
    let running = start("run", &program);
    let id = running.1;
    locks(id, 4);
    let Some(dump) = gcore(&program, id) else {
        return;
    };
    drop(running);
    shows_in(&dump, id, "futex-hmcs");

    // A program that was built again has its variables elsewhere.
    fs::rename(program.path(), program.folder().join("old")).expect("our folder");
    fs::write(program.path(), "another").expect("our folder");
    let told = sheet(&dump.display().to_string());
    let changed = program.path().display().to_string();
    assert_eq!(told["unnamed"], serde_json::json!([changed]));
    let locks = told["locks"].as_array().expect("a list");
    assert_eq!(waiters(locks), 4, "{told}");
    assert!(
        locks.iter().all(|lock| lock["variable"].is_null()),
        "{told}"
    );

    let length = fs::metadata(&dump).expect("our file").len();
    for kept in [length / 2, 4096, 100, 40] {
        let file = File::options().write(true).open(&dump).expect("our file");
        file.set_len(kept).expect("our file");
        is_refused(&dump, 125, "truncated");
    }
}

/// What the kernel itself leaves of a program that ends by a signal.
#[test]
fn a_core_dump_of_the_kernel_shows_the_same() {
    if cfg!(not(target_arch = "x86_64")) {
        eprintln!("skip: core dumps are read on x86-64");
        return;
    }
    let program = compiled::waits();
    let script = "ulimit -c unlimited 2>/dev/null; exec \"$0\" run --lock futex -- \"$1\"";
    let mut command = Command::new("sh");
    command.args(["-c", script, crate::command()]);
    command.arg(program.path()).current_dir(program.folder());
    let mut running = started(&mut command);
    let id = running.1;
    locks(id, 4);
    // A shell lets what it starts in the background ignore the signals of a keyboard.
    let aborted = Command::new("kill")
        .args(["-ABRT", &id.to_string()])
        .status();
    assert!(aborted.is_ok_and(|status| status.success()));
    running.0.wait().expect("a child");
    let entries = fs::read_dir(program.folder()).expect("our folder");
    let mut files = entries.map(|entry| entry.expect("our folder").path());
    let is_dump = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("core")
    };
    match files.find(is_dump) {
        Some(dump) => shows_in(&dump, id, "futex"),
        None => eprintln!("skip: the kernel leaves core dumps elsewhere, or none"),
    }
}

/// The locks of the library for C, in a process and in a core dump, of either library.
#[test]
fn the_locks_of_the_library_for_c_are_shown() {
    for library in ["libcohort.so", "libcohort.a"] {
        let program = compiled::of_the_library("ours.c", library);
        let running = started(&mut Command::new(program.path()));
        let alive = locks(running.1, 5);
        let dump = gcore(&program, running.1);
        drop(running);
        let dumped = dump.map(|dump| {
            let told = sheet(&dump.display().to_string());
            assert_eq!(told["lock"], "futex-hmcs", "{told}");
            told["locks"].as_array().expect("a list").clone()
        });
        for locks in [Some(alive), dumped].into_iter().flatten() {
            assert_eq!(waiters(&locks), 5, "{locks:?}");
            for (variable, kind, waiting, held) in [
                ("plain", "mutex", 1, "a thread"),
                ("pool", "mutex", 1, "a thread"),
                ("table", "rwlock", 2, "a writer"),
                ("changed", "condition", 1, ""),
            ] {
                let lock = named(&locks, variable);
                assert_eq!(lock["kind"], kind, "{lock}");
                let waiters = lock["waiters"].as_array().map(Vec::len);
                assert_eq!(waiters, Some(waiting), "{lock}");
                assert_eq!(lock["held"], held, "{lock}");
                assert_eq!(lock["holders"], serde_json::json!([]), "{lock}");
            }
        }
    }
}

/// The beginning of an ELF file: its class, its kind and its machine.
fn header(class: u8, kind: u8, machine: u8) -> Vec<u8> {
    let mut bytes = vec![0; 64];
    bytes[..7].copy_from_slice(&[0x7f, b'E', b'L', b'F', class, 1, 1]);
    bytes[16] = kind;
    bytes[18] = machine;
    bytes
}

/// Writes a number into the bytes of a file, in its order.
fn put<const LENGTH: usize>(bytes: &mut [u8], at: usize, number: [u8; LENGTH]) {
    bytes[at..at + LENGTH].copy_from_slice(&number);
}

/// A core dump that has one part, at which there are these bytes, and that says how many there are.
fn core_with(notes: &[u8], length: u64) -> Vec<u8> {
    const PART: usize = 64;
    let mut bytes = header(2, 4, 62);
    put(&mut bytes, 32, (PART as u64).to_le_bytes());
    put(&mut bytes, 54, 56_u16.to_le_bytes());
    put(&mut bytes, 56, 1_u16.to_le_bytes());
    bytes.resize(PART + 56, 0);
    let behind = bytes.len() as u64;
    put(&mut bytes, PART, 4_u32.to_le_bytes());
    put(&mut bytes, PART + 8, behind.to_le_bytes());
    put(&mut bytes, PART + 32, length.to_le_bytes());
    put(&mut bytes, PART + 48, 4_u64.to_le_bytes());
    bytes.extend(notes);
    bytes
}

/// The core dump of a process of that name with one thread and these files mapped, all with code.
fn core_of(name: &[u8], files: &[&str]) -> Vec<u8> {
    let (of_thread, of_process, of_files) = (1, 3, 0x4649_4c45);
    let mut thread = vec![0; 336];
    put(&mut thread, 32, 7_u32.to_le_bytes());
    let mut process = vec![0; 136];
    put(&mut process, 24, 7_u32.to_le_bytes());
    process[40..40 + name.len()].copy_from_slice(name);
    let mut mapped: Vec<u8> = Vec::new();
    mapped.extend((files.len() as u64).to_le_bytes());
    mapped.extend(4096_u64.to_le_bytes());
    for place in 1..=files.len() as u64 {
        for number in [place << 16, (place << 16) + 4096, 0] {
            mapped.extend(number.to_le_bytes());
        }
    }
    for file in files {
        mapped.extend(file.as_bytes());
        mapped.push(0);
    }
    let mut notes = Vec::new();
    for (kind, note) in [
        (of_thread, thread),
        (of_process, process),
        (of_files, mapped),
    ] {
        for number in [5_u32, note.len() as u32, kind] {
            notes.extend(number.to_le_bytes());
        }
        notes.extend(b"CORE\0\0\0\0");
        notes.extend(note);
        notes.resize(notes.len().next_multiple_of(4), 0);
    }
    core_with(&notes, notes.len() as u64)
}

/// By its name alone a file is our library.
const LIBRARY: &str = "/absent/libcohort_preload.so";

/// What a small file says of itself takes neither time nor memory without end.
#[test]
fn a_dump_that_promises_too_much_is_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("core");
    // So many parts that only the first section's header can say it.
    let mut bytes = header(2, 4, 62);
    put(&mut bytes, 40, 64_u64.to_le_bytes());
    put(&mut bytes, 54, 56_u16.to_le_bytes());
    put(&mut bytes, 56, u16::MAX.to_le_bytes());
    put(&mut bytes, 58, 64_u16.to_le_bytes());
    bytes.resize(128, 0);
    put(&mut bytes, 64 + 44, ((1_u32 << 22) + 1).to_le_bytes());
    fs::write(&path, bytes).expect("our folder");
    is_refused(&path, 125, "too many segments");

    let long = (256 << 20) + 1;
    fs::write(&path, core_with(&[], long)).expect("our folder");
    let file = File::options().write(true).open(&path).expect("our file");
    file.set_len(2 * long).expect("a sparse file");
    is_refused(&path, 125, "its notes are too long");

    let files = [["/a", "/b"]; 40].concat();
    fs::write(&path, core_of(b"x", &files)).expect("our folder");
    is_refused(&path, 125, "repeated file names");

    // A device may have no end, and is no program.
    let dump = core_of(b"x", &["/dev/zero", LIBRARY]);
    fs::write(&path, dump).expect("our folder");
    let told = sheet(&path.display().to_string());
    let unnamed = serde_json::json!(["/absent/libcohort_preload.so", "/dev/zero"]);
    assert_eq!(told["unnamed"], unnamed, "{told}");
}

/// What is said of a dump that another may have made.
#[test]
fn a_dump_s_files_are_not_read_without_end_and_its_names_move_no_cursor() {
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::process::ExitStatusExt;

    let folder = tempfile::tempdir().expect("a temporary folder");
    // Its name is no UTF-8.
    let path = folder.path().join(std::ffi::OsStr::from_bytes(b"core\xff"));
    // The kernel makes hundreds of gigabytes of it as it is read.
    let dump = core_of(b"\x1b[2Jx", &["/proc/self/pagemap", LIBRARY]);
    fs::write(&path, dump).expect("our folder");
    let script = "ulimit -v 4194304; exec \"$0\" locks --json \"$1\"";
    let mut child = Command::new("sh")
        .args(["-c", script, crate::command()])
        .arg(&path)
        .stdout(Stdio::piped())
        .spawn()
        .expect("there is a shell");
    let mut said = String::new();
    let mut output = child.stdout.take().expect("a pipe");
    output.read_to_string(&mut said).expect("text");
    let (mut status, id) = (0, i32::try_from(child.id()).expect("a number"));
    // SAFETY: all zeroes is a valid rusage, and both places are writable.
    let used = unsafe {
        let mut used: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::wait4(id, &raw mut status, 0, &raw mut used), id);
        used
    };
    let _ = child.wait();
    let status = std::process::ExitStatus::from_raw(status);
    assert_eq!(status.code(), Some(0), "{said}");
    assert!(used.ru_maxrss < 256 << 10, "{} KiB", used.ru_maxrss);
    let told: Value = serde_json::from_str(&said).expect("JSON");
    assert_eq!(told["program"], r"\u{1b}[2Jx", "{told}");
    let assert = cohort().arg("locks").arg(&path).assert().code(0);
    assert.stdout(contains(r"\u{1b}[2Jx").and(contains("\x1b").not()));
}

#[test]
fn what_is_no_core_dump_is_said() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let write = |bytes: &[u8]| {
        let path = folder.path().join("file");
        fs::write(&path, bytes).expect("our folder");
        path
    };
    is_refused(&folder.path().join("absent"), 2, "no core dump");
    is_refused(folder.path(), 2, "not a core dump");
    is_refused(Path::new("/dev/null"), 2, "not a core dump");
    is_refused(&write(b""), 2, "not a core dump");
    is_refused(&write(b"not at all a core dump"), 2, "not a core dump");
    is_refused(Path::new("/bin/true"), 2, "not a core dump");
    is_refused(&write(&header(2, 4, 183)), 125, "ELF machine 183");
    is_refused(&write(&header(1, 4, 3)), 125, "ELF machine 3)");
    is_refused(&write(&header(2, 4, 62)[..30]), 125, "truncated");
    is_refused(&write(&header(2, 4, 62)), 125, "no mapped files");
    is_refused(Path::new("99999999999"), 2, "no process 99999999999");
}

/// What the observing library has written down says which thread holds a plain mutex, too.
#[test]
fn all_holders_of_an_observed_process_are_shown() {
    let program = compiled::waits();
    let running = start("debug", &program);
    let locks = locks(running.1, 4);
    for variable in ["owned", "plain", "table"] {
        let holders = &named(&locks, variable)["holders"];
        assert_eq!(holders[0]["thread"], running.1, "{locks:?}");
    }
}

/// A cancelled wait is over when the program's handler runs, and the mutex of the condition is the
/// thread's again.
#[test]
fn cancelled_waits_are_over() {
    let program = compiled::cancelled();
    for level in ["stuck", "owner"] {
        let mut command = Command::new(crate::command());
        command.args(["debug", "--level", level, "--"]);
        let running = started(command.arg(program.path()));
        let locks = locks(running.1, 2);
        let counts = |variable: &str, role: &str| {
            let members = named(&locks, variable)[role].as_array();
            members.map_or(0, Vec::len)
        };
        let found = [
            counts("changed", "waiters"),
            counts("guard", "waiters"),
            counts("guard", "holders"),
        ];
        assert_eq!(
            (found, waiters(&locks)),
            ([1, 1, 1], 2),
            "{level}: {locks:?}"
        );
    }
}

#[test]
fn what_cannot_be_looked_at_is_said() {
    cohort()
        .args(["locks", "4194305"])
        .assert()
        .code(2)
        .stderr(contains("no process 4194305"));
    is_refused(Path::new("memcached"), 2, "pidof");
    // A process without Cohort is looked at while it runs, and not when it is over.
    cohort()
        .args(["locks", &std::process::id().to_string()])
        .assert()
        .code(0)
        .stdout(contains("not under Cohort"));
    let program = compiled::waits();
    let running = started(&mut Command::new(program.path()));
    if let Some(dump) = gcore(&program, running.1) {
        is_refused(&dump, 125, "without Cohort");
    }
}

fn script() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../cohort-cli/debuggers/cohort.py")
}

/// What GDB says to `cohort-locks`, of that process or core dump.
fn gdb(of: &[&str]) -> String {
    let output = Command::new("gdb")
        .args(["-q", "-nx", "-batch", "-iex", "set auto-load no"])
        .args(of)
        .args(["-x", script().to_str().expect("text")])
        .args(["-ex", "cohort-locks", "-ex", "print table"])
        .stdin(Stdio::null())
        .output()
        .expect("there is a GDB");
    let said = [output.stdout, output.stderr].concat();
    String::from_utf8_lossy(&said).into_owned()
}

/// The same of LLDB; nothing where it has no Python, or does not find its own part of it.
fn lldb(of: &[&str]) -> Option<String> {
    let mut command = Command::new("lldb");
    // Debian's looks for it elsewhere than where its package has put it.
    let paths = [14, 15, 16, 19]
        .map(|version| format!("/usr/lib/llvm-{version}/lib/python3.11/dist-packages"));
    if let Some(path) = paths
        .iter()
        .find(|path| std::path::Path::new(path).exists())
    {
        command.env("PYTHONPATH", path);
    }
    let import = format!("command script import {}", script().display());
    let output = command
        .args(["--no-lldbinit", "--batch"])
        .args(of)
        .args(["-o", &import, "-o", "cohort-locks"])
        .args(["-o", "target variable table"])
        .stdin(Stdio::null())
        .output()
        .expect("there is an LLDB");
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    (!said.contains("is not a valid command")).then_some(said)
}

/// Each object with its state, and a variable that is printed.
fn shows_all(said: &str, printed: &str, owner: &str) {
    let line = |words: &str| {
        let found = said.lines().find(|line| line.contains(words));
        found
            .unwrap_or_else(|| panic!("no {words}: {said}"))
            .to_owned()
    };
    assert!(line("  owned").ends_with(owner), "{said}");
    assert!(line("  plain").ends_with("held"), "{said}");
    assert!(line("  table").starts_with("rwlock"), "{said}");
    assert!(line("  changed").starts_with("condition"), "{said}");
    assert!(line(printed).ends_with(owner), "{said}");
    assert!(!said.contains("word  "), "{said}");
}

/// What a debugger looks at: `waits.c`, which runs, and a core dump to be.
struct Looked {
    program: compiled::Program,
    running: Running,
    /// Where its core dump goes.
    core: String,
    /// What is said of what its first thread holds.
    owner: String,
}

impl Looked {
    /// For that debugger, if it is here.
    fn by(debugger: &str) -> Option<Self> {
        if which::which(debugger).is_err() || cfg!(not(target_arch = "x86_64")) {
            eprintln!("skip: no `{debugger}` here, or another machine than x86-64");
            return None;
        }
        let program = compiled::waits();
        let running = start("run", &program);
        locks(running.1, 4);
        Some(Self {
            core: program.folder().join("core").display().to_string(),
            owner: format!("held by thread {}", running.1),
            program,
            running,
        })
    }

    fn id(&self) -> String {
        self.running.1.to_string()
    }

    fn path(&self) -> String {
        self.program.path().display().to_string()
    }
}

/// Whether the debugger may not look at processes here.
fn is_kept_out(said: &str) -> bool {
    let kept_out = said.contains("not permitted");
    if kept_out {
        eprintln!("skip: processes may not be looked at here");
    }
    kept_out
}

#[test]
fn lldb_shows_the_same() {
    let Some(looked) = Looked::by("lldb") else {
        return;
    };
    let (id, core) = (looked.id(), &looked.core);
    let gcore = Command::new("gcore").args(["-o", core, &id]).output();
    let Some(said) = lldb(&["-p", &id]) else {
        eprintln!("skip: this `lldb` has no Python");
        return;
    };
    if is_kept_out(&said) {
        return;
    }
    shows_all(&said, " table = ", &looked.owner);
    if gcore.is_ok_and(|gcore| gcore.status.success()) {
        let dump = format!("{core}.{id}");
        let said = lldb(&[&looked.path(), "-c", &dump]).expect("it has Python");
        shows_all(&said, " table = ", &looked.owner);
    }
}

/// In a process, and in a core dump of it.
#[test]
fn gdb_shows_the_same() {
    let Some(looked) = Looked::by("gdb") else {
        return;
    };
    let core = &looked.core;
    let alive = gdb(&["-p", &looked.id(), "-ex", &format!("gcore {core}")]);
    if is_kept_out(&alive) {
        return;
    }
    for said in [alive, gdb(&[&looked.path(), core])] {
        shows_all(&said, "$1 = ", &looked.owner);
    }
}

/// It shows variables of the library for C by their state.
#[test]
fn gdb_shows_the_locks_of_the_library_for_c() {
    if which::which("gdb").is_err() || cfg!(not(target_arch = "x86_64")) {
        eprintln!("skip: no `gdb` here, or another machine than x86-64");
        return;
    }
    let program = compiled::of_the_library("ours.c", "libcohort.so");
    let running = started(&mut Command::new(program.path()));
    locks(running.1, 5);
    let said = gdb(&["-p", &running.1.to_string()]);
    if is_kept_out(&said) {
        return;
    }
    let printed = said.lines().find(|line| line.starts_with("$1 = "));
    assert_eq!(printed, Some("$1 = held"), "{said}");
}

/// The script's numbers are the library's.
#[test]
fn the_script_knows_what_is_where() {
    use cohort::basic::Futex;
    use cohort::condvar::{RawCondvar, Waiter};
    use cohort::rwlock::RawRwLock;

    let text = std::fs::read_to_string(script()).expect("the script is here");
    let number = |name: &str| -> u64 {
        let line = text
            .lines()
            .find(|line| line.starts_with(&format!("{name} = ")));
        let (_, value) = line
            .expect("a constant")
            .split_once(" = ")
            .expect("a value");
        match value.split_once(" << ") {
            Some((one, bits)) => one.parse::<u64>().unwrap() << bits.parse::<u32>().unwrap(),
            None => match value.strip_prefix("0x") {
                Some(hex) => u64::from_str_radix(hex, 16).unwrap(),
                None => value.parse().unwrap(),
            },
        }
    };
    for (name, wanted) in [
        ("RWLOCK_WORD", RawRwLock::WORD),
        ("RWLOCK_GENERATION", RawRwLock::GENERATION),
        ("CONDITION_FIRST", RawCondvar::FIRST),
        ("WAITER_AT", Waiter::AT),
        ("WAITER_MUTEX", Waiter::MUTEX),
        ("WAITER_WAITING", Waiter::WAITING as usize),
        ("WAITER_CLASS", Waiter::CLASS as usize),
    ] {
        assert_eq!(number(name), wanted as u64, "{name}");
    }
    for bit in (0..32).map(|bit| 1_u32 << bit) {
        let has = |name: &str| number(name) & u64::from(bit) != 0;
        let seen = RawRwLock::seen(bit);
        assert_eq!(has("MUTEX_HELD"), Futex::is_held(bit), "{bit:#x}");
        assert_eq!(has("MUTEX_SLEEPERS"), Futex::has_sleepers(bit), "{bit:#x}");
        assert_eq!(has("RWLOCK_READERS"), seen.readers != 0, "{bit:#x}");
        assert_eq!(has("RWLOCK_BIASED"), seen.is_biased, "{bit:#x}");
        assert_eq!(has("RWLOCK_WRITTEN"), seen.is_written, "{bit:#x}");
        assert_eq!(has("RWLOCK_SLEEPER"), seen.has_sleeper, "{bit:#x}");
        assert_eq!(has("WAITER_ADOPTED"), Waiter::is_adopted(bit), "{bit:#x}");
    }
}
