//! Writes the man pages and shell completions of all commands; `make install` runs it.

#[path = "../man.rs"]
mod man;

use clap::Command;
use clap_complete::Shell;
use std::io::{Error, ErrorKind};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let written = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["man", folder] => man::write(whole(), Path::new(folder)),
        ["completions", folder] => completions(whole(), Path::new(folder)),
        _ => Err(Error::new(
            ErrorKind::InvalidInput,
            "expected `man FOLDER` or `completions FOLDER`",
        )),
    };
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cohort-manual: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The command line of `cohort` with the options of all commands, without hidden subcommands.
fn whole() -> Command {
    let lab = cohort_lab_cli::definition();
    let mut whole = visible(cohort_cli::command::definition());
    for subcommand in visible(lab).get_subcommands() {
        let name = subcommand.get_name().to_owned();
        whole = whole.mut_subcommand(name, |_| subcommand.clone());
    }
    let delegate = cohort_delegate::definition();
    whole.mut_subcommand("delegate", |_| Command::clone(&delegate).name("delegate"))
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
    let mut visible = Command::new("cohort")
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The help of `cohort` has lines of its own for the subcommands of other commands.
    #[test]
    fn a_subcommand_has_one_description() {
        let own = cohort_cli::command::definition();
        for subcommand in whole().get_subcommands() {
            let name = subcommand.get_name();
            let about = |one: &Command| one.get_about().map(ToString::to_string);
            let in_help = own.find_subcommand(name).and_then(about);
            assert_eq!(about(subcommand), in_help, "{name}");
        }
    }
}
