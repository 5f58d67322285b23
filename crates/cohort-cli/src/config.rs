//! The configuration file of `cohort run`.
//!
//! ```toml
//! lock = "mcs"                # a name or alias from `cohort list`
//! rwlock = "c-rw-np"          # rwlock, c-rw-np, c-rw-wp or system
//! wait = "park"               # park, spin or yield
//! only = ["mysqld"]           # executables to serve, all if absent
//! exclude = ["bash"]          # executables to leave alone
//! report = true               # the report of `--report`
//! cohorts = "mine.cohorts"    # the cohorts passed to locks, a path from this file's folder
//!
//! [glk]                       # the lock that adapts, as `cohort tune glk` finds it
//! up = 3                      # a longer queue on average goes from ticket to mcs
//! down = 2                    # and a shorter one back
//! sample = 128                # the queue is sampled once per this many sections
//! consider = 4096             # and the mode is reconsidered once per this many
//!
//! [sanl]                      # thresholds of delegation, as `cohort tune sanl` finds them
//! theta-l = 0.1               # share of its time at the lock from which a thread votes to delegate
//!
//! [[mutex]]                   # a lock for one mutex alone
//! name = "stats_lock"         # or site = "assoc.c:72": where it is initialised, else first locked
//! lock = "mcs"
//! because = "queue 4.5"       # a note for readers, otherwise ignored
//! ```
//!
//! Without `--config`, `/etc/cohort.toml` is read where it exists, and the environment wins over it.
//!
//! `cohort tune -o` writes such a file, with its origin in a table `[tuned]`; `cohort tune glk -o`
//! writes `[glk]` and `[glk.tuned]`, and `cohort tune sanl -o` `[sanl]` and `[sanl.tuned]`.

mod glk;

use crate::choice::Choice;
use crate::cohorts;
use crate::mutexes::{MutexesLock, Which};
use crate::problem::{self, Problem};
use crate::rwlocks::Rwlocks;
use crate::toml_file::{at, misread, position, text};
use crate::wait::Wait;
use cohort::Thresholds;
use cohort::adaptive::Tuning;
use cohort_measure::tuned::file::{File, Origin};
use cohort_measure::tuned::origin::Origin as TunedOn;
use cohort_measure::tuned::sanl as sanl_file;
use glk::Glk;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use toml::Spanned;

/// The machine's own file, which is read where no other is named.
const OF_MACHINE: &str = "/etc/cohort.toml";

/// What a configuration file may say; whatever it leaves out stays as it is.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Configuration {
    lock: Option<Spanned<String>>,
    /// What serves rwlocks.
    pub rwlock: Option<Rwlocks>,
    /// How waiting threads wait.
    pub wait: Option<Wait>,
    only: Option<Vec<Spanned<String>>>,
    exclude: Option<Vec<Spanned<String>>>,
    /// Whether to print a report at the end.
    pub report: Option<bool>,
    cohorts: Option<Spanned<PathBuf>>,
    tuned: Option<Origin>,
    glk: Option<Spanned<Glk>>,
    #[serde(rename = "sanl")]
    sanl_table: Option<sanl_file::Table>,
    /// Its values.
    #[serde(skip)]
    sanl: Option<Thresholds>,
    #[serde(default)]
    mutex: Vec<Mutex>,
    /// The same, checked.
    #[serde(skip)]
    mutexes: Vec<MutexesLock>,
    /// Where the file is.
    #[serde(skip)]
    folder: PathBuf,
}

/// A table `[[mutex]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Mutex {
    name: Option<Spanned<String>>,
    site: Option<Spanned<String>>,
    lock: Spanned<String>,
    /// For readers.
    #[serde(rename = "because")]
    _because: Option<String>,
}

impl Configuration {
    /// Reads and checks `file`.
    ///
    /// # Errors
    /// Says where in the file the trouble is, what stands there and what may.
    pub fn read(file: &Path) -> Result<Self, Problem> {
        let text = text(file)?;
        let read = Self::parse(&text, file)?;
        if let Some(cohorts) = &read.cohorts {
            let path = read.cohorts().unwrap_or_default();
            if let Err(problem) = cohorts::text(&path) {
                return Err(at(&text, cohorts.span().start, file, &problem.to_string()));
            }
        }
        read.warn(file)?;
        Ok(read)
    }

