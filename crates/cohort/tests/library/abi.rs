//! The ABI that cohort.h promises, against the recorded one: crates/cohort-c/libcohort.abi.
//!
//! The library itself has no description of C's types. A library of empty functions is compiled
//! from the header's declarations instead, and libabigail describes that.

use super::{PREFIX, command, generated, in_prefix, root, run, succeed};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};
use tempfile::TempDir;

/// Bits of the exit status of `abidiff`.
const CHANGED: i32 = 4;
const INCOMPATIBLE: i32 = 8;

fn record() -> PathBuf {
    root().join("crates/cohort-c/libcohort.abi")
}

/// Whether libabigail is here; says so if not.
fn is_here() -> bool {
    let is_here = run(command("abidiff").arg("--version")).is_ok();
    if !is_here {
        eprintln!("skip: no abidiff here (package abigail-tools)");
    }
    is_here
}

/// An empty function for each declaration of the header in that folder.
fn functions(folder: &Path) -> String {
    let mut cc = command("cc");
    cc.args(["-E", "-P", "-std=c11", "-I"]).arg(folder);
    let text = run(cc.arg(folder.join("cohort.h"))).unwrap_or_else(|why| panic!("{why}"));
    let statements = text.split(';').map(str::trim);
    let declarations = statements.filter(|statement| {
        let mut words = statement.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        !statement.starts_with("typedef")
            && words
                .any(|word| word.starts_with("cohort_") && statement.contains(&format!("{word}(")))
    });
    let whole = declarations.map(|declaration| {
        let end = if declaration.starts_with("void cohort_") {
            "}"
        } else {
            "return 0; }"
        };
        format!("{declaration} {{ {end}\n")
    });
    format!("#include <cohort.h>\n{}", whole.collect::<String>())
}

/// Describes the ABI of the header `text`, in a file of the folder.
fn described(text: &str, folder: &Path) -> PathBuf {
    fs::write(folder.join("cohort.h"), text).unwrap();
    let source = folder.join("functions.c");
    fs::write(&source, functions(folder)).unwrap();
    let library = folder.join("libcohort.so");
    let map = root().join("crates/cohort-c/cohort.map");
    let mut cc = command("cc");
    cc.args([
        "-std=c11",
        "-g",
        "-shared",
        "-fPIC",
        "-Wl,-soname,libcohort.so.0",
    ]);
    cc.arg(format!("-Wl,--version-script={}", map.display()));
    cc.arg("-I")
        .arg(folder)
        .arg("-o")
        .arg(&library)
        .arg(&source);
    succeed(&mut cc);
    let description = folder.join("libcohort.abi");
    let mut abidw = command("abidw");
    abidw.args(["--no-corpus-path", "--no-comp-dir-path", "--no-show-locs"]);
    abidw.args([
        "--no-parameter-names",
        "--no-elf-needed",
        "--no-architecture",
    ]);
    abidw.arg("--out-file").arg(&description).arg(&library);
    succeed(&mut abidw);
    description
}

/// The exit status of `abidiff` from one description to the other, and its report.
fn compared(before: &Path, after: &Path) -> (i32, String) {
    compared_with(&[], before, after)
}

/// [`compared`] without additions: 0 if no program breaks.
fn broken(before: &Path, after: &Path) -> (i32, String) {
    compared_with(&["--no-added-syms"], before, after)
}

fn compared_with(options: &[&str], before: &Path, after: &Path) -> (i32, String) {
    let mut abidiff = command("abidiff");
    abidiff.args(options).arg(before).arg(after);
    let output = abidiff.stdin(Stdio::null()).output();
    let output = output.expect("abidiff runs");
    let report = String::from_utf8_lossy(&output.stdout).into_owned();
    (output.status.code().expect("it is not killed"), report)
}

#[test]
fn the_abi_is_the_recorded_one() {
    if !is_here() {
        return;
    }
    let folder = TempDir::new().unwrap();
    let now = described(&generated(), folder.path());
    if env::var_os("COHORT_WRITE").is_some() {
        if record().exists() {
            let (status, report) = broken(&record(), &now);
            assert_eq!(status, 0, "programs would break; libcohort.so.1? {report}");
        }
        fs::copy(&now, record()).unwrap();
    }
    let (status, report) = compared(&record(), &now);
    assert_eq!(
        status, 0,
        "`COHORT_WRITE=1 cargo test -p cohort --test library` records an addition: {report}"
    );
}

