//! `cohort unit`: a systemd drop-in that puts a service under Cohort.
//!
//! The drop-in sets variables and nothing else starts before the service's program: its main process,
//! `Type=notify` and sockets stay as they are.

use crate::choice::Choice;
use crate::destination;
use crate::environment;
use crate::library;
use crate::page;
use crate::problem::{self, Problem};
use crate::purpose::Purpose;
use crate::settings::{Options, Settings};
use clap::{ArgMatches, ValueHint};
use std::ffi::OsStr;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Options of `cohort unit`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = NOTES)]
pub struct Arguments {
    #[command(flatten)]
    options: Options,
    /// Allow `cohort top`, `cohort export` and `cohort profile snapshot` to observe the service
    #[arg(long)]
    observe: bool,
    /// Add systemd hardening options that Cohort supports
    #[arg(long)]
    harden: bool,
    /// Use the preload libraries in this folder [default: the installed ones]
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    libraries: Option<PathBuf>,
    /// Write the drop-in to this file instead of standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,
    /// Configure this service, such as memcached or postgresql@15-main
    #[arg(value_name = "NAME", value_parser = service)]
    name: String,
}

const NOTES: &str = "\
The drop-in sets LD_PRELOAD and Cohort's variables; its first lines describe installation and \
removal. Main process, Type=notify, sockets and limits are unchanged. Child processes inherit the \
variables; --only restricts Cohort to some of them. A configuration with [[mutex]] needs the \
program's file: use ExecStart=cohort run --config FILE -- PROGRAM instead.

Examples:
  cohort unit memcached
  cohort unit --lock mcs --only mariadbd mariadb
  cohort unit --observe -o cohort.conf memcached
  { systemctl cat memcached; cohort unit memcached; } > memcached.service
  systemd-analyze verify ./memcached.service

Exit status: 0 if the drop-in was printed; 2 for invalid options or an invalid configuration file; \
125 without an installed library, or if the file cannot be written.";

/// What `--harden` adds: none of it forbids a file or a call that the library needs.
const HARDENING: [&str; 10] = [
    "NoNewPrivileges=yes",
    "PrivateTmp=yes",
    "ProtectSystem=full",
    "ProtectHome=read-only",
    "ProtectKernelModules=yes",
    "ProtectKernelTunables=yes",
    "ProtectControlGroups=yes",
    "RestrictSUIDSGID=yes",
    "LockPersonality=yes",
    "SystemCallArchitectures=native",
];

/// Folders that services under `ProtectHome=` or `PrivateTmp=` do not see.
const HIDDEN: [&str; 5] = ["/home", "/root", "/run/user", "/tmp", "/var/tmp"];

/// The name of a service, without its ending.
fn service(text: &str) -> Result<String, String> {
    let name = text.strip_suffix(".service").unwrap_or(text);
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || ":-_.\\@".contains(letter);
    // systemd's own limit, with the ending.
    let is_usable = !name.is_empty() && name.len() <= 247 && !name.starts_with(['-', '.']);
    if is_usable && name.chars().all(is_plain) {
        Ok(name.to_owned())
    } else {
        Err("expected a service name, such as memcached or postgresql@15-main".to_owned())
    }
}

/// Executes `cohort unit`.
///
/// # Errors
/// The settings are wrong, no library is installed, or the file cannot be written.
pub fn run(arguments: Arguments, matches: &ArgMatches) -> Result<ExitCode, Problem> {
    let Arguments {
        options,
        observe,
        harden,
        libraries,
        output,
        name,
    } = arguments;
    let mut settings = Settings::new(options, matches)?;
    if let Choice::System = settings.lock {
        return Err(Problem::usage(
            "a service without a drop-in uses the C library's locks; choose another lock with --lock",
        ));
    }
    if !settings.mutexes.is_empty() {
        return Err(Problem::usage(
            "a drop-in cannot assign locks to individual mutexes ([[mutex]]); use \
             ExecStart=cohort run --config FILE -- PROGRAM",
        ));
    }
    if let Some(file) = &output {
        destination::writable(file)?;
    }
    let library = if observe {
        settings = settings.for_observing();
        &library::OBSERVING
    } else {
        settings.served_from()
    };
    let library = library.installed_in(libraries.as_deref())?;
    if let Some(folder) = HIDDEN.iter().find(|folder| library.starts_with(folder)) {
        problem::tell(format!(
            "note: a service with ProtectHome= or PrivateTmp= cannot read {folder} and runs without \
             Cohort; install Cohort below /usr"
        ));
    }
    let text = drop_in(&name, &settings, &library, observe, harden);
    match output {
        Some(file) => destination::write(&file, text.as_bytes())?,
        None => page::print_as_it_is(&text)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn drop_in(name: &str, settings: &Settings, library: &Path, observe: bool, harden: bool) -> String {
    let mut text = format!(
        "# systemd drop-in: {name}.service under Cohort.\n\
         # Install: save it as /etc/systemd/system/{name}.service.d/cohort.conf, then\n\
         #     systemctl daemon-reload && systemctl restart {name}\n\
         # Verify: grep -m 1 cohort /proc/$(systemctl show -P MainPID {name})/maps\n\
         # Remove: delete the file, then repeat the two commands.\n\
         [Service]\n"
    );
    let changes = if observe {
        environment::observing(settings, library, Purpose::Watch, None)
    } else {
        environment::changes(settings, library, None)
    };
    for (variable, value) in changes {
        // Libraries preloaded into this command do not concern the service.
        let value = match variable {
            environment::PRELOAD => Some(library.as_os_str()),
            _ => value.as_deref(),
        };
        if let Some(value) = value {
            let _ = writeln!(text, "Environment=\"{variable}={}\"", quoted(value));
        }
    }
    if harden {
        for line in HARDENING {
            let _ = writeln!(text, "{line}");
        }
    }
    text
}

/// A value within double quotes, as systemd reads them.
fn quoted(value: &OsStr) -> String {
    let value = value.to_string_lossy();
    let mut text = String::with_capacity(value.len());
    for letter in value.chars() {
        match letter {
            '"' | '\\' => text.extend(['\\', letter]),
            '%' => text.push_str("%%"),
            '\n' => text.push_str("\\n"),
            _ => text.push(letter),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_services_are_accepted() {
        for (text, name) in [
            ("memcached", "memcached"),
            ("memcached.service", "memcached"),
            ("postgresql@15-main", "postgresql@15-main"),
        ] {
            assert_eq!(service(text).as_deref(), Ok(name));
        }
        for text in [
            "",
            "a b",
            "../a",
            "a/b",
            ".service",
            "a\n",
            &"a".repeat(248),
        ] {
            assert!(service(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_value_is_quoted_as_systemd_reads_it() {
        assert_eq!(quoted(OsStr::new("/a%b/\"c\\d")), "/a%%b/\\\"c\\\\d");
    }
}
