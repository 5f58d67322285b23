//! Settings of a program's run, from the command line, the file of `--config`, the environment and
//! the machine's configuration file, in this order of precedence.

use crate::best;
use crate::choice::{self, Choice, LockName};
use crate::cohorts;
use crate::config::{Configuration, check_executable};
use crate::library::{self, Library};
use crate::mutexes::{self, MutexesLock};
use crate::problem::{self, Problem};
use crate::program::{self, Image, Program};
use crate::rwlocks::Rwlocks;
use crate::wait::Wait;
use clap::parser::ValueSource;
use clap::{ArgMatches, ValueHint};
use cohort::Thresholds;
use cohort::adaptive::Tuning;
use cohort_measure::tuned::best::is_asked;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The options that choose a lock and the programs that it serves.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Options {
    #[arg(
        long,
        value_name = "NAME",
        env = "COHORT_LOCK",
        value_parser = LockName,
        hide_possible_values = true,
        help = format!(
            "Use this lock: a name or alias from `cohort list`, or `system` for the C library's \
             [default: {}]",
            choice::DEFAULT
        )
    )]
    lock: Option<String>,
    /// Use this rwlock [default: c-rw-np with several last-level caches, else rwlock]
    #[arg(long, value_enum, value_name = "NAME", env = "COHORT_RWLOCK")]
    rwlock: Option<Rwlocks>,
    /// Choose how threads wait [default: park]
    #[arg(long, value_enum, env = "COHORT_WAIT")]
    wait: Option<Wait>,
    /// Take the cohorts for NUMA-aware locks from this file instead of the machine:
    /// one line each, such as `numa 0-7,16-23`
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    cohorts: Option<PathBuf>,
    /// Read further settings from this TOML file: lock, rwlock, wait, only, exclude,
    /// report, cohorts, [glk], [sanl], [[mutex]]
    /// [default: /etc/cohort.toml if it exists]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    config: Option<PathBuf>,
    /// Serve only this executable (name or path) of the started processes;
    /// repeatable
    #[arg(long, value_name = "EXE", env = "COHORT_ONLY", value_delimiter = ':')]
    only: Vec<String>,
    /// Do not serve this executable (name or path); repeatable
    #[arg(
        long,
        value_name = "EXE",
        env = "COHORT_EXCLUDE",
        value_delimiter = ':'
    )]
    exclude: Vec<String>,
}

/// Settings of a program's run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The lock.
    pub lock: Choice,
    /// The lock of rwlocks.
    pub rwlocks: Rwlocks,
    /// Whether that was requested explicitly.
    pub rwlocks_asked: bool,
    /// How waiting threads wait.
    pub wait: Wait,
    /// The executables to serve; all if empty.
    pub only: Vec<OsString>,
    /// The executables to leave alone.
    pub exclude: Vec<OsString>,
    /// Whether the configuration file requests a report.
    pub report: bool,
    /// Cohorts for locks instead of the machine's, in one line.
    pub cohorts: Option<String>,
    /// Tuning of the adaptive lock, if requested.
    pub glk: Option<Tuning>,
    /// Thresholds of `sanl`, if requested.
    pub sanl: Option<Thresholds>,
    /// The mutexes with individual locks.
    pub mutexes: Vec<MutexesLock>,
    /// These in the library's format, after [`find_mutexes`](Self::find_mutexes).
    pub told: Option<String>,
    /// The configuration file that gives these settings their name.
    pub file: Option<String>,
}

impl Settings {
    /// Settings with that lock, and defaults otherwise.
    pub fn of(lock: Choice) -> Self {
        Self {
            lock,
            rwlocks: Rwlocks::for_machine(None),
            rwlocks_asked: false,
            wait: Wait::default(),
            only: Vec::new(),
            exclude: Vec::new(),
            report: false,
            cohorts: None,
            glk: None,
            sanl: None,
            mutexes: Vec::new(),
            told: None,
            file: None,
        }
    }

