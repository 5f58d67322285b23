//! A process as it is seen from outside: its memory, its mappings, and where its threads sleep.

use crate::choice::DEFAULT;
use crate::observe::process::{Process as Observed, own_number};
use crate::problem::Problem;
use std::fs::{self, File};
use std::io::{Error, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// A process under Cohort.
pub struct Process {
    /// Its number.
    pub id: u32,
    /// Our library, as it is mapped there.
    pub preloaded: String,
    maps: String,
    memory: File,
}

/// A thread's sleep at a word, which it saw hold something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sleep {
    /// The kernel's number of the thread.
    pub thread: u32,
    /// The word.
    pub word: u64,
    /// What it held.
    pub seen: u32,
    /// The classes in which the thread can be woken.
    pub classes: u32,
}

impl Process {
    /// The process of that number.
    ///
    /// # Errors
    /// There is none, it may not be looked at, or it does not run under Cohort.
    pub fn open(id: u32) -> Result<Self, Problem> {
        let folder = PathBuf::from(format!("/proc/{id}"));
        if !folder.exists() {
            return Err(Problem::usage(format!("there is no process {id}")));
        }
        let refused = |error: Error| match error.kind() {
            ErrorKind::PermissionDenied => Problem::refused(format!(
                "process {id} may not be looked at ({error}): it is another user's, or \
                 /proc/sys/kernel/yama/ptrace_scope is not 0; try as root"
            )),
            _ => Problem::refused(format!("process {id} cannot be looked at: {error}")),
        };
        let maps = fs::read_to_string(folder.join("maps")).map_err(refused)?;
        let memory = File::open(folder.join("mem")).map_err(refused)?;
        let library = files(&maps).find(|path| {
            let name = path.rsplit('/').next().unwrap_or(path);
            name.starts_with("libcohort_")
        });
        let Some(library) = library.map(str::to_owned) else {
            return Err(Problem::refused(format!(
                "process {id} does not run under Cohort: start it by `cohort run -- PROGRAM`"
            )));
        };
        Ok(Self {
            id,
            preloaded: library,
            maps,
            memory,
        })
    }

    /// The lock that serves its mutexes, as its environment says.
    pub fn lock(&self) -> String {
        let environment = fs::read(format!("/proc/{}/environ", self.id)).unwrap_or_default();
        let said = environment
            .split(|byte| *byte == 0)
            .find_map(|variable| variable.strip_prefix(b"COHORT_LOCK="));
        said.filter(|name| !name.is_empty()).map_or_else(
            || DEFAULT.to_owned(),
            |name| String::from_utf8_lossy(name).into_owned(),
        )
    }

    /// What the observing library has written down of it, if that is the one.
    pub fn observed(&self) -> Option<Observed> {
        // In a PID namespace of its own it has another number for itself.
        let own = own_number(&format!("/proc/{}/status", self.id)).unwrap_or(self.id);
        let begins = format!("{own}.");
        let records = files(&self.maps).find(|path| {
            let name = path.rsplit('/').next().unwrap_or(path);
            path.contains("/cohort-") && name.starts_with(&begins)
        });
        Observed::open(Path::new(records?))
    }

    /// The kernel's numbers of its threads.
    pub fn threads(&self) -> Vec<u32> {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.id));
        let mut threads: Vec<u32> = tasks
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .collect();
        threads.sort_unstable();
        threads
    }

    /// A thread's name.
    pub fn name(&self, thread: u32) -> String {
        let name = fs::read_to_string(format!("/proc/{}/task/{thread}/comm", self.id));
        name.unwrap_or_default().trim_end().to_owned()
    }

    /// The threads that sleep at a word.
    pub fn sleeps(&self) -> Vec<Sleep> {
        let sleep = |thread: u32| {
            let call = fs::read_to_string(format!("/proc/{}/task/{thread}/syscall", self.id));
            asleep(thread, &call.ok()?)
        };
        self.threads().into_iter().filter_map(sleep).collect()
    }

    /// Four bytes of its memory.
    pub fn word(&self, at: u64) -> Option<u32> {
        let mut bytes = [0; 4];
        self.memory.read_exact_at(&mut bytes, at).ok()?;
        Some(u32::from_le_bytes(bytes))
    }

    /// Eight bytes of its memory.
    pub fn long(&self, at: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        self.memory.read_exact_at(&mut bytes, at).ok()?;
        Some(u64::from_le_bytes(bytes))
    }
}

/// The files that a list of mappings names.
fn files(maps: &str) -> impl Iterator<Item = &str> {
    maps.lines()
        .filter_map(|line| line.find('/').map(|at| &line[at..]))
}

/// A sleep at a word, in the kernel's line about the system call that a thread is in.
fn asleep(thread: u32, call: &str) -> Option<Sleep> {
    /// The kind of call, without what is said beside it.
    const KIND: u64 = 0x7f;
    const WAIT: u64 = libc::FUTEX_WAIT as u64;
    const WAIT_FOR_CLASSES: u64 = libc::FUTEX_WAIT_BITSET as u64;

    let mut words = call.split_whitespace();
    if words.next()?.parse() != Ok(libc::SYS_futex) {
        return None;
    }
    let numbers = words.map(|word| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok());
    let numbers: Vec<u64> = numbers.collect::<Option<_>>()?;
    let [word, kind, seen, _, _, classes, ..] = numbers[..] else {
        return None;
    };
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
    fn sleeps_are_read_from_the_kernels_lines() {
        let line = format!(
            "{} 0x7f00 0x89 0x3 0x0 0x0 0x1 0x7ffd 0x7f12\n",
            libc::SYS_futex
        );
        let sleep = Sleep {
            thread: 7,
            word: 0x7f00,
            seen: 3,
            classes: 1,
        };
        assert_eq!(asleep(7, &line), Some(sleep));
        for other in [
            "running\n",
            "-1 0x7ffd 0x7f12\n",
            "0 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0\n",
            "",
        ] {
            assert_eq!(asleep(7, other), None);
        }
    }
}
