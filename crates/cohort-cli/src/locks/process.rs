//! A process seen from outside: its memory, its mappings, and its sleeping threads. It is running,
//! or a core dump is left of it.

use crate::choice::DEFAULT;
use crate::observe::process::Process as Observed;
use crate::observe::stacks::{Files, Stacks, bytes};
use crate::page::visible;
use object::{Object, ObjectSymbol};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Source of data about a process.
pub trait Source {
    /// Its mappings, as `/proc/PID/maps` lists them.
    fn maps(&self) -> &str;
    /// Reads its memory at an address; none if not completely readable.
    fn read(&self, at: u64, into: &mut [u8]) -> Option<()>;
    /// Its thread IDs here, by its own thread IDs.
    fn threads(&self) -> BTreeMap<u32, u32>;
    /// A thread's name.
    fn name(&self, thread: u32) -> Option<String>;
    /// The arguments of the futex call that a thread is in.
    fn futex(&self, thread: u32) -> Option<[u64; 6]>;
    /// The variables of its environment, each followed by a zero.
    fn environment(&self) -> Option<Vec<u8>>;
    /// A running thread with a usable view of files.
    fn alive(&self) -> Option<u32>;
    /// The observing library's records, if any.
    fn observed(&self) -> Option<Observed>;
}

/// Process under Cohort.
pub struct Process {
    /// Its process ID.
    pub id: u32,
    /// The program's name.
    pub program: String,
    /// Cohort's library as mapped there; the program itself if statically linked with the library
    /// for C.
    pub served_by: String,
    /// Whether that library serves the C library's locks, and thus records owners and writers.
    pub serves_pthread: bool,
    /// The core dump, if any.
    pub core: Option<Core>,
    source: Box<dyn Source>,
}

/// Properties of a core dump.
pub struct Core {
    /// Its path.
    pub path: PathBuf,
    /// The files that have changed since, and so provide no symbols.
    pub unnamed: Vec<String>,
}

/// A thread's sleep at a word with an expected value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sleep {
    /// The thread ID.
    pub thread: u32,
    /// The word.
    pub word: u64,
    /// The expected value.
    pub seen: u32,
    /// The classes of wake-ups that reach the thread.
    pub classes: u32,
}

impl Process {
    /// A process; none if it does not run under Cohort.
    pub fn of(id: u32, program: &str, source: Box<dyn Source>) -> Option<Self> {
        let (served_by, serves_pthread) = library(source.maps())?;
        Some(Self {
            id,
            program: visible(program),
            served_by: visible(&served_by),
            serves_pthread,
            core: None,
            source,
        })
    }

    /// The lock of its mutexes by its environment, if known.
    pub fn lock(&self) -> Option<String> {
        if !self.serves_pthread {
            return Some(DEFAULT.to_owned());
        }
        let environment = self.source.environment()?;
        let said = environment
            .split(|byte| *byte == 0)
            .find_map(|variable| variable.strip_prefix(b"COHORT_LOCK="));
        let said = said.filter(|name| !name.is_empty());
        Some(said.map_or_else(
            || DEFAULT.to_owned(),
            |name| visible(&String::from_utf8_lossy(name)),
        ))
    }

    /// The observing library's records, if any.
    pub fn observed(&self) -> Option<Observed> {
        self.source.observed()
    }

    /// Whether that library has recorded anything, possibly deleted since.
    pub fn has_records(&self) -> bool {
        records(self.source.maps(), self.id).is_some()
    }

    /// Symbols for its addresses.
    pub fn stacks(&self) -> Stacks {
        let mut stacks = Stacks::new(self.id);
        let maps = self.source.maps();
        stacks.refresh(self.source.alive().into_iter(), maps, Files::new());
        stacks
    }

    /// Its thread IDs here, by its own thread IDs.
    pub fn threads(&self) -> BTreeMap<u32, u32> {
        self.source.threads()
    }

    /// A thread's name, if known.
    pub fn name(&self, thread: u32) -> Option<String> {
        Some(visible(&self.source.name(thread)?))
    }