    /// The settings of a configuration file, with `wait` as a default.
    ///
    /// # Errors
    /// The file cannot be read or understood.
    pub fn of_file(file: &Path, wait: Wait) -> Result<Self, Problem> {
        let read = Configuration::read(file)?;
        let lock = Choice::for_programs(read.lock().unwrap_or(choice::DEFAULT))?;
        let mutexes = read.mutexes().to_vec();
        mutexes::check(&mutexes, &lock)?;
        let cohorts = read.cohorts().as_deref().map(cohorts::text).transpose()?;
        let on_this = || Rwlocks::for_machine(cohorts.as_deref());
        Ok(Self {
            rwlocks: read.rwlock.unwrap_or_else(on_this),
            rwlocks_asked: read.rwlock.is_some(),
            wait: read.wait.unwrap_or(wait),
            only: executables("only", read.only())?,
            exclude: executables("exclude", read.exclude())?,
            cohorts,
            glk: read.glk(),
            sanl: read.sanl(),
            mutexes,
            file: file.file_name().map(|name| name.display().to_string()),
            ..Self::of(lock)
        })
    }

    /// Finds the mutexes with individual locks in the files of a program, and of the executables
    /// served exclusively.
    ///
    /// # Errors
    /// A file is missing.
    pub fn find_mutexes(&mut self, program: &Program) -> Result<(), Problem> {
        if self.mutexes.is_empty() {
            return Ok(());
        }
        let served = self.only.iter().filter_map(|name| Program::find(name).ok());
        let others: Vec<Program> = served.collect();
        let images = [program]
            .into_iter()
            .chain(&others)
            .filter_map(|program| program.image.as_ref().ok());
        let images: Vec<&Image> = images.collect();
        self.told = Some(mutexes::found(&self.mutexes, &images)?);
        Ok(())
    }

    /// The name to print: of the lock, of a non-default lock of rwlocks, and of individual locks.
    pub fn name(&self) -> String {
        if let Some(file) = &self.file {
            return file.clone();
        }
        let mut name = self.lock.name().to_owned();
        if !matches!(self.lock, Choice::System) {
            if self.rwlocks != Rwlocks::Rwlock {
                name += &format!(", rwlocks {}", self.rwlocks.name());
            }
            if !self.mutexes.is_empty() {
                name += ", individual mutexes by configuration";
            }
        }
        name
    }

    /// Settings for an observed program: rwlocks use the one-word lock unless another is requested,
    /// since only that lock shows in advance whether a thread will wait.
    #[must_use]
    pub fn for_observing(self) -> Self {
        if self.rwlocks_asked {
            return self;
        }
        Self {
            rwlocks: Rwlocks::default(),
            ..self
        }
    }

    /// The library with all of these locks.
    pub fn served_from(&self) -> &'static Library {
        if self.lock.is_apart() || self.rwlocks.is_composed() || !self.mutexes.is_empty() {
            &library::COMPOSITIONS
        } else {
            &library::USUAL
        }
    }

    /// Combines the settings; `matches` distinguishes options from the environment.
    ///
    /// # Errors
    /// An unknown lock, an unusable name, a configuration file that cannot be
    /// read or understood.
    pub fn new(options: Options, matches: &ArgMatches) -> Result<Self, Problem> {
        let is_named = options.config.is_some();
        let file = match &options.config {
            Some(file) => Configuration::read(file)?,
            None => Configuration::of_machine()?,
        };
        // A rejected setting that was not typed must be reported with its origin.
        let from = |name: &str, variable: &str, in_file: bool| {
            let by_environment = matches.value_source(name) == Some(ValueSource::EnvVariable);
            (by_environment && !(in_file && is_named)).then(|| variable.to_owned())
        };
        // The environment takes precedence over the machine's file, and a named file over the
        // environment.
        let wins = |name: &str| match matches.value_source(name) {
            Some(ValueSource::CommandLine) => true,
            Some(ValueSource::EnvVariable) => !is_named,
            _ => false,
        };
        let of_lock = from("lock", "COHORT_LOCK", file.lock().is_some());
        let named = pick(wins("lock"), options.lock, file.lock().map(str::to_owned));
        let lock = Choice::for_programs(named.as_deref().unwrap_or(choice::DEFAULT)).map_err(
            |problem| match &of_lock {
                Some(variable) => problem.within(variable),
                None => problem,
            },
        )?;
        let mutexes = file.mutexes().to_vec();
        mutexes::check(&mutexes, &lock)?;
        let asked = wins("rwlock").then_some(options.rwlock).flatten();
        if let (Choice::System, Some(rwlocks)) = (&lock, asked.or(file.rwlock))
            && rwlocks != Rwlocks::System
        {
            return Err(Problem::usage(format!(
                "the rwlock `{}` needs a lock of Cohort, and the lock is `{}`{}",
                rwlocks.name(),
                lock.name(),
                of_lock.map_or_else(String::new, |variable| format!(" by {variable}"))
            )));
        }
        let of_best = match named.as_deref().filter(|name| is_asked(name)) {
            Some(name) => {
                let here = cohort_topology::here().map_err(Problem::refused)?;
                best::tell(name, &best::here(name, &here)?);
                best::cohorts()?
            }
            None => None,
        };
        let cohorts = options.cohorts.or_else(|| file.cohorts()).or(of_best);
        let of_only = from("only", "COHORT_ONLY", file.only().is_some());
        let of_exclude = from("exclude", "COHORT_EXCLUDE", file.exclude().is_some());
        let only = pick(wins("only"), Some(options.only), file.only());
        let exclude = pick(wins("exclude"), Some(options.exclude), file.exclude());
        let cohorts = cohorts.as_deref().map(cohorts::text).transpose()?;
        let rwlocks = pick(wins("rwlock"), options.rwlock, file.rwlock);
        Ok(Self {
            lock,
            rwlocks: rwlocks.unwrap_or_else(|| Rwlocks::for_machine(cohorts.as_deref())),
            rwlocks_asked: rwlocks.is_some(),
            wait: pick(wins("wait"), options.wait, file.wait).unwrap_or_default(),
            only: executables(of_only.as_deref().unwrap_or("--only"), only)?,
            exclude: executables(of_exclude.as_deref().unwrap_or("--exclude"), exclude)?,
            report: file.report.unwrap_or(false),
            cohorts,
            glk: file.glk(),
            sanl: file.sanl(),
            mutexes,
            told: None,
            file: None,
        })
    }
}

