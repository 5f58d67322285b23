//! The commands beside `cohort`: it hands their subcommands over to them.

use crate::problem::Problem;
use crate::program::own_path;
use crate::signals;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// A command of its own, in the folder of `cohort`.
#[derive(Debug)]
pub struct Companion {
    /// Its file's name.
    pub name: &'static str,
    /// Its subcommands of `cohort`, each with its line in the help.
    pub subcommands: &'static [(&'static str, &'static str)],
}

/// The laboratory: benchmarks, simulated machines, performance targets.
pub const LAB: Companion = Companion {
    name: "cohort-lab",
    subcommands: &[
        (
            "machines",
            "Show the simulated machines: topology, latencies, source of each figure",
        ),
        (
            "bench",
            "Run lock benchmarks on this machine or a simulated one",
        ),
        (
            "replay",
            "Replay a recorded program's locking under other locks, here or on a simulated machine",
        ),
        (
            "discover",
            "Measure the distance between CPUs, and derive a machine's hierarchy",
        ),
        (
            "reproduce",
            "Reproduce the papers' results on simulated machines",
        ),
        (
            "bar",
            "Measure this machine against Cohort's performance targets",
        ),
        (
            "survey",
            "Run real programs under the C library's locks and Cohort's",
        ),
        ("study", "Run the papers' programs under several locks"),
        (
            "report",
            "Write one page about this machine: hand-overs, tuned lock, benchmarks, programs, claims",
        ),
    ],
};

/// The converter of C programs.
pub const DELEGATE: Companion = Companion {
    name: "cohort-delegate",
    subcommands: &[(
        "delegate",
        "Convert the critical sections of a C program for delegation",
    )],
};

/// All of them.
pub const ALL: [&Companion; 2] = [&LAB, &DELEGATE];

impl Companion {
    /// The command with this subcommand.
    pub fn of(subcommand: &OsStr) -> Option<&'static Self> {
        let has = |one: &&&Self| one.subcommands.iter().any(|(name, _)| *name == subcommand);
        ALL.iter().find(has).copied()
    }

    /// Whether it is installed.
    pub fn is_here(&self) -> bool {
        beside(self.name).is_ok()
    }

    /// Replaces this process by the command with these words, a subcommand first.
    ///
    /// # Errors
    /// The command is not installed, or cannot be executed.
    pub fn hand_over(&self, words: &[OsString]) -> Problem {
        let path = match beside(self.name) {
            Ok(path) => path,
            Err(problem) => return problem,
        };
        let mut command = Command::new(&path);
        // The name that was typed, for the usage.
        command.arg0(std::env::args_os().next().unwrap_or_default());
        command.args(words);
        signals::pass_on(&mut command, signals::Mask::current());
        if !signals::has_output() {
            // SAFETY: the closure makes one system call, which is allowed before exec. The
            // standard output is /dev/null, opened by Rust's start-up code.
            unsafe {
                command.pre_exec(|| {
                    libc::close(libc::STDOUT_FILENO);
                    Ok(())
                });
            }
        }
        let error = command.exec();
        Problem::refused(format!("cannot run {}: {error}", path.display()))
    }
}

/// The path of `cohort` from a command beside it, where it may be missing.
///
/// # Errors
/// The own path is unknown.
pub fn cohort() -> Result<PathBuf, Problem> {
    Ok(own_path()?.with_file_name("cohort"))
}

/// The file of that name in this command's folder.
fn beside(name: &str) -> Result<PathBuf, Problem> {
    let path = own_path()?.with_file_name(name);
    if path.is_file() {
        return Ok(path);
    }
    let folder = path.parent().unwrap_or(&path).display();
    Err(Problem::refused(format!(
        "no {name} in {folder}; install the package cohort-lab, or build all commands with `cargo \
         build --release` or `make install`"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subcommand_is_of_one_command() {
        assert_eq!(
            Companion::of(OsStr::new("bench")).unwrap().name,
            "cohort-lab"
        );
        assert_eq!(
            Companion::of(OsStr::new("delegate")).unwrap().name,
            "cohort-delegate"
        );
        assert!(Companion::of(OsStr::new("run")).is_none());
    }

    #[test]
    fn a_missing_command_is_named_with_its_package() {
        let problem = beside("cohort-absent").unwrap_err().to_string();
        assert!(problem.contains("no cohort-absent in "), "{problem}");
        assert!(!problem.contains('\n'), "{problem}");
    }
}
