//! Man pages made from the command line's definition: the notes of a subcommand's help become sections
//! of their own.

use clap::{Arg, Command};
use clap_mangen::Man;
use clap_mangen::roff::{Inline, Roff, bold, italic, roman};
use std::io::Result;
use std::path::Path;

/// The beginning of a section within a help's notes, and the section's title.
const SECTIONS: [(&str, &str); 2] = [("Examples:", "EXAMPLES"), ("Exit status:", "EXIT STATUS")];

/// Files that the command reads by default, and their descriptions.
const FILES: [(&str, &str); 4] = [
    (
        "/etc/cohort.toml",
        "configuration of the machine, used without --config",
    ),
    (
        "~/.config/cohort/best.toml",
        "the lock clof:best, written by cohort tune for this machine",
    ),
    (
        "PREFIX/lib/cohort/",
        "preload libraries of an installation in PREFIX",
    ),
    (
        "~/.cache/cohort/",
        "preload libraries without an installation",
    ),
];

/// Writes a page for a command and for each of its subcommands, at any depth.
pub fn write(mut definition: Command, folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    definition.build();
    let name = definition.get_name().to_owned();
    all(&definition, &name, &[], folder)
}

/// Pages are called as clap_mangen would call them: `cohort-profile-snapshot.1`.
fn all(command: &Command, page: &str, beside: &[String], folder: &Path) -> Result<()> {
    let below: Vec<String> = command
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .map(|command| format!("{page}-{}", command.get_name()))
        .collect();
    let mut also: Vec<String> = beside
        .iter()
        .filter(|name| *name != page)
        .cloned()
        .collect();
    also.extend(below.iter().cloned());
    std::fs::write(folder.join(format!("{page}.1")), one(command, page, also)?)?;
    let mut beside = below;
    beside.insert(0, page.to_owned());
    for command in command
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
    {
        let page = format!("{page}-{}", command.get_name());
        all(command, &page, &beside, folder)?;
    }
    Ok(())
}

fn one(command: &Command, page: &str, also: Vec<String>) -> Result<Vec<u8>> {
    let man = Man::new(command.clone().display_name(page))
        .title(page.to_uppercase())
        .manual("Cohort");
    let mut text = Vec::new();
    man.render_title(&mut text)?;
    man.render_name_section(&mut text)?;
    synopsis(command).to_writer(&mut text)?;
    man.render_description_section(&mut text)?;
    man.render_options_section(&mut text)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut text)?;
    }
    let mut roff = Roff::new();
    let notes = command.get_after_long_help().map(ToString::to_string);
    for (title, paragraphs) in sections(notes.as_deref().unwrap_or_default()) {
        section(&mut roff, title, &paragraphs);
    }
    environment(&mut roff, command);
    roff.control("SH", ["FILES"]);
    for (file, what) in FILES {
        roff.control("TP", []);
        roff.text([italic(file)]);
        roff.text([roman(what)]);
    }
    roff.control("SH", ["SEE ALSO"]);
    let mut names: Vec<Inline> = Vec::new();
    for name in also.iter().map(String::as_str).chain(["ld.so"]) {
        if !names.is_empty() {
            names.push(roman(", "));
        }
        names.push(bold(name));
        names.push(roman(if name == "ld.so" { "(8)" } else { "(1)" }));
    }
    roff.text(names);
    roff.to_writer(&mut text)?;
    Ok(text)
}

/// How a command is typed, with the names of the values.
fn synopsis(command: &Command) -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["SYNOPSIS"]);
    let name = command.get_bin_name().unwrap_or(command.get_name());
    let mut line = vec![bold(name)];
    let shown = |arg: &&Arg| !arg.is_hide_set();
    for option in command.get_opts().chain(flags(command)).filter(shown) {
        let (open, close) = markers(option);
        line.push(roman(format!(" {open}")));
        let short = option.get_short().map(|letter| format!("-{letter}"));
        let long = option.get_long().map(|name| format!("--{name}"));
        for (place, name) in short.into_iter().chain(long).enumerate() {
            if place > 0 {
                line.push(roman("|"));
            }
            line.push(bold(name));
        }
        if option.get_action().takes_values() {
            line.push(roman(" "));
            line.push(italic(value(option)));
        }
        line.push(roman(close));
    }
    for argument in command.get_positionals().filter(shown) {
        let (open, close) = markers(argument);
        line.push(roman(format!(" {open}")));
        line.push(italic(value(argument)));
        line.push(roman(close));
    }
    if command.has_subcommands() {
        let (open, close) = if command.is_subcommand_required_set() {
            ("", "")
        } else {
            ("[", "]")
        };
        line.extend([
            roman(format!(" {open}")),
            italic("SUBCOMMAND"),
            roman(close),
        ]);
    }
    roff.text(line);
    roff
}

