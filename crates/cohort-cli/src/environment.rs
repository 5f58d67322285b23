//! The preload library's settings: the variables of the program's environment.

use crate::page::visible;
use crate::purpose::Purpose;
use crate::settings::Settings;
use crate::{beside, choice::Choice, library};
use cohort::adaptive::Tuning;
use cohort::door::{Monitor, set_monitor};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::process::Command;

/// The loader's variable.
pub const PRELOAD: &str = "LD_PRELOAD";
const LOCK: &str = "COHORT_LOCK";
const RWLOCK: &str = "COHORT_RWLOCK";
const WAIT: &str = "COHORT_WAIT";
const ONLY: &str = "COHORT_ONLY";
const EXCLUDE: &str = "COHORT_EXCLUDE";
const REPORT: &str = "COHORT_REPORT";
const COHORTS: &str = "COHORT_COHORTS";
const GLK: &str = "COHORT_GLK";
const SANL: &str = "COHORT_SANL";
const MUTEXES: &str = "COHORT_MUTEXES";
const MONITOR: &str = "COHORT_MONITOR";
const SLICE: &str = "COHORT_SLICE";
const CHANGES: &str = "COHORT_CHANGES";
const OBSERVE: &str = "COHORT_OBSERVE";
const LEVEL: &str = "COHORT_LEVEL";
const PROFILE: &str = "COHORT_PROFILE";
const RECORD: &str = "COHORT_RECORD";
const WATCH: &str = "COHORT_WATCH";

/// The library's variables.
pub const OURS: [&str; 18] = [
    LOCK, RWLOCK, WAIT, ONLY, EXCLUDE, REPORT, COHORTS, GLK, SANL, MUTEXES, MONITOR, SLICE,
    CHANGES, OBSERVE, LEVEL, PROFILE, RECORD, WATCH,
];

