//! Runtimes with locks of their own, or that track all locks: Go's runtime and sanitizers.

use object::read::ReadCache;
use object::read::elf::ElfFile64;
use object::{Endianness, Object, ObjectSection};
use std::fs::File;
use std::path::Path;

/// With this option, AddressSanitizer accepts a library before its own.
const ACCEPT: &str = "verify_asan_link_order=0";

/// The variable for such options.
const OPTIONS: &str = "ASAN_OPTIONS";

/// Whether `path` is a Go program.
pub fn is_go(path: &Path) -> bool {
    examine(path, |file| file.section_by_name(".go.buildinfo").is_some())
}

/// Whether a sanitizer allows `path` to run with another library before it; `libraries` is the
/// loader's list for it.
///
/// # Errors
/// The reason why not, and a remedy.
pub fn check(path: &Path, libraries: &str) -> Result<(), String> {
    let shown = path.display();
    let brings = |name: &str| libraries.lines().any(|line| line.trim().starts_with(name));
    let watches = brings("libtsan.so") || brings("libclang_rt.tsan");
    if watches || defines(path, b"__tsan_init") {
        return Err(format!(
            "{shown} is built with ThreadSanitizer, which knows only the C library's locks and \
             would report false races; run it without Cohort, or use another build"
        ));
    }
    let options = std::env::var(OPTIONS).unwrap_or_default();
    if (brings("libasan.so") || brings("libclang_rt.asan")) && !options.contains(ACCEPT) {
        return Err(format!(
            "{shown} is built with AddressSanitizer, which aborts if another library precedes its \
             own; set {OPTIONS}={ACCEPT}, or link the program with -static-libasan"
        ));
    }
    Ok(())
}

/// Whether the executable defines that symbol: the only sign of a statically linked library.
fn defines(path: &Path, symbol: &[u8]) -> bool {
    examine(path, |file| {
        let names = file.section_by_name(".strtab");
        names
            .and_then(|names| names.data().ok())
            .is_some_and(|names| names.split(|byte| *byte == 0).any(|name| name == symbol))
    })
}

/// The result of `question` for a file; none if it cannot be read.
fn examine(
    path: &Path,
    question: impl FnOnce(&ElfFile64<'_, Endianness, &ReadCache<File>>) -> bool,
) -> bool {
    let Ok(file) = File::open(path) else {
        return false;
    };
    let data = ReadCache::new(file);
    ElfFile64::parse(&data).is_ok_and(|file| question(&file))
}
