//! `cohort generate`: what `make install` puts beside the command.

use crate::library;
use crate::problem::Problem;
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
    /// Write the preload libraries
    Libraries {
        /// Write to this folder; created if missing
        folder: PathBuf,
    },
}

/// Executes `cohort generate`.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let What::Libraries { folder } = &arguments.what;
    libraries(folder)
        .map(|()| ExitCode::SUCCESS)
        .map_err(|error| Problem::refused(format!("cannot write to {}: {error}", folder.display())))
}

fn libraries(folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    library::ALL
        .iter()
        .try_for_each(|library| std::fs::write(folder.join(library.file), &*library.bytes))
}
