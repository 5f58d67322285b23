//! C programs of our own, compiled when they are older than their sources.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

const SOURCES: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../cohort-lab/src/survey/programs"
);
const BUILT: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/programs");

/// The program `NAME.c`, which `cohort survey` has too.
///
/// # Errors
/// The C compiler's words.
pub fn program(name: &str, compiler: &str, link: &[&str]) -> Result<PathBuf, String> {
    /// Checks run side by side, and several use one program.
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    std::fs::create_dir_all(BUILT).map_err(|error| format!("{BUILT}: {error}"))?;
    let source = Path::new(SOURCES).join(name).with_extension("c");
    let target = Path::new(BUILT).join(name);
    let newest = changed(&source).unwrap_or_else(SystemTime::now);
    if is_older(&target, newest) {
        compile(compiler, &[], &[&source], link, &target)?;
    }
    Ok(target)
}

/// Compiles to a file of its own first: another run may be using the target.
///
/// # Errors
/// The C compiler's words.
pub fn compile(
    compiler: &str,
    options: &[&str],
    sources: &[&PathBuf],
    link: &[&str],
    target: &Path,
) -> Result<(), String> {
    let unfinished = target.with_extension(format!("{}.new", std::process::id()));
    let output = Command::new(compiler)
        .args(["-std=gnu17", "-D_GNU_SOURCE", "-O1", "-g", "-pthread"])
        .args(["-Wall", "-Wextra", "-Wno-missing-field-initializers"])
        .args(options)
        .args(sources)
        .args(link)
        .arg("-o")
        .arg(&unfinished)
        .output()
        .map_err(|error| {
            format!("no `{compiler}` here: {error}; install the package gcc or libmpich-dev")
        })?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    std::fs::rename(&unfinished, target).map_err(|error| format!("{}: {error}", target.display()))
}

/// Whether a file is missing, or older than what it is made from.
pub fn is_older(target: &Path, newest: SystemTime) -> bool {
    changed(target).is_none_or(|built| built < newest)
}

/// When a file was last changed, if it is there.
pub fn changed(file: &Path) -> Option<SystemTime> {
    file.metadata().ok()?.modified().ok()
}