/// Changes of an environment: a variable with its value, or none to remove it.
pub type Changes = Vec<(&'static str, Option<OsString>)>;

/// Removes empty variables, which the library treats as unset.
pub fn forget_empty() {
    for name in [LOCK, RWLOCK, WAIT, ONLY, EXCLUDE, COHORTS] {
        if std::env::var_os(name).is_some_and(|value| value.is_empty()) {
            // SAFETY: called at the beginning of `main`, before any thread that could read the
            // environment.
            unsafe { std::env::remove_var(name) };
        }
    }
}

/// Whether the environment disables monitored waits. There is no option for it: the variable serves
/// for measurements, and as a workaround.
pub fn forbids_monitor() -> bool {
    std::env::var_os(MONITOR).is_some_and(|value| value == "off")
}

/// Whether the environment keeps holders from extending their time slices; likewise.
pub fn forbids_extensions() -> bool {
    std::env::var_os(SLICE).is_some_and(|value| value == "off")
}

/// Applies [`forbids_monitor`] to this process's own waiters, as the library does in a program.
pub fn heed_monitor() {
    if forbids_monitor() {
        // SAFETY: pausing uses no instruction that a CPU may lack.
        unsafe { set_monitor(Monitor::Missing) };
    }
}

/// The changes of this process's environment for a program under `settings`, served by `library`,
/// and counted in `report` if any.
pub fn changes(settings: &Settings, library: &Path, report: Option<&Path>) -> Changes {
    let list = |names: &[OsString]| {
        let joined = names.join(OsStr::new(":"));
        (!joined.is_empty()).then_some(joined)
    };
    match &settings.lock {
        Choice::System => without(),
        Choice::Ours(lock) => vec![
            (PRELOAD, Some(preload(Some(library)))),
            (LOCK, Some(OsString::from(&**lock))),
            (RWLOCK, Some(settings.rwlocks.name().into())),
            (WAIT, Some(settings.wait.name().into())),
            (ONLY, list(&settings.only)),
            (EXCLUDE, list(&settings.exclude)),
            (REPORT, report.map(|file| file.as_os_str().to_owned())),
            (COHORTS, settings.cohorts.as_ref().map(OsString::from)),
            (GLK, settings.glk.as_ref().map(flat)),
            (SANL, settings.sanl.map(|sanl| sanl.to_string().into())),
            (MUTEXES, settings.told.as_ref().map(OsString::from)),
        ],
    }
}

/// A tuning of `glk` in the library's format.
pub fn flat(tuning: &Tuning) -> OsString {
    let Tuning {
        up,
        down,
        sample,
        consider,
    } = tuning;
    format!("{up},{down},{sample},{consider}").into()
}

/// The changes for an observed program. Its processes record into files in `folder` or, for later
/// observation, into files of their own.
pub fn observing(
    settings: &Settings,
    library: &Path,
    purpose: Purpose,
    folder: Option<&Path>,
) -> Changes {
    let value = |is_asked: bool| {
        let value = folder.map_or(OsStr::new("1"), Path::as_os_str);
        is_asked.then(|| value.to_owned())
    };
    let level = match purpose {
        Purpose::Debug(level) => Some(level.name().into()),
        Purpose::Profile | Purpose::Record(_) | Purpose::Watch => None,
    };
    let mut changes = changes(settings, library, None);
    changes.push((OBSERVE, value(level.is_some())));
    changes.push((LEVEL, level));
    changes.push((PROFILE, value(purpose == Purpose::Profile)));
    changes.push((RECORD, value(matches!(purpose, Purpose::Record(_)))));
    changes.push((WATCH, value(purpose == Purpose::Watch)));
    changes
}

/// The lock passed to a process, if any; `environment` is its variables, each ended by zero.
pub fn lock_told(environment: &[u8]) -> Option<String> {
    let told = environment.split(|byte| *byte == 0).find_map(|variable| {
        let value = variable.strip_prefix(LOCK.as_bytes())?;
        value.strip_prefix(b"=")
    })?;
    Some(visible(&String::from_utf8_lossy(told)))
}

/// The changes for a program under the C library's own locks, even if this process runs under
/// Cohort's.
pub fn without() -> Changes {
    let kept = preload(None);
    let mut changes = vec![(PRELOAD, (!kept.is_empty()).then_some(kept))];
    changes.extend(OURS.map(|name| (name, None)));
    changes
}

/// Applies `changes` to the environment of `command`.
pub fn apply(changes: &Changes, command: &mut Command) {
    for (name, value) in changes {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
}

/// The value of `LD_PRELOAD`: libraries that define the same functions as Cohort's, then Cohort's,
/// then all others except earlier copies of Cohort's.
pub fn preload(library: Option<&Path>) -> OsString {
    let before = std::env::var_os(PRELOAD).unwrap_or_default();
    join(library, &before, |entry| !beside::shared(entry).is_empty())
}

/// The preloaded libraries that define the same functions as Cohort's, in words.
pub fn shared() -> Vec<String> {
    let before = std::env::var_os(PRELOAD).unwrap_or_default();
    let said = others(&before).filter_map(|entry| {
        let shared = beside::shared(entry);
        (!shared.is_empty()).then(|| beside::in_words(entry, &shared))
    });
    said.collect()
}

/// The entries of `LD_PRELOAD` except Cohort's.
fn others(before: &OsStr) -> impl Iterator<Item = &OsStr> {
    let entries = before
        .as_bytes()
        .split(|byte| matches!(byte, b':' | b' '))
        .filter(|entry| !entry.is_empty())
        .map(OsStr::from_bytes);
    entries.filter(|entry| {
        let name = Path::new(entry).file_name();
        let is_ours = library::ALL
            .iter()
            .any(|ours| name == Some(OsStr::new(ours.file)));
        !is_ours && !library::is_in_memory(entry)
    })
}

fn join(library: Option<&Path>, before: &OsStr, is_first: impl Fn(&OsStr) -> bool) -> OsString {
    let (first, last): (Vec<&OsStr>, Vec<&OsStr>) =
        others(before).partition(|entry| library.is_some() && is_first(entry));
    let all: Vec<&[u8]> = first
        .into_iter()
        .chain(library.map(Path::as_os_str))
        .chain(last)
        .map(OsStr::as_bytes)
        .collect();
    OsString::from_vec(all.join(&b':'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choice;
    use crate::wait::Wait;
    use std::collections::BTreeSet;

    fn read(file: &str) -> String {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        std::fs::read_to_string(root.join(file)).unwrap()
    }

    /// The first cells of the rows of a page's table under a heading, with the whole rows.
    fn rows<'a>(page: &'a str, heading: &str) -> Vec<(&'a str, &'a str)> {
        let (_, part) = page.split_once(&format!("\n## {heading}\n")).unwrap();
        let part = part.split("\n## ").next().unwrap();
        let cell = |row: &'a str| Some((row.strip_prefix("| `")?.split('`').next()?, row));
        part.lines().filter_map(cell).collect()
    }

    #[test]
    fn the_reference_has_every_variable_and_its_default() {
        let page = read("docs/configuration.md");
        let rows = rows(&page, "Variables");
        let told: BTreeSet<&str> = rows.iter().map(|(name, _)| *name).collect();
        assert_eq!(told, BTreeSet::from(OURS));
        for (name, default) in [(LOCK, choice::DEFAULT), (WAIT, Wait::default().name())] {
            let (_, row) = rows.iter().find(|(row, _)| *row == name).unwrap();
            assert!(row.contains(&format!("| `{default}` |")), "{row}");
        }
        let usual = flat_of(&Tuning::USUAL);
        assert!(
            rows.iter()
                .any(|(name, row)| *name == GLK && row.contains(&usual))
        );
    }

    fn flat_of(tuning: &Tuning) -> String {
        flat(tuning).into_string().unwrap()
    }

    /// `cohort run --lock system` would pass on a variable unknown to the command.
    #[test]
    fn the_command_knows_every_variable_that_the_library_reads() {
        let folder = |library| {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(library);
            std::fs::read_dir(folder).unwrap()
        };
        let files = folder("../cohort-preload/src").chain(folder("../cohort-c/src"));
        let mut read = BTreeSet::new();
        for entry in files {
            let path = entry.unwrap().path();
            if path.is_dir() {
                continue;
            }
            let text = std::fs::read_to_string(path).unwrap();
            let names = text.split("c\"COHORT_").skip(1);
            read.extend(names.map(|name| format!("COHORT_{}", name.split('"').next().unwrap())));
        }
        let known: BTreeSet<String> = OURS.map(str::to_owned).into();
        assert_eq!(read, known);
    }

    #[test]
    fn ours_comes_once_and_behind_what_defines_the_same() {
        let ours = Path::new("/new/libcohort_preload.so");
        for (before, after) in [
            ("", "/new/libcohort_preload.so"),
            (
                "libjemalloc.so.2",
                "/new/libcohort_preload.so:libjemalloc.so.2",
            ),
            (
                "a.so b.so:/old/libcohort_preload.so",
                "/new/libcohort_preload.so:a.so:b.so",
            ),
        ] {
            assert_eq!(join(Some(ours), OsStr::new(before), |_| false), after);
        }
        let before = OsStr::new("/old/libcohort_preload.so:a.so:b.so:c.so");
        let is_first = |entry: &OsStr| entry != "b.so";
        assert_eq!(join(None, before, is_first), "a.so:b.so:c.so");
        assert_eq!(
            join(Some(ours), before, is_first),
            "a.so:c.so:/new/libcohort_preload.so:b.so"
        );
    }
}
