//! `cohort generate`: what `make install` puts beside the command.

use crate::problem::Problem;
use std::path::PathBuf;
use std::process::ExitCode;

/// Options of `cohort generate`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Write a man page for the command and one for each subcommand
    Man {
        /// An existing folder
        folder: PathBuf,
    },
    /// Write completions for bash, zsh and fish
    Completions {
        /// An existing folder
        folder: PathBuf,
    },
    /// Write the preload library
    Library {
        /// The file to write
        file: PathBuf,
    },
}

/// Carries out `cohort generate`.
pub fn run(_arguments: Arguments) -> Result<ExitCode, Problem> {
    Err(Problem::refused(
        "`cohort generate` is not part of this build",
    ))
}
