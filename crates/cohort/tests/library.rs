//! The library for C and C++, installed below a prefix as for a program.
// Not on the portable backend: the library for C has the native backend.
#![cfg(not(feature = "portable"))]

#[path = "library/abi.rs"]
mod abi;
#[path = "support/frames.rs"]
mod frames;
#[path = "support/program.rs"]
mod program;

use cohort::catalogue::LOCKS;
use object::{Object, ObjectSection, ObjectSymbol};
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

/// A command without the environment variables of this test's cargo, which would affect a nested
/// cargo.
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

/// Runs a command; returns its output on both streams.
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

/// Runs a command that must succeed.
fn succeed(command: &mut Command) {
    run(command).unwrap_or_else(|why| panic!("{why}"));
}

/// Whether the long checks run too.
fn is_full() -> bool {
    env::var("COHORT_TIER").as_deref() == Ok("full")
}

/// The prefix of the installation that all tests here use.
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

/// The header that cbindgen makes of the sources.
fn generated() -> String {
    let c = root().join("crates/cohort-c");
    let mut config = cbindgen::Config::from_file(c.join("cbindgen.toml")).unwrap();
    let prelude = fs::read_to_string(c.join("prelude.h")).unwrap();
    config.after_includes = Some(prelude + "\n" + &by_algorithm());
    let mut made = Vec::new();
    let sources = [
        "mutex", "rwlock", "cond", "gls", "lock", "shared", "delegate", "token", "thread",
        "version",
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
    // Safety requirements apply to every C caller, so C needs no section for them.
    let made = without_safety(&String::from_utf8(made).unwrap());
    let epilogue = fs::read_to_string(c.join("epilogue.h")).unwrap();
    format!("{}\n\n{epilogue}", made.trim_end())
}

#[test]
fn the_header_is_as_the_sources_say() {
    let made = generated();
    let header = root().join("crates/cohort-c/include/cohort.h");
    if env::var_os("COHORT_WRITE").is_some() {
        fs::write(&header, &made).unwrap();
    }
    let kept = fs::read_to_string(&header).unwrap_or_default();
    assert!(
        kept == made,
        "cohort.h is stale; `COHORT_WRITE=1 cargo test -p cohort --test library` makes it anew"
    );
}

/// The entry of a lock in the header's list of the catalogue.
const CALL: &str = "    call(";

/// The header's macro-generated declarations for the catalogue's locks.
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

/// The names that this macro generates for each lock.
fn named_by_algorithm(header: &str) -> impl Iterator<Item = String> {
    let lines = header.lines();
    let locks = lines.filter_map(|line| line.strip_prefix(CALL)?.split(')').next());
    locks.flat_map(|lock| {
        let functions = ["lock", "trylock", "timedlock", "clocklock", "unlock"];
        functions.map(|function| format!("cohort_gls_{lock}_{function}"))
    })
}

/// The header without its comments' `# Safety` sections.
fn without_safety(header: &str) -> String {
    let mut lines: Vec<&str> = Vec::new();
    let mut is_left_out = false;
    for line in header.lines() {
        let ends = line.trim() == "*/";
        is_left_out = (is_left_out || line.trim() == "# Safety") && !ends;
        // Drop the empty lines before the section too.
        while ends && lines.last().is_some_and(|last| last.trim().is_empty()) {
            lines.pop();
        }
        if !is_left_out {
            lines.push(line);
        }
    }
    lines.join("\n") + "\n"
}

/// Threads with small stacks use locks, and signal handlers with smaller ones.
#[test]
fn no_function_has_a_large_frame() {
    let library = fs::read(in_prefix("lib/libcohort.so")).unwrap();
    let largest = frames::largest(&library);
    assert!(largest < frames::MOST, "{largest} bytes");
}

/// The prefix of the functions that Valgrind calls in place of the library's.
const WRAPPER: &str = "_vgw00000ZZ_Za_";

/// Whether Valgrind uses a wrapper of that pattern for the function.
fn is_wrapped_by(pattern: &str, function: &str) -> bool {
    let pattern = pattern.replace("Zu", "_");
    match pattern.split_once("Za") {
        None => pattern == function,
        Some((start, end)) => {
            let rest = function.strip_prefix(start);
            rest.is_some_and(|rest| rest.ends_with(end))
        }
    }
}

/// Helgrind and drd report on a function without a wrapper; of two wrappers, Valgrind picks either.
#[cfg(target_arch = "x86_64")]
#[test]
fn every_function_has_one_wrapper_for_valgrind() {
    let library = fs::read(in_prefix("lib/libcohort.so")).unwrap();
    let library = object::File::parse(&*library).unwrap();
    let symbols = library.dynamic_symbols();
    let symbols = symbols.filter(|symbol| symbol.is_definition());
    let names: Vec<&str> = symbols.filter_map(|symbol| symbol.name().ok()).collect();
    let patterns = names.iter().filter_map(|name| name.strip_prefix(WRAPPER));
    let patterns: Vec<&str> = patterns.collect();
    let functions = names.iter().filter(|name| name.starts_with("cohort_"));
    for function in functions {
        let wrappers = patterns.iter().filter(|of| is_wrapped_by(of, function));
        assert_eq!(wrappers.count(), 1, "wrappers of {function}");
    }
}

/// A removed symbol breaks programs; an unnoticed new one promises too much.
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
        .filter(|name| !name.starts_with("COHORT_") && !name.starts_with(WRAPPER))
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

/// C99 without extensions knows less of the system's headers.
#[test]
fn the_header_is_of_every_standard() {
    let folder = TempDir::new().unwrap();
    let source = folder.path().join("all.c");
    fs::write(
        &source,
        "#include <cohort.h>\nint main(void) { return 0; }\n",
    )
    .unwrap();
    for compiler in ["cc", "clang"] {
        if run(command(compiler).arg("--version")).is_err() {
            eprintln!("skip: no {compiler} here (package {compiler})");
            continue;
        }
        for standard in ["c99", "c11", "c17"] {
            succeed(&mut strict(compiler, standard, &source));
        }
    }
}

/// A strict compilation without a result.
fn strict(compiler: &str, standard: &str, source: &Path) -> Command {
    let mut compile = command(compiler);
    compile.args(["-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]);
    compile.arg(format!("-std={standard}")).arg(source);
    compile.arg(format!("-I{}", in_prefix("include").display()));
    compile
}

/// The headers for C++ and for ThreadSanitizer, too, and all templates that the examples use.
#[test]
fn the_headers_of_cpp_are_of_every_standard() {
    let examples = root().join("examples/cpp");
    let sources = fs::read_dir(examples).expect("the examples are here");
    let paths = sources.map(|entry| entry.expect("the folder can be read").path());
    let paths: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|ending| ending == "cpp"))
        .collect();
    for compiler in ["c++", "clang++"] {
        if run(command(compiler).arg("--version")).is_err() {
            eprintln!("skip: no {compiler} here (package clang)");
            continue;
        }
        for path in &paths {
            let mut compile = strict(compiler, "c++20", path);
            if compiler == "c++" {
                // It comes with gcc; Debian's clang has the sanitizer in another package.
                compile.args(["-include", "cohort_tsan.h"]);
            }
            succeed(&mut compile);
        }
    }
}

/// Every function's name leads to a page.
#[test]
fn every_function_has_a_page() {
    let header = fs::read_to_string(in_prefix("include/cohort.h")).unwrap();
    for name in declared(&header) {
        let page = in_prefix("share/man/man3").join(format!("{name}.3"));
        let text = fs::read_to_string(&page).unwrap_or_default();
        assert_eq!(text, ".so man3/cohort.h.3\n", "{}", page.display());
    }
}

#[test]
fn the_examples_in_cpp_are_built_by_cmake() {
    if Command::new("cmake").arg("--version").output().is_err() {
        eprintln!("skip: no cmake here");
        return;
    }
    let build = TempDir::new().unwrap();
    let mut configure = command("cmake");
    configure.arg("-S").arg(root().join("examples/cpp"));
    configure.arg("-B").arg(build.path());
    configure.arg(format!("-DCMAKE_PREFIX_PATH={}", PREFIX.path().display()));
    succeed(&mut configure);
    succeed(command("cmake").arg("--build").arg(build.path()).arg("-j2"));
    succeed(
        command("ctest")
            .arg("--output-on-failure")
            .arg("--test-dir")
            .arg(build.path()),
    );
}

/// With the installed library, and with the sources as a subproject.
#[test]
fn the_examples_are_built_by_meson() {
    if run(command("meson").arg("--version")).is_err() {
        eprintln!("skip: no meson here (package meson)");
        return;
    }
    let folder = TempDir::new().unwrap();
    let examples = folder.path().join("examples");
    for path in [
        "meson/meson.build",
        "meson/subprojects/cohort.wrap",
        "c/counter.c",
        "cpp/counter.cpp",
    ] {
        let to = examples.join(path);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(root().join("examples").join(path), to).unwrap();
    }
    let project = examples.join("meson");
    std::os::unix::fs::symlink(root(), project.join("subprojects/cohort")).unwrap();
    let is_built = |name: &str, option: &str| {
        let build = folder.path().join(name);
        let mut setup = command("meson");
        setup.arg("setup").arg(&build).arg(&project).arg(option);
        setup.env("PKG_CONFIG_PATH", in_prefix("lib/pkgconfig"));
        succeed(&mut setup);
        succeed(command("meson").args(["test", "-C"]).arg(&build));
    };
    is_built("installed", "--wrap-mode=nofallback");
    is_built("subproject", "--force-fallback-for=cohort");
    let build = fs::read_to_string(root().join("meson.build")).unwrap();
    let version = format!("version: '{}'", env!("CARGO_PKG_VERSION"));
    assert!(build.contains(&version), "meson.build: {version}");
}

#[test]
fn the_examples_in_cpp_run() {
    examples("cpp", &[]);
    let plain = "CXXFLAGS=-O1 -fno-exceptions -fno-rtti";
    examples("cpp", &["EXAMPLES=counter", plain]);
    // Stop tokens, and locks with their names in their types.
    examples("cpp", &["STANDARD=c++20"]);
}

/// Compiles a program with guarded or unguarded data, by its argument.
fn races(file: &str, options: &[&str]) -> Result<PathBuf, String> {
    let program = in_prefix(file);
    let mut cc = command("cc");
    cc.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE"]);
    cc.args(["-O1", "-g", "-pthread", "-o"]).arg(&program);
    cc.arg(root().join("crates/cohort/tests/library/races.c"));
    cc.arg(format!("-I{}", in_prefix("include").display()));
    cc.args(options).arg(in_prefix("lib/libcohort.a"));
    run(&mut cc).map(|_| program)
}

/// Checks that a race detector fails the program exactly when it has a race.
fn finds_races(tool: &[&str], program: &Path) {
    let run_of = |argument| {
        let mut words = tool.iter().map(OsStr::new).chain([program.as_os_str()]);
        let mut command = command(words.next().expect("at least the program"));
        run(command.args(words).arg(argument))
    };
    run_of("guarded").unwrap_or_else(|why| panic!("{why}"));
    for race in ["open", "reading", "apart"] {
        let report = run_of(race).expect_err("there is a race");
        assert!(report.contains("races.c:"), "{tool:?} {race}: {report}");
    }
}

/// Helgrind and drd know the locks' ordering without an option of the program.
#[cfg(target_arch = "x86_64")]
#[test]
fn valgrind_finds_the_races_there_are() {
    if run(command("valgrind").arg("--version")).is_err() {
        eprintln!("skip: no valgrind here (package valgrind)");
        return;
    }
    let program = races("races", &[]).unwrap_or_else(|why| panic!("{why}"));
    for tool in ["--tool=helgrind", "--tool=drd"] {
        let valgrind = ["valgrind", "-q", "--error-exitcode=9", tool];
        finds_races(&valgrind, &program);
        let under = format!("RUN={}", valgrind.join(" "));
        let all: &[&str] = if is_full() {
            &[]
        } else {
            println!("left to the full tier (COHORT_TIER=full): most examples under {tool}");
            &["EXAMPLES=condition"]
        };
        for language in ["c", "cpp"] {
            examples(language, &[all, &[&under]].concat());
        }
    }
}

#[test]
fn thread_sanitizer_finds_the_races_there_are() {
    let flag = "-fsanitize=thread";
    let Ok(program) = races("sanitized", &[flag]) else {
        eprintln!("skip: no ThreadSanitizer here (package libtsan2)");
        return;
    };
    finds_races(&[], &program);
    let condition = "EXAMPLES=condition";
    let all: &[&str] = if is_full() { &[] } else { &[condition] };
    examples("c", &[all, &[&format!("CFLAGS=-O1 -g {flag}")]].concat());
    examples(
        "cpp",
        &[all, &[&format!("CXXFLAGS=-O1 -g {flag}")]].concat(),
    );
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

/// A C++ program without exceptions, or with a held lock destroyed, ends with a message.
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

/// The crate and the static library have each their own thread-local words.
#[test]
fn the_static_library_links_beside_the_crate() {
    let folder = TempDir::new().unwrap();
    let dependency = format!("cohort = {{ path = {:?} }}\n", env!("CARGO_MANIFEST_DIR"));
    let text = r#"
        unsafe extern "C" {
            fn cohort_mutex_lock(mutex: *mut u64) -> i32;
            fn cohort_mutex_unlock(mutex: *mut u64) -> i32;
        }

        fn main() {
            let (mut theirs, ours) = (0, cohort::Mutex::new(0));
            // SAFETY: a mutex is eight bytes, which are zero.
            let errors = unsafe {
                let locked = cohort_mutex_lock(&raw mut theirs);
                *ours.lock() += 1;
                (locked, cohort_mutex_unlock(&raw mut theirs))
            };
            assert_eq!((errors, ours.into_inner()), ((0, 0), 1));
        }
    "#;
    program::package(folder.path(), &dependency, text);
    let flags = format!("-Clink-arg={}", in_prefix("lib/libcohort.a").display());
    let output = program::cargo(folder.path(), &["run"], &flags);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}

/// The same file may be loaded again; another file of it may not.
#[test]
fn a_second_copy_of_the_library_is_refused() {
    let source = in_prefix("copies.c");
    let text = "#include <cohort.h>\n#include <dlfcn.h>\n\
        int main(int count, char **arguments)\n{\n\
            static cohort_mutex_t mutex;\n\
            if (count != 2 || cohort_mutex_lock(&mutex))\n        return 1;\n\
            void *copy = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);\n\
            return !copy || cohort_mutex_unlock(&mutex);\n}\n";
    fs::write(&source, text).unwrap();
    let program = in_prefix("copies");
    let mut cc = command("cc");
    cc.args(["-std=c11", "-D_GNU_SOURCE", "-pthread", "-o"]);
    cc.arg(&program).arg(&source);
    cc.arg(format!("-I{}", in_prefix("include").display()));
    cc.arg(in_prefix("lib/libcohort.so"));
    cc.arg(format!("-Wl,-rpath,{}", in_prefix("lib").display()));
    succeed(&mut cc);
    let library = in_prefix("lib/libcohort.so");
    succeed(command(&program).arg(&library));
    let copy = in_prefix("copy.so");
    fs::copy(&library, &copy).unwrap();
    let why = run(command(&program).arg(&copy)).expect_err("a second copy is loaded");
    assert!(why.contains("second copy of libcohort"), "{why}");
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

/// A forked child of a writer does not leave the lock to the parent's waiters.
#[test]
fn a_forked_child_lets_readers_in() {
    let program = in_prefix("fork");
    let mut cc = command("cc");
    cc.args(["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror"]);
    cc.args(["-pthread", "-o"]).arg(&program);
    cc.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/library/fork.c"));
    cc.arg(format!("-I{}", in_prefix("include").display()));
    cc.arg(in_prefix("lib/libcohort.a"));
    succeed(&mut cc);
    succeed(command(&program).args(["rwlock", "c-rw-np", "c-rw-wp"]));
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

/// The same in C++, under the standard library's guards and its condition variable.
#[test]
fn every_lock_is_lockable_in_cpp() {
    let program = in_prefix("every-cpp");
    let mut cpp = command("c++");
    cpp.args(["-std=c++20", "-Wall", "-Wextra", "-pedantic", "-Werror"]);
    cpp.args(["-pthread", "-o"]).arg(&program);
    cpp.arg(root().join("examples/cpp/named.cpp"));
    cpp.arg(format!("-I{}", in_prefix("include").display()));
    cpp.arg(in_prefix("lib/libcohort.a"));
    succeed(&mut cpp);
    let names = LOCKS.iter().map(|info| info.name);
    succeed(command(&program).args(names));
    let mistaken = run(command(&program).arg("no-lock"));
    let why = mistaken.expect_err("there is no such lock");
    assert!(why.contains("no-lock"), "{why}");
}

/// Plug-ins may have used up the loader's reserve of static thread-local storage.
#[test]
fn the_library_is_loaded_without_static_thread_storage() {
    /// Bit of `DT_FLAGS`.
    const DF_STATIC_TLS: u64 = 0x10;
    let library = fs::read(in_prefix("lib/libcohort.so")).unwrap();
    assert_eq!(flags(&library) & DF_STATIC_TLS, 0, "libcohort.so");
    let source = in_prefix("plugin.c");
    let text = "__thread char reserve[512] __attribute__((tls_model(\"initial-exec\")));\n\
        char *at(void) { return reserve; }\n";
    fs::write(&source, text).unwrap();
    let plugin = in_prefix("plugin.so");
    let mut cc = command("cc");
    cc.args(["-shared", "-fPIC", "-o"])
        .arg(&plugin)
        .arg(&source);
    succeed(&mut cc);
    assert_ne!(
        flags(&fs::read(&plugin).unwrap()) & DF_STATIC_TLS,
        0,
        "a plug-in"
    );
    let copies: Vec<PathBuf> = (0..8)
        .map(|copy| in_prefix(&format!("plugin-{copy}.so")))
        .collect();
    for copy in &copies {
        fs::copy(&plugin, copy).unwrap();
    }
    let source = in_prefix("host.c");
    fs::write(&source, include_str!("library/host.c")).unwrap();
    let program = in_prefix("host");
    let mut cc = command("cc");
    cc.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE"]);
    cc.args(["-pthread", "-o"]).arg(&program).arg(&source);
    cc.arg(format!("-I{}", in_prefix("include").display()));
    succeed(&mut cc);
    succeed(
        command(&program)
            .arg(in_prefix("lib/libcohort.so"))
            .args(copies),
    );
}

/// The value of `DT_FLAGS`, or 0.
fn flags(library: &[u8]) -> u64 {
    /// The tag.
    const DT_FLAGS: u64 = 30;
    let file = object::read::elf::ElfFile64::<object::Endianness>::parse(library).unwrap();
    let section = file
        .section_by_name(".dynamic")
        .expect("it is a shared library");
    let bytes = section.data().unwrap();
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    let entries = bytes.chunks_exact(16).map(|entry| entry.split_at(8));
    let mut entries = entries.map(|(tag, value)| (word(tag), word(value)));
    entries
        .find_map(|(tag, value)| (tag == DT_FLAGS).then_some(value))
        .unwrap_or(0)
}
