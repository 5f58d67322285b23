//! The library for C and C++, as a program finds it: installed below a prefix.

use cohort::catalogue::LOCKS;
use object::{Object, ObjectSymbol};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::{env, fs};
use tempfile::TempDir;

fn root() -> &'static Path {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    root.expect("this crate is in its workspace")
}

/// A command, without what this test's cargo would tell a cargo that make starts.
fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text == "CARGO_ENCODED_RUSTFLAGS" {
            command.env_remove(name);
        }
    }
    command.env_remove("LD_PRELOAD");
    command
}

/// Runs a command to its end; what it printed, on both streams.
fn run(command: &mut Command) -> Result<String, String> {
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("{command:?}: {error}"))?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    if output.status.success() {
        Ok(text)
    } else {
        Err(format!("{command:?}: {}\n{text}", output.status))
    }
}

/// The same; it has to succeed.
fn succeed(command: &mut Command) {
    run(command).unwrap_or_else(|why| panic!("{why}"));
}

/// The prefix below which the library is installed for all tests here.
static PREFIX: LazyLock<TempDir> = LazyLock::new(|| {
    let prefix = TempDir::new().unwrap();
    let mut make = command("make");
    make.current_dir(root()).arg("install-c");
    make.arg(format!("PREFIX={}", prefix.path().display()));
    make.arg(format!("CARGO={}", env!("CARGO")));
    succeed(&mut make);
    prefix
});

fn in_prefix(path: &str) -> PathBuf {
    PREFIX.path().join(path)
}

/// The functions that a header declares.
fn declared(header: &str) -> BTreeSet<&str> {
    let words = header.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let after = words.filter(|word| header.contains(&format!("{word}(")));
    after.filter(|word| word.starts_with("cohort_")).collect()
}

#[test]
fn the_header_is_as_the_sources_say() {
    let c = root().join("crates/cohort-c");
    let mut config = cbindgen::Config::from_file(c.join("cbindgen.toml")).unwrap();
    let prelude = fs::read_to_string(c.join("prelude.h")).unwrap();
    config.after_includes = Some(prelude + "\n" + &by_algorithm());
    let mut made = Vec::new();
    let sources = [
        "mutex", "rwlock", "cond", "gls", "lock", "delegate", "token", "version",
    ];
    let builder = sources
        .iter()
        .fold(cbindgen::Builder::new(), |builder, name| {
            builder.with_src(c.join(format!("src/{name}.rs")))
        });
    builder
        .with_config(config)
        .generate()
        .unwrap()
        .write(&mut made);
    // What Rust asks of an unsafe function's caller, C asks of every caller.
    let made = without_safety(&String::from_utf8(made).unwrap());
    let header = c.join("include/cohort.h");
    if env::var_os("COHORT_WRITE").is_some() {
        fs::write(&header, &made).unwrap();
    }
    let kept = fs::read_to_string(&header).unwrap_or_default();
    assert!(
        kept == made,
        "cohort.h is stale; `COHORT_WRITE=1 cargo test -p cohort --test library` makes it anew"
    );
}

/// How the header names each lock of the catalogue in its list of them.
const CALL: &str = "    call(";

/// What the header declares by a macro for each lock of the catalogue.
fn by_algorithm() -> String {
    let locks = LOCKS.iter().map(|lock| lock.identifier);
    let calls = locks.map(|lock| format!("{CALL}{lock})"));
    let calls = calls.collect::<Vec<_>>().join(" \\\n");
    format!(
        "/* Calls a macro with each lock of `cohort list`, by the lock's name with _ for -. */\n\
         #define COHORT_EACH_LOCK(call) \\\n\
         {calls}\n\n\
         /*\n \
         * Any of these locks for any address, as in cohort_gls_hmcs_3_lock: each as the function\n \
         * without the name, below.\n \
         */\n\
         #define COHORT_GLS(lock) \\\n    \
             int cohort_gls_##lock##_lock(const void *address); \\\n    \
             int cohort_gls_##lock##_trylock(const void *address); \\\n    \
             int cohort_gls_##lock##_timedlock(const void *address, const struct timespec *time); \\\n    \
             int cohort_gls_##lock##_clocklock(const void *address, int clock, \\\n        \
                                               const struct timespec *time); \\\n    \
             int cohort_gls_##lock##_unlock(const void *address);\n\
         #ifdef __cplusplus\n\
         extern \"C\" {{\n\
         #endif\n\
         COHORT_EACH_LOCK(COHORT_GLS)\n\
         #ifdef __cplusplus\n\
         }}\n\
         #endif\n\
         #undef COHORT_GLS"
    )
}

