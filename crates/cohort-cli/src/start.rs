//! Starting a program under other locks: whether it can be served, and its command.

use crate::environment::{self, Changes};
use crate::problem::{Problem, status};
use crate::program::Program;
use crate::{library, proof};
use cohort_measure::runner::in_words;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// Checks that the library will be loaded into the program.
///
/// # Errors
/// The reason why it will not.
pub fn can_be_served(program: &Program, library: &Path) -> Result<(), String> {
    let image = program.image.as_ref().map_err(Clone::clone)?;
    proof::ask_loader(image, library, &environment::preload(Some(library)))
}

/// Asks the loader whether the default library will be in `program`.
///
/// # Errors
/// It will not, and why.
pub fn prove(program: &Path) -> Result<(), Problem> {
    let library = library::USUAL.locate()?;
    let program = Program::find(program.as_os_str())?;
    let image = program.image.as_ref().map_err(Problem::refused)?;
    proof::ask_loader(image, &library, &environment::preload(Some(&library)))
        .map_err(Problem::refused)
}

/// The program with these words and this environment.
pub fn command(program: &Program, words: &[OsString], changes: &Changes) -> Command {
    let mut command = Command::new(&program.path);
    command.arg0(&words[0]).args(&words[1..]);
    environment::apply(changes, &mut command);
    command
}

/// The error that a program could not be started.
pub fn cannot_start(name: &OsStr, error: &std::io::Error) -> Problem {
    Problem::new(
        status::NOT_EXECUTABLE,
        format!("cannot start {}: {}", name.display(), in_words(error)),
    )
}
