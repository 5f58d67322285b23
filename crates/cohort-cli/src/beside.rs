//! Other preloaded libraries that define the same functions, such as libfaketime.
//!
//! They precede Cohort's library: calls that they pass to the next definition reach Cohort's. After
//! it, they would not be called, and their other changes, such as to clocks, would be inconsistent.

use crate::library;
use object::{Object, ObjectSymbol};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The lock functions defined both by Cohort's library and by that entry of `LD_PRELOAD`.
pub fn shared(entry: &OsStr) -> Vec<String> {
    let theirs = file(entry).and_then(|file| std::fs::read(file).ok());
    let theirs = theirs.as_deref().map(functions).unwrap_or_default();
    if theirs.is_empty() {
        return Vec::new();
    }
    let ours = functions(&library::USUAL.bytes);
    ours.intersection(&theirs).cloned().collect()
}

/// The functions of locks that a library defines.
fn functions(library: &[u8]) -> BTreeSet<String> {
    let Ok(image) = object::File::parse(library) else {
        return BTreeSet::new();
    };
    let defined = image
        .dynamic_symbols()
        .filter(|symbol| symbol.is_definition());
    let names = defined.filter_map(|symbol| Some(symbol.name().ok()?.to_owned()));
    let is_ours = |name: &String| {
        ["pthread_", "mtx_", "cnd_"]
            .iter()
            .any(|family| name.starts_with(family))
    };
    names.filter(is_ours).collect()
}

/// The file of an entry, as the loader finds it, without the loader's cache.
fn file(entry: &OsStr) -> Option<PathBuf> {
    if entry.as_bytes().contains(&b'/') {
        return Some(PathBuf::from(entry));
    }
    let told = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let beside_libc = maps.lines().find_map(|line| {
        let path = line.get(line.find('/')?..)?;
        path.strip_suffix("/libc.so.6").map(PathBuf::from)
    });
    let usual = ["/usr/local/lib", "/lib", "/usr/lib"].map(PathBuf::from);
    let mut folders = std::env::split_paths(&told).chain(beside_libc).chain(usual);
    folders
        .find(|folder| folder.join(entry).is_file())
        .map(|folder| folder.join(entry))
}

/// The remark of `run` and `doctor` about such a library.
pub fn in_words(entry: &OsStr, shared: &[String]) -> String {
    let name = Path::new(entry).file_name().unwrap_or(entry);
    format!(
        "{}, preloaded before Cohort's library, defines {}; Cohort serves only the calls that it \
         forwards",
        name.display(),
        shared.join(", ")
    )
}