/// The names that this macro makes of each of them.
fn named_by_algorithm(header: &str) -> impl Iterator<Item = String> {
    let lines = header.lines();
    let locks = lines.filter_map(|line| line.strip_prefix(CALL)?.split(')').next());
    locks.flat_map(|lock| {
        let functions = ["lock", "trylock", "timedlock", "clocklock", "unlock"];
        functions.map(|function| format!("cohort_gls_{lock}_{function}"))
    })
}

/// The header without what its comments say below `# Safety`.
fn without_safety(header: &str) -> String {
    let mut lines: Vec<&str> = Vec::new();
    let mut is_left_out = false;
    for line in header.lines() {
        let ends = line.trim() == "*/";
        is_left_out = (is_left_out || line.trim() == "# Safety") && !ends;
        // Nor the empty lines before that.
        while ends && lines.last().is_some_and(|last| last.trim().is_empty()) {
            lines.pop();
        }
        if !is_left_out {
            lines.push(line);
        }
    }
    lines.join("\n") + "\n"
}

/// A symbol that goes, or comes unnoticed, breaks programs or promises too much.
#[test]
fn the_library_has_the_symbols_of_the_record() {
    let record = root().join("crates/cohort-c/symbols.txt");
    let library = fs::read(in_prefix("lib/libcohort.so")).unwrap();
    let library = object::File::parse(&*library).unwrap();
    let symbols = library
        .dynamic_symbols()
        .filter(|symbol| symbol.is_definition());
    let symbols: Vec<String> = symbols
        .filter_map(|symbol| symbol.name().ok().map(str::to_owned))
        .filter(|name| !name.starts_with("COHORT_"))
        .collect();
    let symbols: BTreeSet<&str> = symbols.iter().map(String::as_str).collect();
    if env::var_os("COHORT_WRITE").is_some() {
        let lines: String = symbols.iter().map(|name| format!("{name}\n")).collect();
        fs::write(&record, lines).unwrap();
    }
    let kept = fs::read_to_string(&record).unwrap();
    let kept: BTreeSet<&str> = kept.lines().collect();
    assert_eq!(
        symbols, kept,
        "`COHORT_WRITE=1 cargo test -p cohort --test library` records what the library has"
    );
    let header = fs::read_to_string(in_prefix("include/cohort.h")).unwrap();
    let by_algorithm: Vec<String> = named_by_algorithm(&header).collect();
    let mut declared = declared(&header);
    declared.extend(by_algorithm.iter().map(String::as_str));
    assert_eq!(declared, kept, "declared in cohort.h");
    let foreign = |line: &&str| line.starts_with("extern ") && !line.starts_with("extern \"C\"");
    assert_eq!(header.lines().find(foreign), None, "declared in cohort.h");
    let page = fs::read_to_string(in_prefix("share/man/man3/cohort.h.3")).unwrap();
    for name in kept {
        let is_one_of_many = by_algorithm.iter().any(|many| many == name);
        let last = name.rsplit('_').next().unwrap_or(name);
        let told = is_one_of_many.then(|| format!("cohort_gls_LOCK_{last}"));
        let name = told.as_deref().unwrap_or(name);
        assert!(page.contains(name), "cohort.h(3) does not tell of {name}");
    }
}

#[test]
fn the_page_on_cpp_tells_of_every_class() {
    let header = fs::read_to_string(in_prefix("include/cohort.hpp")).unwrap();
    let page = fs::read_to_string(in_prefix("share/man/man3/cohort.hpp.3")).unwrap();
    let classes = header.lines().filter(|line| line.starts_with("class "));
    let names: Vec<&str> = classes
        .filter_map(|line| {
            let head = line.split([':', '{']).next()?;
            head.split_whitespace().last()
        })
        .collect();
    assert!(names.contains(&"shared_timed_mutex"), "{names:?}");
    for name in names {
        assert!(page.contains(name), "cohort.hpp(3) does not tell of {name}");
    }
}

/// Compiles and runs the examples of a language.
fn examples(language: &str, options: &[&str]) {
    let build = TempDir::new().unwrap();
    let mut make = command("make");
    make.current_dir(root().join("examples").join(language));
    make.arg("test").args(options);
    make.arg(format!("PREFIX={}", PREFIX.path().display()));
    make.arg(format!("BUILD={}", build.path().display()));
    succeed(&mut make);
}

