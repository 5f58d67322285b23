//! `cohort generate`: what `make install` puts beside the command.

mod man;

use crate::library;
use crate::problem::Problem;
use clap::Command;
use clap_complete::Shell;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Options of `cohort generate`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Write man pages of the command and its subcommands
    Man {
        /// Write to this folder; created if missing
        folder: PathBuf,
    },
    /// Write shell completions for bash, zsh and fish
    Completions {
        /// Write to this folder; created if missing
        folder: PathBuf,
    },
    /// Write the preload libraries
    Libraries {
        /// Write to this folder; created if missing
        folder: PathBuf,
    },
}

/// Executes `cohort generate` for a command line that `definition` defines.
pub fn run(arguments: Arguments, definition: Command) -> Result<ExitCode, Problem> {
    let (place, written) = match &arguments.what {
        What::Man { folder } => (folder, man::write(visible(definition), folder)),
        What::Completions { folder } => (folder, completions(visible(definition), folder)),
        What::Libraries { folder } => (folder, libraries(folder)),
    };
    written
        .map(|()| ExitCode::SUCCESS)
        .map_err(|error| Problem::refused(format!("cannot write to {}: {error}", place.display())))
}

fn libraries(folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    library::ALL
        .iter()
        .try_for_each(|library| std::fs::write(folder.join(library.file), library.bytes))
}

fn completions(mut definition: Command, folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        clap_complete::generate_to(shell, &mut definition, "cohort", folder)?;
    }
    Ok(())
}

/// The same command line without the subcommands that only other parts of
/// Cohort use.
fn visible(definition: Command) -> Command {
    let (hidden, shown): (Vec<_>, Vec<_>) = definition
        .get_subcommands()
        .cloned()
        .partition(Command::is_hide_set);
    if hidden.is_empty() {
        return definition;
    }
    let mut visible = Command::new(env!("CARGO_BIN_NAME"))
        .version(env!("CARGO_PKG_VERSION"))
        .subcommands(shown)
        .disable_help_subcommand(true);
    if let Some(about) = definition.get_about() {
        visible = visible.about(about.clone());
    }
    if let Some(about) = definition.get_long_about() {
        visible = visible.long_about(about.clone());
    }
    if let Some(notes) = definition.get_after_long_help() {
        visible = visible.after_long_help(notes.clone());
    }
    visible
}
