//! Command lines: their execution, and messages about mistakes in them.

use crate::page;
use crate::problem::{self, Problem};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgMatches, Command, FromArgMatches};
use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;

/// Parses a command line, its command first, and executes it. `execute` also gets the subcommand's raw
/// matches, which distinguish typed values from the environment's.
pub fn parsed<P: FromArgMatches>(
    definition: &Command,
    words: impl IntoIterator<Item = OsString>,
    execute: impl FnOnce(P, &ArgMatches) -> Result<ExitCode, Problem>,
) -> ExitCode {
    let parse = || {
        let command = definition.clone().term_width(page::help_width());
        let mut matches = command.try_get_matches_from(words)?;
        let parsed = P::from_arg_matches(&matches)?;
        let below = matches.remove_subcommand();
        Ok((parsed, below.map_or(matches, |(_, below)| below)))
    };
    match parse() {
        Ok((parsed, matches)) => {
            execute(parsed, &matches).unwrap_or_else(|problem| problem.report())
        }
        Err(error) => complain(&error, definition),
    }
}

/// Whether these words, without the command's name, are a valid command line.
pub fn accepts<P: FromArgMatches>(definition: &Command, words: &[OsString]) -> bool {
    let name = OsString::from(definition.get_name());
    let all = [name].into_iter().chain(words.iter().cloned());
    let matches = definition.clone().try_get_matches_from(all);
    matches.is_ok_and(|matches| P::from_arg_matches(&matches).is_ok())
}

/// Prints help on stdout and errors on stderr, the latter in the command's own form: `cohort: …`.
fn complain(error: &clap::Error, definition: &Command) -> ExitCode {
    if error.use_stderr() {
        let mut text = error.render().to_string();
        if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
            text.insert_str(0, "no subcommand given\n\n");
        }
        if let Some(variable) = source(error, definition) {
            let note = format!("\nthe value comes from the environment variable {variable}\n");
            let at = text.find("\n\nFor more").unwrap_or(text.len());
            text.insert_str(at, note.trim_end());
        }
        problem::tell(text.strip_prefix("error: ").unwrap_or(&text).trim_end());
        ExitCode::from(problem::status::USAGE)
    } else {
        // On a terminal, help is styled.
        let printed = if std::io::stdout().is_terminal() {
            let printed = error.print().and_then(|()| std::io::stdout().flush());
            printed.map_err(|error| page::unwritable(&error))
        } else {
            page::print(&error.render().to_string())
        };
        match printed {
            Ok(()) => ExitCode::SUCCESS,
            Err(problem) => problem.report(),
        }
    }
}

/// The environment variable of a rejected value, if not typed.
fn source(error: &clap::Error, definition: &Command) -> Option<String> {
    let Some(ContextValue::String(argument)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let option = argument.split_whitespace().next()?;
    let is_it = |word: &OsString| {
        let word = word.to_string_lossy();
        word == option || word.starts_with(&format!("{option}="))
    };
    if std::env::args_os()
        .take_while(|word| word != "--")
        .any(|word| is_it(&word))
    {
        return None;
    }
    let all = [definition].into_iter().chain(definition.get_subcommands());
    let arguments = all.flat_map(Command::get_arguments);
    let variable = arguments
        .filter(|argument| argument.get_long() == option.strip_prefix("--"))
        .find_map(clap::Arg::get_env)?;
    std::env::var_os(variable)?;
    Some(variable.to_string_lossy().into_owned())
}