#[test]
fn the_examples_in_c_run() {
    examples("c", &[]);
}

#[test]
fn the_examples_in_cpp_run() {
    examples("cpp", &[]);
    let plain = "CXXFLAGS=-O1 -fno-exceptions -fno-rtti";
    examples("cpp", &["EXAMPLES=counter", plain]);
}

#[test]
fn clang_finds_the_locks_kept_to() {
    if run(command("clang").arg("--version")).is_ok() {
        examples("c", &["CC=clang", "CFLAGS=-O1 -Wthread-safety"]);
    } else {
        eprintln!("skip: no clang here (package clang)");
    }
    if run(command("clang++").arg("--version")).is_ok() {
        let flags = "CXXFLAGS=-O1 -Wthread-safety";
        examples("cpp", &["CXX=clang++", flags, "STANDARD=c++20"]);
    } else {
        eprintln!("skip: no clang++ here (package clang)");
    }
}

/// A program without exceptions, and one that destroys what is held, end with a message.
#[test]
fn mistakes_in_cpp_end_a_program_that_cannot_catch_them() {
    let unlocks = "cohort::mutex mutex; mutex.unlock();";
    let destroys = "cohort::named_lock lock(\"mcs\"); lock.lock();";
    for (body, option, message) in [
        (unlocks, "-fno-exceptions", "cohort::mutex::unlock: "),
        (destroys, "-fexceptions", "destroyed while it is held: "),
    ] {
        let folder = TempDir::new().unwrap();
        let source = folder.path().join("mistake.cpp");
        let text = format!("#include <cohort.hpp>\nint main() {{ {body} }}\n");
        fs::write(&source, text).unwrap();
        let program = folder.path().join("mistake");
        let mut cpp = command("c++");
        cpp.args(["-std=c++17", "-pthread", option, "-o"]);
        cpp.arg(&program).arg(&source);
        cpp.arg(format!("-I{}", in_prefix("include").display()));
        cpp.arg(in_prefix("lib/libcohort.a"));
        succeed(&mut cpp);
        let why = run(&mut command(&program)).expect_err("it is a mistake");
        assert!(why.contains(message), "{why}");
    }
}

/// The example of named locks, linked with what is given.
fn named(file: &str, options: &[&str]) -> PathBuf {
    let program = in_prefix(file);
    let mut cc = command("cc");
    cc.args(["-std=c11", "-D_GNU_SOURCE", "-pthread", "-o"]);
    cc.arg(&program).arg(root().join("examples/c/named.c"));
    cc.arg(format!("-I{}", in_prefix("include").display()));
    cc.args(options).arg(in_prefix("lib/libcohort.a"));
    succeed(&mut cc);
    program
}

#[test]
fn the_static_library_links_by_itself() {
    succeed(&mut command(named("static", &["-static"])));
}

/// Every lock that the command lists serves an address, alone with its algorithm, also in a
/// forked child.
#[test]
fn every_lock_serves_an_address() {
    let calls = LOCKS
        .iter()
        .map(|lock| format!("TRY({})\n", lock.identifier));
    let calls: String = calls.collect();
    let source = in_prefix("addresses.c");
    let text = format!(
        "{}\nint main(void)\n{{\n{calls}return cohort_gls_destroy();\n}}\n",
        include_str!("library/addresses.h")
    );
    fs::write(&source, text).unwrap();
    let program = in_prefix("addresses");
    let mut cc = command("cc");
    cc.args([
        "-std=c11",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-D_GNU_SOURCE",
        "-pthread",
        "-o",
    ]);
    cc.arg(&program).arg(&source);
    cc.arg(format!("-I{}", in_prefix("include").display()));
    cc.arg(in_prefix("lib/libcohort.a"));
    succeed(&mut cc);
    succeed(&mut command(&program));
}

/// Every lock that the command lists is made by its name, and counts.
#[test]
fn every_lock_is_made_by_its_name() {
    let program = named("every", &[]);
    let names = LOCKS.iter().map(|info| info.name);
    succeed(command(&program).args(names));
    let mistaken = run(command(&program).arg("clof:mcs-mcs@cache,numa"));
    let why = mistaken.expect_err("it has no level for all");
    assert!(why.contains("its last level is `system`"), "{why}");
}
