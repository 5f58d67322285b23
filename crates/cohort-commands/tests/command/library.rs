//! What the preload libraries define, and what they ask of others.

use crate::{cohort, compiled};
use cohort_cli::library::{self, Library};
use object::{Object, ObjectSection, ObjectSymbol};
use std::collections::BTreeSet;

/// The libraries, as the command has them.
static LIBRARIES: [(&str, &Library); 3] = [
    ("usual", &library::USUAL),
    ("with compositions", &library::COMPOSITIONS),
    ("observing", &library::OBSERVING),
];

/// What a library may be linked to: what is called only while it is loaded; what touches the
/// caller's memory alone; variables; and what crt files name, which need not be there.
const ASKED_FOR: [&str; 25] = [
    "__errno_location",
    "__register_atfork",
    "_r_debug",
    "dlsym",
    "dlvsym",
    "getauxval",
    // Before that; from then on the C library's own.
    "pthread_getcpuclockid",
    "pthread_getschedparam",
    "pthread_self",
    "abort",
    "bcmp",
    "memcmp",
    "memcpy",
    "memmove",
    "memset",
    "strlen",
    "__libc_single_threaded",
    "__rseq_offset",
    "__rseq_size",
    "environ",
    "__stack_chk_guard",
    "_ITM_deregisterTMCloneTable",
    "_ITM_registerTMCloneTable",
    "__cxa_finalize",
    "__gmon_start__",
];

fn parsed(library: &[u8]) -> object::File<'_> {
    object::File::parse(library).expect("an image")
}

fn names<'a>(image: &'a object::File<'_>, defined: bool) -> BTreeSet<&'a str> {
    let symbols = image.dynamic_symbols();
    let symbols = symbols.filter(|symbol| symbol.is_undefined() != defined);
    let names = symbols.filter_map(|symbol| symbol.name().ok());
    names.filter(|name| !name.is_empty()).collect()
}

/// Other functions of the C library may be wrappers of the program's, which lock mutexes.
#[test]
fn a_library_calls_few_functions_of_the_c_library() {
    for (form, library) in LIBRARIES {
        let image = parsed(&library.bytes);
        let asked = names(&image, false);
        assert!(asked.contains("dlsym"), "{form}: {asked:?}");
        let more: Vec<&&str> = asked
            .iter()
            .filter(|name| !ASKED_FOR.contains(*name))
            .collect();
        assert_eq!(more, Vec::<&&str>::new(), "{form}");
    }
}

/// Else the loader passes over them where a program asks for a version.
#[test]
fn the_libraries_have_no_versions() {
    for (form, library) in LIBRARIES {
        let image = parsed(&library.bytes);
        let sections: Vec<&str> = image.sections().filter_map(|s| s.name().ok()).collect();
        assert!(sections.contains(&".dynsym"), "{form}: {sections:?}");
        assert!(!sections.contains(&".gnu.version"), "{form}: {sections:?}");
    }
}

/// A function that a library defines waits for nothing that the loader's lock protects.
#[test]
fn every_function_is_called_under_the_loaders_lock() {
    let case = include_str!("../../../cohort-cli/tests/conformance/loader.c");
    let words: BTreeSet<&str> = case
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .collect();
    for (form, library) in LIBRARIES {
        let image = parsed(&library.bytes);
        let defined = names(&image, true);
        assert!(defined.contains("pthread_mutex_lock"), "{form}");
        // The last is a structure of functions, for locks outside the library.
        let missing = defined.difference(&words);
        let missing: Vec<&&str> = missing.filter(|name| **name != "cohort_recorder").collect();
        assert_eq!(missing, Vec::<&&str>::new(), "{form}: not in loader.c");
    }
}

/// Wherever the other library stands.
#[test]
fn wrappers_that_lock_mutexes_do_no_harm() {
    let (program, wrapper) = compiled::wrapped();
    for lock in ["futex-hmcs", "mcs"] {
        cohort()
            .env("LD_PRELOAD", wrapper.path())
            .args(["run", "--lock", lock, "--"])
            .arg(program.path())
            .assert()
            .code(0)
            .stdout("1\n");
    }
    let folder = program.folder();
    let ours = folder.join("ours.so");
    std::fs::write(&ours, &*library::USUAL.bytes).expect("room");
    for both in [[ours.clone(), wrapper.path()], [wrapper.path(), ours]] {
        let both = both.map(|path| path.display().to_string()).join(":");
        assert_cmd::Command::new(program.path())
            .env("LD_PRELOAD", &both)
            .timeout(std::time::Duration::from_secs(60))
            .assert()
            .code(0)
            .stdout("1\n");
    }
}
