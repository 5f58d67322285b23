//! `cohort advise`: turns a profile into a configuration file that gives individual mutexes a
//! better-suited lock.

mod rules;

use crate::choice;
use crate::destination;
use crate::page::{self, Origin};
use crate::problem::Problem;
use crate::profile::{Lock, NamedBy, Profile, VERSION};
use clap::ValueHint;
use rules::{Advice, Facts};
use serde::{Deserialize, Serialize, Serializer};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Options of `cohort advise`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = NOTES)]
pub struct Arguments {
    /// Read this profile, written by `cohort profile -o`
    #[arg(value_hint = ValueHint::FilePath)]
    #[arg(required_unless_present = "command", conflicts_with = "command")]
    profile: Option<PathBuf>,
    /// Write the configuration to this file instead of standard output
    #[arg(long, short, value_name = "FILE.toml", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,
    /// Print the advice for each lock as JSON
    #[arg(long)]
    json: bool,
    /// Profile this program first
    #[arg(last = true, value_name = "PROGRAM", value_hint = ValueHint::CommandWithArguments)]
    command: Vec<OsString>,
}

const NOTES: &str = "\
Rules for each lock of the profile; the first match decides:

  lost time below 2 % of one thread's time             no change
  an rwlock (the configuration assigns mutexes only)   no change
  no name and no call site                             no change
  no hold time sampled                                 no change
  held above 20 µs: waiters sleep under every lock     no change
  more threads than CPUs, under a FIFO lock            the default lock
  more threads than CPUs, under another lock           no change
  queue below 2                                        no change
  held 1 µs or longer, queue 3 or longer               mcs
  otherwise                                            no change

The rules generalise measurements on other machines; `cohort compare` verifies them here. Pass the \
configuration to `cohort run --config`. If no change pays, it has comments only.

Examples:
  cohort advise -- kccachetest wicked -th 4 -capcnt 500000 400000
  cohort profile -o p.json -- kccachetest wicked -th 4 -capcnt 500000 400000
  cohort advise p.json -o advised.toml
  cohort compare --locks default,advised.toml \\
      -- kccachetest wicked -th 4 -capcnt 500000 400000

Exit status: 0; 2 if the profile is unreadable or invalid; 125 if the file cannot be written; the \
status of `cohort profile` if it writes no profile.";

/// Fields of a profile's file beside the profile.
#[derive(Deserialize)]
struct Sheet {
    origin: Where,
}

#[derive(Deserialize)]
struct Where {
    command: Vec<String>,
    machine: Machine,
}

#[derive(Deserialize)]
struct Machine {
    cpus: usize,
}

#[derive(Deserialize)]
struct Version {
    cohort_profile: u32,
}

