//! Programs compiled for a test.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use tempfile::TempDir;

/// A compiled program; its folder goes with it.
pub struct Program {
    folder: TempDir,
}

impl Program {
    /// Where the program is.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("count")
    }

    /// The folder the program is in, and nothing else.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}

/// `count.c` as this compiler makes it; nothing, with a line that says so, where
/// there is no such compiler.
pub fn count(compiler: &str, options: &[&str]) -> Option<Program> {
    compile("count.c", compiler, options)
}

/// A program of this folder, likewise.
fn compile(source: &str, compiler: &str, options: &[&str]) -> Option<Program> {
    if which::which(compiler).is_err() {
        eprintln!("skip: no `{compiler}` here; install the package gcc or musl-tools");
        return None;
    }
    let folder = TempDir::new().expect("a temporary folder");
    let program = Program { folder };
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/command");
    let status = Command::new(compiler)
        .args(["-D_GNU_SOURCE", "-O1", "-pthread"])
        .arg(sources.join(source))
        .args(options)
        .arg("-o")
        .arg(program.path())
        .status()
        .expect("the compiler runs");
    assert!(status.success(), "{compiler} {options:?} failed");
    Some(program)
}

/// The usual kind: dynamic, for the C library of this machine.
pub fn usual() -> Program {
    count("cc", &[]).expect(NO_COMPILER)
}

/// `waits.c`: threads that wait for ever.
pub fn waits() -> Program {
    compile("waits.c", "cc", &["-g"]).expect(NO_COMPILER)
}

/// `cancelled.c`: threads with cancelled waits.
pub fn cancelled() -> Program {
    compile("cancelled.c", "cc", &["-g"]).expect(NO_COMPILER)
}

/// `zeroes.c`, with `cohort-debug.h` or without.
pub fn zeroes(header: bool) -> Program {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let header_at = folder.join("../cohort-cli/debuggers/cohort-debug.h");
    let header_at = header_at.to_str().expect("a plain name");
    let mut options = vec!["-g", "-Wall", "-Wextra", "-Werror"];
    if header {
        options.extend(["-include", header_at]);
    }
    compile("zeroes.c", "cc", &options).expect(NO_COMPILER)
}

/// `needs.c`: a crowd at one mutex, and many threads at theirs.
pub fn needs() -> Program {
    compile("needs.c", "cc", &[]).expect(NO_COMPILER)
}

/// `refuse.c`: what it starts may not read other processes' memory.
pub fn refuse() -> Program {
    compile("refuse.c", "cc", &[]).expect(NO_COMPILER)
}

/// `mutexes.c`, with these options.
pub fn mutexes(options: &[&str]) -> Program {
    compile("mutexes.c", "cc", options).expect(NO_COMPILER)
}

/// `hidden.c`: leaves a process that may not be looked into.
pub fn hidden() -> Program {
    compile("hidden.c", "cc", &[]).expect(NO_COMPILER)
}

/// `many.c`: very many mutexes, and threads.
pub fn many() -> Program {
    compile("many.c", "cc", &[]).expect(NO_COMPILER)
}

/// `newer.c`, and a library that it needs, which is as a newer C library in some of what it does.
pub fn newer() -> (Program, Program) {
    let alone = ["-DLIBRARY", "-shared", "-fPIC", "-nostdlib"];
    let library = compile("newer.c", "cc", &alone).expect(NO_COMPILER);
    let needed = library.path();
    let needed = needed.to_str().expect("a plain name");
    let program = compile("newer.c", "cc", &[needed]).expect(NO_COMPILER);
    (program, library)
}

/// `wrapped.c`, and a library to be preloaded that puts wrappers round functions of the C library.
pub fn wrapped() -> (Program, Program) {
    let library = compile("wrapped.c", "cc", &["-DLIBRARY", "-shared", "-fPIC"]);
    let program = compile("wrapped.c", "cc", &[]);
    (program.expect(NO_COMPILER), library.expect(NO_COMPILER))
}

/// `handed.c`: locks that are handed on in known ways.
pub fn handed() -> Program {
    compile("handed.c", "cc", &[]).expect(NO_COMPILER)
}

/// `closed.c`, and two modules for it, with functions of these names.
pub fn closed(names: [&str; 2]) -> (Program, [Program; 2]) {
    let program = compile("closed.c", "cc", &["-g"]).expect(NO_COMPILER);
    let modules = names.map(|name| {
        let takes = format!("-DTAKES={name}");
        compile("closed.c", "cc", &["-g", "-shared", "-fPIC", &takes]).expect(NO_COMPILER)
    });
    (program, modules)
}

/// `truth.c`: programs that time their own lock.
pub fn truth() -> Program {
    compile("truth.c", "cc", &[]).expect(NO_COMPILER)
}

/// `deep.c`: a bug below a caller with a large frame.
pub fn deep() -> Program {
    compile("deep.c", "cc", &["-g"]).expect(NO_COMPILER)
}

/// Runs make in a folder below the workspace's, without what this test's cargo would tell a cargo that
/// make starts.
pub fn make(at: &str, arguments: &[String]) {
    let mut make = Command::new("timeout");
    make.args(["600", "make"]);
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text == "CARGO_ENCODED_RUSTFLAGS" {
            make.env_remove(name);
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = make
        .args(arguments)
        .current_dir(root.join(at))
        .env_remove("LD_PRELOAD")
        .stdin(Stdio::null())
        .output()
        .expect("make runs");
    assert!(output.status.success(), "{output:?}");
}

/// The prefix below which the library for C is installed for all tests here.
pub fn prefix() -> &'static Path {
    static PREFIX: LazyLock<TempDir> = LazyLock::new(|| {
        let prefix = TempDir::new().expect("a temporary folder");
        let told = format!("PREFIX={}", prefix.path().display());
        let cargo = format!("CARGO={}", env!("CARGO"));
        make(".", &["install-c".to_owned(), told, cargo]);
        prefix
    });
    PREFIX.path()
}

/// `ours.c` or the like, which uses the library for C: that of this name.
pub fn of_the_library(source: &str, library: &str) -> Program {
    let prefix = prefix().display();
    let include = format!("-I{prefix}/include");
    let found = format!("-Wl,-rpath,{prefix}/lib");
    let library = format!("{prefix}/lib/{library}");
    compile(source, "cc", &["-g", &include, &found, &library]).expect(NO_COMPILER)
}

/// `net.c`: a server with threads, and its client.
pub fn net() -> Program {
    compile("net.c", "cc", &[]).expect(NO_COMPILER)
}

/// `early.c`: holds that end before those of locks taken later, or by a wait.
pub fn early() -> Program {
    compile("early.c", "cc", &[]).expect(NO_COMPILER)
}

const NO_COMPILER: &str = "these tests need a C compiler: install the package gcc";