    /// Reads and checks the machine's own file; empty if there is none.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn of_machine() -> Result<Self, Problem> {
        let file = Path::new(OF_MACHINE);
        if file.exists() {
            Self::read(file)
        } else {
            Ok(Self::default())
        }
    }

    /// Warns if the lock, `glk` or `sanl` was tuned for a machine of another shape.
    fn warn(&self, file: &Path) -> Result<(), Problem> {
        if let Some(tuned) = &self.tuned {
            let here = cohorts::shape_here(self.cohorts().as_deref())?;
            if here.as_deref() != Some(&tuned.shape) {
                let here =
                    here.unwrap_or_else(|| "with other CPUs than in the cohorts file".into());
                problem::tell(format!(
                    "warning: {} was tuned on {} ({}), not on this machine ({here}); its lock is used \
                     nevertheless",
                    file.display(),
                    tuned.machine,
                    tuned.shape
                ));
            }
        }
        let glk = self.glk_tuned();
        let glk = glk.map(|tuned| ("glk", &tuned.machine, &tuned.shape));
        let sanl = self.sanl_tuned();
        let sanl = sanl.map(|tuned| ("sanl", &tuned.machine, &tuned.shape));
        for (lock, machine, shape) in [glk, sanl].into_iter().flatten() {
            let here = cohorts::shape_here(None)?.unwrap_or_default();
            if here != *shape {
                problem::tell(format!(
                    "warning: {lock} in {} was tuned on {machine} ({shape}), not on this machine \
                     ({here}); its thresholds are used nevertheless",
                    file.display(),
                ));
            }
        }
        Ok(())
    }

    /// Reads and checks that text of `file`, without what depends on this machine.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn parse(text: &str, file: &Path) -> Result<Self, Problem> {
        let at = |offset, message: &str| at(text, offset, file, message);
        let mut read: Self = toml::from_str(text).map_err(|error| misread(&error, text, file))?;
        if let Some(lock) = &read.lock {
            Choice::for_programs(lock.get_ref())
                .map_err(|problem| at(lock.span().start, &problem.to_string()))?;
        }
        for name in [&read.only, &read.exclude].into_iter().flatten().flatten() {
            check_executable(name.get_ref()).map_err(|why| at(name.span().start, &why))?;
        }
        if let Some(glk) = &read.glk
            && let Some((offset, what)) = glk.get_ref().complaint()
        {
            return Err(at(offset.unwrap_or(glk.span().start), &what));
        }
        if let Some(table) = &read.sanl_table {
            let sanl = table.thresholds();
            read.sanl = Some(sanl.map_err(|wrong| at(wrong.at, &wrong.why))?);
        }
        for mutex in &read.mutex {
            let lock = &mutex.lock;
            let start = lock.span().start;
            let chosen = Choice::for_programs(lock.get_ref())
                .map_err(|problem| at(start, &problem.to_string()))?;
            if matches!(chosen, Choice::System) {
                return Err(at(
                    start,
                    "found `system`, expected a lock of Cohort: the C library cannot serve individual \
                     mutexes",
                ));
            }
            let (which, said) = match (&mutex.name, &mutex.site) {
                (Some(name), None) => (Which::Name(name.get_ref().clone()), name),
                (None, Some(site)) => (Which::Site(site.get_ref().clone()), site),
                (None, None) => {
                    return Err(at(
                        start,
                        "found neither `name` nor `site`, expected one of them",
                    ));
                }
                (Some(_), Some(site)) => {
                    let why = "found both `site` and `name`, expected one of them";
                    return Err(at(site.span().start, why));
                }
            };
            if said.get_ref().is_empty() {
                return Err(at(
                    said.span().start,
                    "found an empty string, expected a name",
                ));
            }
            let (row, column) = position(text, said.span().start);
            read.mutexes.push(MutexesLock {
                at: format!("{}:{row}:{column}", file.display()),
                which,
                lock: chosen.name().to_owned(),
            });
        }
        read.folder = file.parent().map(Path::to_owned).unwrap_or_default();
        Ok(read)
    }

    /// The lock's name as written.
    pub fn lock(&self) -> Option<&str> {
        self.lock.as_ref().map(|lock| lock.get_ref().as_str())
    }

    /// The file of the cohorts that are passed to locks.
    pub fn cohorts(&self) -> Option<PathBuf> {
        let cohorts = self.cohorts.as_ref()?;
        Some(self.folder.join(cohorts.get_ref()))
    }

    /// How the lock that adapts is tuned.
    pub fn glk(&self) -> Option<Tuning> {
        self.glk.as_ref().map(|glk| glk.get_ref().tuning())
    }

    /// Where that is from, if it is written.
    pub fn glk_tuned(&self) -> Option<&TunedOn> {
        self.glk.as_ref()?.get_ref().tuned()
    }

    /// The file as `cohort tune` wrote it, if it did.
    pub fn tuned(&self) -> Option<File> {
        Some(File {
            lock: self.lock.as_ref()?.get_ref().clone(),
            cohorts: None,
            tuned: self.tuned.clone()?,
        })
    }

    /// The thresholds of `sanl`.
    pub fn sanl(&self) -> Option<Thresholds> {
        self.sanl
    }

    /// Their origin, if given.
    pub fn sanl_tuned(&self) -> Option<&TunedOn> {
        self.sanl_table.as_ref()?.tuned.as_ref()
    }

    /// The mutexes that have locks of their own.
    pub fn mutexes(&self) -> &[MutexesLock] {
        &self.mutexes
    }

    /// The executables to serve.
    pub fn only(&self) -> Option<Vec<String>> {
        self.only.as_deref().map(bare)
    }

    /// The executables to leave alone.
    pub fn exclude(&self) -> Option<Vec<String>> {
        self.exclude.as_deref().map(bare)
    }
}