/// The comparison finds each kind of change, and tells additions from breaks.
#[test]
fn a_change_of_the_abi_is_found() {
    if !is_here() {
        return;
    }
    let folder = TempDir::new().unwrap();
    let original = described(&generated(), folder.path());
    let breaks = [
        ("int cohort_mutex_unlock(", "int cohort_mutex_free("),
        (
            "cohort_mutex { uint32_t cohort_words[2]",
            "cohort_mutex { uint32_t cohort_words[3]",
        ),
        (
            "uint64_t cohort_thread_name(void)",
            "uint32_t cohort_thread_name(void)",
        ),
    ];
    for (before, after) in breaks {
        let folder = TempDir::new().unwrap();
        let text = generated().replace(before, after);
        assert_ne!(text, generated(), "{before} is in cohort.h");
        let changed = described(&text, folder.path());
        let (status, report) = broken(&original, &changed);
        assert_eq!(status & CHANGED, CHANGED, "{after} is refused: {report}");
    }
    let folder = TempDir::new().unwrap();
    let removed = generated().replace("int cohort_mutex_unlock(", "int cohort_mutex_free(");
    let (status, report) = compared(&original, &described(&removed, folder.path()));
    assert_eq!(status & INCOMPATIBLE, INCOMPATIBLE, "{report}");
    let added = generated().replace(
        "int cohort_mutex_unlock(",
        "int cohort_mutex_free(cohort_mutex_t *mutex);\nint cohort_mutex_unlock(",
    );
    let folder = TempDir::new().unwrap();
    let added = described(&added, folder.path());
    let (status, report) = compared(&original, &added);
    assert_eq!(status, CHANGED, "an addition is a change: {report}");
    let (status, report) = broken(&original, &added);
    assert_eq!(status, 0, "an addition breaks no program: {report}");
}

/// Alignments and initialisers, which the record lacks, and sizes.
#[test]
fn objects_have_the_layout_that_is_promised() {
    let folder = TempDir::new().unwrap();
    let program = folder.path().join("layout");
    fs::write(folder.path().join("cohort.h"), generated()).unwrap();
    let mut cc = command("cc");
    cc.args(["-std=c11", "-I"]).arg(folder.path());
    cc.arg(root().join("crates/cohort/tests/library/layout.c"));
    succeed(cc.arg("-o").arg(&program));
    succeed(&mut Command::new(&program));
}

/// Programs are bound to symbols with their versions, which stay.
#[test]
fn the_symbols_have_the_recorded_versions() {
    let _ = &*PREFIX;
    let mut nm = command("nm");
    nm.args(["-D", "--defined-only", "--with-symbol-versions"]);
    let symbols = run(nm.arg(in_prefix("lib/libcohort.so"))).unwrap_or_else(|why| panic!("{why}"));
    let symbols = symbols
        .lines()
        .filter_map(|line| line.split(' ').next_back());
    let symbols: BTreeSet<String> = symbols
        .filter(|symbol| symbol.starts_with("cohort_"))
        .map(str::to_owned)
        .collect();
    let text = fs::read_to_string(record()).unwrap();
    let attribute = |line: &str, name: &str| {
        let (_, rest) = line.split_once(&format!(" {name}='"))?;
        Some(rest.split('\'').next()?.to_owned())
    };
    let lines = text.lines().filter(|line| line.contains("<elf-symbol "));
    let kept: BTreeSet<String> = lines
        .map(|line| {
            let name = attribute(line, "name").expect("a symbol has a name");
            let version = attribute(line, "version").expect("and a version");
            let at = match attribute(line, "is-default-version").as_deref() {
                Some("yes") => "@@",
                _ => "@",
            };
            format!("{name}{at}{version}")
        })
        .filter(|symbol| symbol.starts_with("cohort_"))
        .collect();
    assert!(kept.len() > 200, "the record has {} symbols", kept.len());
    assert_eq!(symbols, kept, "libcohort.so and libcohort.abi");
}