fn flags(command: &Command) -> impl Iterator<Item = &Arg> {
    let is_flag = |arg: &&Arg| !arg.is_positional() && !arg.get_action().takes_values();
    command.get_arguments().filter(is_flag)
}

fn markers(argument: &Arg) -> (&'static str, &'static str) {
    if argument.is_required_set() {
        ("", "")
    } else {
        ("[", "]")
    }
}

/// The names of an argument's values; the values themselves where they are few.
fn value(argument: &Arg) -> String {
    let possible = argument.get_possible_values();
    let shown: Vec<&str> = possible
        .iter()
        .filter(|value| !value.is_hide_set())
        .map(clap::builder::PossibleValue::get_name)
        .collect();
    if !shown.is_empty() && shown.len() <= 6 && !argument.is_hide_possible_values_set() {
        return shown.join("|");
    }
    let names = argument.get_value_names().unwrap_or_default();
    match names {
        [] => argument.get_id().as_str().to_uppercase(),
        names => names.join(" "),
    }
}

/// The notes of a help as sections of a page, each with its paragraphs.
fn sections(notes: &str) -> Vec<(&'static str, Vec<String>)> {
    let mut sections: Vec<(&'static str, Vec<String>)> = Vec::new();
    for paragraph in notes.split("\n\n").filter(|text| !text.trim().is_empty()) {
        let begun = SECTIONS.iter().find_map(|(mark, title)| {
            let rest = paragraph.trim_start_matches('\n').strip_prefix(mark)?;
            Some((*title, rest.trim_start_matches([' ', '\n'].as_slice())))
        });
        let is_indented = paragraph.starts_with(' ');
        match begun {
            Some((title, _)) if title == "EXAMPLES" => {
                // Its lines keep their indentation.
                let rest = paragraph.split_once('\n').map_or("", |(_, rest)| rest);
                sections.push((title, vec![rest.to_owned()]));
            }
            Some((title, rest)) => sections.push((title, vec![rest.to_owned()])),
            None => match sections.last_mut() {
                Some((title, paragraphs)) if *title == "NOTES" || is_indented => {
                    paragraphs.push(paragraph.to_owned());
                }
                _ => sections.push(("NOTES", vec![paragraph.to_owned()])),
            },
        }
    }
    sections
}

fn section(roff: &mut Roff, title: &str, paragraphs: &[String]) {
    roff.control("SH", [title]);
    for (place, paragraph) in paragraphs.iter().enumerate() {
        if place > 0 {
            roff.control("PP", []);
        }
        // Indented lines are a table, an example or a file: they are kept unchanged.
        let mut is_fixed = false;
        for line in paragraph.lines() {
            if line.starts_with("  ") != is_fixed {
                is_fixed = !is_fixed;
                roff.control(if is_fixed { "nf" } else { "fi" }, []);
            }
            roff.text([roman(line)]);
        }
        if is_fixed {
            roff.control("fi", []);
        }
    }
}

/// The variables that stand for options.
fn environment(roff: &mut Roff, command: &Command) {
    roff.control("SH", ["ENVIRONMENT"]);
    for argument in command.get_arguments() {
        if let (Some(variable), Some(option)) = (argument.get_env(), argument.get_long()) {
            roff.control("TP", []);
            roff.text([bold(variable.to_string_lossy())]);
            roff.text([roman("default of "), bold(format!("--{option}"))]);
        }
    }
    for (variable, what) in [
        (
            "LD_PRELOAD",
            "further libraries to preload; Cohort adds its own",
        ),
        (
            "XDG_CACHE_HOME, HOME, TMPDIR",
            "directories for the extracted preload libraries",
        ),
        ("COLUMNS, NO_COLOR", "width and colour of the output"),
    ] {
        roff.control("TP", []);
        roff.text([bold(variable)]);
        roff.text([roman(what)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_become_sections() {
        let notes = "One.\n\nTwo.\n\nExamples:\n  cohort a\n  cohort b\n\nExit status: 0.";
        let found = sections(notes);
        let titles: Vec<&str> = found.iter().map(|(title, _)| *title).collect();
        assert_eq!(titles, ["NOTES", "EXAMPLES", "EXIT STATUS"]);
        assert_eq!(found[0].1, ["One.", "Two."]);
        assert_eq!(found[1].1, ["  cohort a\n  cohort b"]);
        assert_eq!(found[2].1, ["0."]);
    }
}