/// Whether `name` can stand in the flat list that the library reads.
pub fn check_executable(name: &str) -> Result<(), String> {
    if name.is_empty() {
        Err("found an empty name, expected the name or path of an executable".to_owned())
    } else if name.contains(':') {
        Err(format!(
            "found `{name}`, expected the name or path of an executable without `:`"
        ))
    } else {
        Ok(())
    }
}

fn bare(names: &[Spanned<String>]) -> Vec<String> {
    names.iter().map(|name| name.get_ref().clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::flat;

    fn complaint(text: &str) -> String {
        Configuration::parse(text, Path::new("c.toml"))
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn what_is_left_out_stays_open() {
        let read = Configuration::parse("report = true\n", Path::new("c.toml")).unwrap();
        assert_eq!(read.report, Some(true));
        assert!(read.lock().is_none() && read.wait.is_none() && read.only().is_none());
    }

    #[test]
    fn complaints_say_where_and_what() {
        for (text, expected) in [
            (
                "wait = \"park\"\nlok = 1\n",
                "c.toml:2:1: unknown field `lok`",
            ),
            ("lock = 3\n", "c.toml:1:8: invalid type: integer `3`"),
            (
                "wait = \"snooze\"\n",
                "c.toml:1:8: found `snooze`, expected `park`",
            ),
            ("lock = \"systm\"\n", "c.toml:1:8: unknown lock `systm`"),
            ("only = [\"a\", \"b:c\"]\n", "c.toml:1:14: found `b:c`"),
            ("exclude = [\"\"]\n", "c.toml:1:12: found an empty name"),
            (
                "[glk]\nup = 2\ndown = 3\n",
                "c.toml:3:8: down is 3, expected 2 (up)",
            ),
            (
                "[glk]\ndown = 4\n",
                "c.toml:2:8: down is 4, expected 2 to 3",
            ),
            (
                "[glk]\nsample = 0\n",
                "c.toml:2:10: found a period of 0, expected a power",
            ),
            ("[glk]\nconsider = 64\n", "c.toml:2:12: consider is 64"),
            ("[glk]\nups = 3\n", "c.toml:2:1: unknown field `ups`"),
            (
                "[sanl]\nt-s = 0\n",
                "c.toml:2:7: found 0, expected 1 to 1000000",
            ),
            (
                "[[mutex]]\nname = \"m\"\nlock = \"mcz\"\n",
                "c.toml:3:8: unknown lock `mcz`",
            ),
            (
                "[[mutex]]\nlock = \"mcs\"\n",
                "c.toml:2:8: found neither `name` nor `site`",
            ),
            (
                "[[mutex]]\nname = \"m\"\nsite = \"s\"\nlock = \"mcs\"\n",
                "c.toml:3:8: found both `site` and `name`",
            ),
            (
                "[[mutex]]\nname = \"m\"\nlock = \"system\"\n",
                "c.toml:3:8: found `system`",
            ),
            (
                "[[mutex]]\nname = \"\"\nlock = \"mcs\"\n",
                "c.toml:2:8: found an empty string",
            ),
            (
                "[[mutex]]\nnam = \"m\"\nlock = \"mcs\"\n",
                "c.toml:2:1: unknown field `nam`",
            ),
        ] {
            let message = complaint(text);
            assert!(message.starts_with(expected), "{message}");
        }
    }

    #[test]
    fn what_a_tuning_leaves_out_is_as_usual() {
        let read = Configuration::parse("[glk]\nup = 5\n", Path::new("c.toml")).unwrap();
        let expected = Tuning {
            up: 5,
            ..Tuning::USUAL
        };
        assert_eq!(read.glk(), Some(expected));
        assert_eq!(
            Tuning::read(flat(&expected).to_str().unwrap()),
            Some(expected)
        );
    }

    #[test]
    fn thresholds_of_sanl_reach_the_library() {
        let text = "[sanl]\ntheta-l = 0.25\nt-w = \"10us\"\n";
        let read = Configuration::parse(text, Path::new("c.toml")).unwrap();
        let expected = Thresholds {
            brings: cohort::WHOLE / 4,
            waits: 10_000,
            ..Thresholds::USUAL
        };
        assert_eq!(read.sanl(), Some(expected));
        assert_eq!(Thresholds::read(&expected.to_string()), Some(expected));
    }

    #[test]
    fn the_key_that_may_have_been_meant_is_named() {
        let message = complaint("exclud = [\"a\"]\n");
        assert!(message.ends_with("did you mean `exclude`?"), "{message}");
        let message = complaint("qqqqqqqq = 1\n");
        assert!(!message.contains("did you mean"), "{message}");
    }

    #[test]
    fn a_file_that_is_no_toml_is_quoted() {
        let message = complaint("lock = \"system\"\n= nonsense\n");
        assert!(message.starts_with("c.toml:2:1: "), "{message}");
    }
}