    /// The threads asleep at a word.
    pub fn sleeps(&self) -> Vec<Sleep> {
        let threads = self.threads();
        let sleeps = threads.values().filter_map(|thread| {
            let call = self.source.futex(*thread)?;
            asleep(*thread, call)
        });
        sleeps.collect()
    }

    /// Four bytes of its memory.
    pub fn word(&self, at: u64) -> Option<u32> {
        let mut bytes = [0; 4];
        self.source.read(at, &mut bytes)?;
        Some(u32::from_le_bytes(bytes))
    }

    /// Eight bytes of its memory.
    pub fn long(&self, at: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        self.source.read(at, &mut bytes)?;
        Some(u64::from_le_bytes(bytes))
    }
}

/// The files in a list of mappings.
fn files(maps: &str) -> impl Iterator<Item = &str> {
    maps.lines()
        .filter_map(|line| line.find('/').map(|at| &line[at..]))
}

/// Cohort's library among the mapped files, and whether it serves the C library's locks.
fn library(maps: &str) -> Option<(String, bool)> {
    let begins = |with: &str| {
        let mut files = files(maps);
        let path = files.find(|path| path.rsplit('/').next().unwrap_or(path).starts_with(with));
        path.map(str::to_owned)
    };
    if let Some(path) = begins("libcohort_") {
        return Some((path, true));
    }
    // A program is mapped below its libraries, and may include Cohort's.
    let program = || files(maps).next().filter(|path| has_library(path));
    let path = begins("libcohort.so").or_else(|| program().map(str::to_owned))?;
    Some((path, false))
}

/// Whether a program is linked with the static library for C.
fn has_library(program: &str) -> bool {
    let bytes = bytes(Path::new(program)).unwrap_or_default();
    object::File::parse(&*bytes).is_ok_and(|file| {
        let mut symbols = file.symbols();
        symbols.any(|symbol| symbol.is_definition() && symbol.name() == Ok("cohort_mutex_lock"))
    })
}

/// The file with the records of a process with that own process ID, if mapped.
pub fn records(maps: &str, own: u32) -> Option<&Path> {
    let begins = format!("{own}.");
    let found = files(maps).find(|path| {
        let name = path.rsplit('/').next().unwrap_or(path);
        path.contains("/cohort-") && name.starts_with(&begins)
    });
    found.map(Path::new)
}

/// A sleep at a word, by the arguments of a futex call.
fn asleep(thread: u32, [word, kind, seen, _, _, classes]: [u64; 6]) -> Option<Sleep> {
    /// The kind of call, without what is said beside it.
    const KIND: u64 = 0x7f;
    const WAIT: u64 = libc::FUTEX_WAIT as u64;
    const WAIT_FOR_CLASSES: u64 = libc::FUTEX_WAIT_BITSET as u64;

    let classes = match kind & KIND {
        WAIT => u32::MAX,
        WAIT_FOR_CLASSES => classes as u32,
        _ => return None,
    };
    Some(Sleep {
        thread,
        word,
        seen: seen as u32,
        classes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_waits_are_sleeps() {
        let sleep = |kind| asleep(7, [0x7f00, kind, 3, 0, 0, 1]);
        let at_any = Sleep {
            thread: 7,
            word: 0x7f00,
            seen: 3,
            classes: u32::MAX,
        };
        assert_eq!(sleep(0x80), Some(at_any.clone()));
        assert_eq!(
            sleep(0x89),
            Some(Sleep {
                classes: 1,
                ..at_any
            })
        );
        assert_eq!(sleep(0x81), None);
    }

    #[test]
    fn our_library_is_known_by_its_name() {
        let line = |path: &str| format!("7f00-7f01 r-xp 00000000 fe:00 11 {path}\n");
        let program = line("/nowhere/program");
        let of = |path: &str| library(&(program.clone() + &line(path)));
        for (path, serves_pthread) in [
            ("/run/x/libcohort_preload.so", true),
            ("/usr/lib/libcohort.so.0.1.0", false),
        ] {
            assert_eq!(of(path), Some((path.to_owned(), serves_pthread)));
        }
        assert_eq!(of("/usr/lib/libcohorts.so"), None);
    }
}