/// The option if it takes precedence over the file, else the file's value, else the option.
fn pick<T>(wins: bool, option: Option<T>, file: Option<T>) -> Option<T> {
    if wins { option } else { file.or(option) }
}

/// The library's names for these executables: as typed, and as the kernel knows them.
///
/// # Errors
/// A name that cannot be passed to the library.
pub fn executables(from: &str, names: Option<Vec<String>>) -> Result<Vec<OsString>, Problem> {
    let mut accepted = Vec::new();
    for name in names.unwrap_or_default() {
        check_executable(&name).map_err(|why| Problem::usage(format!("{from}: {why}")))?;
        if let Some(found) = find(&name) {
            if program::is_script(&found) {
                problem::tell(format!(
                    "warning: {} is a script; give the name of its interpreter instead",
                    found.display()
                ));
            }
            accepted.extend(resolved(&name, &found));
        }
        accepted.push(name.into());
    }
    Ok(accepted)
}

/// The file that `name` refers to here, if any.
fn find(name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(PathBuf::from(name));
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|candidate| candidate.is_file())
}

/// The same executable by the kernel's name: `python3` is often a symbolic link, and a running
/// program only sees its target.
fn resolved(name: &str, found: &Path) -> Option<OsString> {
    let real = found.canonicalize().ok()?;
    let known = if name.contains('/') {
        real.as_path()
    } else {
        Path::new(real.file_name()?)
    };
    let usable = known
        .to_str()
        .is_some_and(|known| check_executable(known).is_ok());
    (usable && known.as_os_str() != OsStr::new(name)).then(|| known.as_os_str().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_wins_over_the_file_and_the_file_over_the_environment() {
        assert_eq!(pick(true, Some(1), Some(2)), Some(1));
        assert_eq!(pick(false, Some(1), Some(2)), Some(2));
        assert_eq!(pick(false, Some(1), None), Some(1));
        assert_eq!(pick::<u8>(false, None, None), None);
    }

    #[test]
    fn a_link_is_known_by_both_names() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap().join("prog3.11");
        std::fs::write(&real, "").unwrap();
        let link = folder.path().join("prog");
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let link = link.to_str().unwrap();
        assert_eq!(
            resolved(link, Path::new(link)),
            Some(real.clone().into_os_string())
        );
        assert_eq!(resolved(real.to_str().unwrap(), &real), None);
    }
}
