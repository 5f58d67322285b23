//! Proof that the library will be in the program, from the dynamic loader.

use crate::program::{Image, runtime};
use cohort_measure::runner::{self, in_words, is_out_of_files};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Has the program's own loader list what it would load, without running the program, and
/// looks for `library` there; `preload` is the `LD_PRELOAD` that
/// the program will see.
///
/// # Errors
/// The loader's own words about why it leaves the library out, or why the program would
/// not bear it.
pub fn ask_loader(image: &Image, library: &Path, preload: &OsStr) -> Result<(), String> {
    let loader = image.loader.display();
    let output = ask(image, preload)?;
    let listed = String::from_utf8_lossy(&output.stdout);
    let said = String::from_utf8_lossy(&output.stderr);
    let ours = library.to_string_lossy();
    let loaded = listed
        .lines()
        .any(|line| line.trim_start().starts_with(&*ours));
    let complaints: Vec<&str> = listed
        .lines()
        .filter(|line| line.contains("not found"))
        .chain(said.lines())
        .filter(|line| line.contains(&*ours))
        .map(str::trim)
        .collect();
    if loaded && complaints.is_empty() {
        return runtime::check(&image.path, &listed);
    }
    let words = match complaints.as_slice() {
        [] if said.trim().is_empty() => {
            format!("it lists only other libraries ({})", output.status)
        }
        [] => said.trim().to_owned(),
        some => some.join("\n  "),
    };
    Err(format!(
        "the loader {loader} does not preload Cohort's library into {}; its output:\n  {words}",
        image.path.display()
    ))
}

/// The libraries that the program's loader loads with it.
///
/// # Errors
/// The loader cannot be asked.
pub fn libraries(image: &Image) -> Result<Vec<PathBuf>, String> {
    let output = ask(image, OsStr::new(""))?;
    let listed = String::from_utf8_lossy(&output.stdout);
    Ok(listed.lines().filter_map(listed_path).collect())
}

/// The file of a line such as `libc.so.6 => /lib/libc.so.6 (0x00007f…)`.
fn listed_path(line: &str) -> Option<PathBuf> {
    let file = line.split(" => ").last()?.trim();
    let (path, _) = file.rsplit_once(" (")?;
    path.starts_with('/').then(|| PathBuf::from(path))
}

/// Lets the program's loader list what it would load, with that `LD_PRELOAD`.
fn ask(image: &Image, preload: &OsStr) -> Result<Output, String> {
    let loader = image.loader.display();
    let program = image
        .path
        .canonicalize()
        .map_err(|error| format!("cannot find {} again: {error}", image.path.display()))?;
    let mut command = Command::new(&image.loader);
    command
        .arg(&program)
        .env("LD_TRACE_LOADED_OBJECTS", "1")
        .env("LD_PRELOAD", preload)
        .stdin(runner::nothing().map_err(|error| in_words(&error))?);
    // These would add other output to the loader's list.
    for talkative in ["LD_DEBUG", "LD_VERBOSE", "LD_WARN", "LD_BIND_NOW"] {
        command.env_remove(talkative);
    }
    command.output().map_err(|error| {
        if is_out_of_files(&error) {
            return in_words(&error);
        }
        format!(
            "{} uses the loader {loader}, which cannot be run: {error}",
            image.path.display()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_listed_is_found() {
        for (line, path) in [
            (
                "\tlibc.so.6 => /lib/libc.so.6 (0x00007f00)",
                Some("/lib/libc.so.6"),
            ),
            ("\t/lib64/ld.so (0x00007f00)", Some("/lib64/ld.so")),
            ("\tlinux-vdso.so.1 (0x00007f00)", None),
            ("\tlibx.so => not found", None),
        ] {
            assert_eq!(listed_path(line).as_deref(), path.map(Path::new), "{line}");
        }
    }
}