/// Advice for the locks of one name.
#[derive(Serialize)]
struct Advised {
    /// The name in the profile.
    name: String,
    /// The key and the value of its line, if identifiable.
    #[serde(rename = "line", skip_serializing_if = "Option::is_none")]
    #[serde(serialize_with = "as_in_the_file")]
    key: Option<(&'static str, String)>,
    /// A better lock, if any.
    lock: Option<&'static str>,
    because: String,
}

/// `{"name": "stats_lock"}`.
fn as_in_the_file<S: Serializer>(
    key: &Option<(&'static str, String)>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(key.iter().map(|(key, value)| (key, value)))
}

/// Executes `cohort advise`.
///
/// # Errors
/// The profile cannot be read or parsed, or the file not be written.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    if let Some(file) = &arguments.output {
        destination::writable(file)?;
    }
    let (profile, sheet) = if let Some(file) = &arguments.profile {
        read(file)?
    } else {
        let folder = tempfile::tempdir();
        let folder = folder.map_err(|error| {
            Problem::usage(format!(
                "cannot create a folder for the profile: {error}; set TMPDIR to a writable folder"
            ))
        })?;
        let file = folder.path().join("profile.json");
        let status = profiled(&arguments.command, &file)?;
        if !file.exists() {
            return Ok(status);
        }
        read(&file)?
    };
    let advised = advise(&profile, sheet.origin.machine.cpus);
    let text = toml(&profile, &sheet, &advised, arguments);
    match &arguments.output {
        Some(file) => {
            destination::write(file, text.as_bytes())?;
            if !arguments.json {
                page::print(&summary(&advised, file, &sheet.origin.command))?;
            }
        }
        None if arguments.json => {}
        None => page::print_as_it_is(&text)?,
    }
    if arguments.json {
        page::print_list(Origin::here(), "locks", &advised)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Profiles a program, keeping its output separate from the advice.
fn profiled(command: &[OsString], file: &Path) -> Result<ExitCode, Problem> {
    let status = std::env::current_exe().and_then(|own| {
        let mut profile = Command::new(own);
        profile.args(["profile", "-o"]).arg(file).arg("--");
        profile.args(command).stdout(std::io::stderr()).status()
    });
    let status =
        status.map_err(|error| Problem::usage(format!("cannot run `cohort profile`: {error}")))?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}

/// Reads a profile.
fn read(file: &Path) -> Result<(Profile, Sheet), Problem> {
    let shown = file.display();
    let bytes = std::fs::read(file)
        .map_err(|error| Problem::usage(format!("cannot read {shown}: {error}")))?;
    let damaged = |error: serde_json::Error| {
        let (line, column) = (error.line(), error.column());
        let why = error.to_string();
        let why = why.split(" at line ").next().unwrap_or(&why);
        Problem::usage(format!(
            "{shown}:{line}:{column}: incomplete profile: {why}; write a new one with `cohort profile -o`"
        ))
    };
    let version: Version = serde_json::from_slice(&bytes).map_err(damaged)?;
    if version.cohort_profile != VERSION {
        return Err(Problem::usage(format!(
            "{shown} is a profile of version {}, this command reads version {VERSION}; \
             profile the program again",
            version.cohort_profile
        )));
    }
    let profile = serde_json::from_slice(&bytes).map_err(damaged)?;
    let sheet = serde_json::from_slice(&bytes).map_err(damaged)?;
    Ok((profile, sheet))
}

/// The rules' advice for each lock.
fn advise(profile: &Profile, cpus: usize) -> Vec<Advised> {
    let bases: BTreeSet<&str> = profile
        .locks
        .iter()
        .filter(|lock| lock.named_by == NamedBy::Symbol)
        .filter_map(|lock| Some(lock.name.rsplit_once('+')?.0))
        .collect();
    let each = profile.locks.iter().map(|lock| {
        let key = key(lock, &bases);
        let Advice {
            lock: chosen,
            because,
        } = rules::first(&Facts {
            lock,
            seconds: profile.seconds,
            threads: profile.threads,
            cpus,
            own: own(profile),
            can_be_named: key.is_some(),
        });
        Advised {
            name: lock.name.clone(),
            key,
            lock: chosen,
            because,
        }
    });
    each.collect()
}

/// The lock that served all mutexes, without that of rwlocks.
fn own(profile: &Profile) -> &str {
    profile.lock.split(", ").next().unwrap_or_default()
}

/// The key and the value for a lock's line; none if the lock cannot be identified later.
fn key(lock: &Lock, bases: &BTreeSet<&str>) -> Option<(&'static str, String)> {
    let name = &lock.name;
    if lock.named_by == NamedBy::Symbol {
        // The variable holds several locks: this one is at its beginning.
        let is_first_of_several = bases.contains(name.as_str());
        let suffix = if is_first_of_several { "+0" } else { "" };
        return Some(("name", format!("{name}{suffix}")));
    }
    let last = name.rsplit(' ').next().unwrap_or(name);
    let is_line = |text: &str| {
        let (_, line) = text.rsplit_once(':').unwrap_or_default();
        line.parse::<u32>().is_ok()
    };
    if is_line(last) {
        return Some(("site", last.to_owned()));
    }
    // That far from the nearest symbol, the place is ambiguous.
    let is_module = |text: &str| text.contains(".so") || !text.contains('(');
    let is_vague = name.contains("+0x") && !is_module(name);
    (!name.is_empty() && !name.starts_with("0x") && !is_vague).then(|| ("site", name.clone()))
}

/// The configuration file.
fn toml(profile: &Profile, sheet: &Sheet, advised: &[Advised], arguments: &Arguments) -> String {
    let cpus = sheet.origin.machine.cpus;
    let mut text = format!(
        "# By `cohort advise {}`: {} under {},\n# {:.2} s, {} threads, {cpus} CPUs.\n",
        match &arguments.profile {
            Some(file) => file.display().to_string(),
            None => "-- …".to_owned(),
        },
        one_line(&profile.program),
        profile.lock,
        profile.seconds,
        profile.threads,
    );
    let lines: Vec<&Advised> = advised.iter().filter(|one| one.lock.is_some()).collect();
    if lines.is_empty() {
        text.push_str("#\n# No mutex gains from another lock:\n");
        for one in advised.iter().take(SHOWN) {
            let _ = writeln!(text, "# - {}: {}", one_line(&one.name), one.because);
        }
    }
    // A program profiled under another lock than the default keeps that lock.
    let own = own(profile);
    if own != choice::DEFAULT && choice::Choice::for_programs(own).is_ok() {
        let _ = writeln!(text, "\nlock = {}", quoted(own));
    }
    for one in lines {
        if let (Some((key, value)), Some(lock)) = (&one.key, one.lock) {
            let _ = write!(
                text,
                "\n[[mutex]]\n{key} = {}\nlock = {}\nbecause = {}\n",
                quoted(value),
                quoted(lock),
                quoted(&one.because)
            );
        }
    }
    text
}

/// Locks described individually.
const SHOWN: usize = 8;

/// The summary for the user after writing the file.
fn summary(advised: &[Advised], file: &Path, command: &[String]) -> String {
    let shown = file.display();
    let (with, without): (Vec<&Advised>, Vec<&Advised>) =
        advised.iter().partition(|one| one.lock.is_some());
    let mut text = if advised.is_empty() {
        format!("The profile contains no lock; {shown} assigns none.\n")
    } else if with.is_empty() {
        format!(
            "No mutex gains from another lock; {shown} assigns none of {} locks.\n",
            advised.len()
        )
    } else {
        format!(
            "{shown} assigns {} of {} locks.\n",
            with.len(),
            advised.len()
        )
    };
    for one in &with {
        let lock = one.lock.unwrap_or_default();
        text.push_str(&page::prose(&format!(
            "{}: {lock}; {}",
            one.name, one.because
        )));
        text.push('\n');
    }
    let rest = without.len().saturating_sub(SHOWN);
    for one in without.iter().take(SHOWN) {
        text.push_str(&page::prose(&format!(
            "{}: nothing; {}",
            one.name, one.because
        )));
        text.push('\n');
    }
    if rest > 0 {
        let _ = writeln!(
            text,
            "and {rest} more with less lost time (--json lists all)"
        );
    }
    if !with.is_empty() {
        let program = command
            .iter()
            .position(|word| word == "--")
            .map_or_else(|| "PROGRAM".to_owned(), |at| command[at + 1..].join(" "));
        let _ = write!(
            text,
            "\nTo verify:\n  cohort compare --locks default,{shown} -- {program}\n"
        );
    }
    text
}

/// Text without line breaks, for a comment.
fn one_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}

/// A text as a TOML string.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_what_would_be_found_again() {
        let bases = BTreeSet::from(["server"]);
        for (name, named_by, wanted) in [
            ("stats_lock", NamedBy::Symbol, Some(("name", "stats_lock"))),
            ("server", NamedBy::Symbol, Some(("name", "server+0"))),
            ("server+48", NamedBy::Symbol, Some(("name", "server+48"))),
            ("table[…]", NamedBy::Symbol, Some(("name", "table[…]"))),
            (
                "open_branch profile/bank.c:30",
                NamedBy::Initialised,
                Some(("site", "profile/bank.c:30")),
            ),
            (
                "kc::Mutex::Mutex()",
                NamedBy::Initialised,
                Some(("site", "kc::Mutex::Mutex()")),
            ),
            (
                "libkc.so.16+0x1a2b",
                NamedBy::Taken,
                Some(("site", "libkc.so.16+0x1a2b")),
            ),
            ("kc::Mutex::lock()+0x1a2b", NamedBy::Taken, None),
            ("0x7f0011", NamedBy::Taken, None),
            ("", NamedBy::Taken, None),
        ] {
            let lock = rules::tests::lock(name, named_by);
            let wanted = wanted.map(|(key, value)| (key, value.to_owned()));
            assert_eq!(key(&lock, &bases), wanted, "{name}");
        }
    }

    #[test]
    fn whatever_a_name_holds_the_file_is_read_again() {
        for text in ["plain", "a \"b\" \\ c", "ü […]", "two\nlines"] {
            let read: toml::Table = toml::from_str(&format!("x = {}", quoted(text))).unwrap();
            assert_eq!(read["x"].as_str(), Some(text));
            assert!(!one_line(text).contains('\n'));
        }
    }
}
