//! Observes a process started by `cohort run --observe`, for any time.

use super::process::{Process, Unusable, both_ways, own_number};
use crate::environment::lock_told;
use crate::library;
use crate::page::visible;
use crate::problem::Problem;
use cohort::records::{FREE, WHOLE};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::time::{Duration, Instant};

/// The name of a process's records among its open files.
const CALLED: &str = "/memfd:cohort-records";

/// Maximum time from a program's start to its first lock operation.
const STARTS: Duration = Duration::from_secs(2);

/// Time after which another command's watch without a heartbeat counts as abandoned.
const LEFT: Duration = Duration::from_secs(1);

/// Process under observation, until this value is dropped.
pub struct Watching {
    /// The process.
    pub process: Process,
    number: u32,
    /// Its start time in the kernel's ticks: the process ID alone may be reused.
    began: Option<u64>,
}

impl Watching {
    /// Begins to observe the process of that ID, with samples at that spacing.
    ///
    /// Blocks for a second if another command seems to observe it, and for two if it seems to be
    /// starting.
    ///
    /// # Errors
    /// There is no such process; it was not started for observation; another command observes it.
    pub fn begin(id: u32, spacing: u32) -> Result<Self, Problem> {
        Self::of(id, find_once_started(id)?, spacing)
    }

    /// Observes a process with complete records, without waiting for it to start.
    ///
    /// # Errors
    /// As [`begin`](Self::begin).
    pub fn begin_started(id: u32, spacing: u32) -> Result<Self, Problem> {
        Self::of(id, find(id)?, spacing)
    }

    fn of(id: u32, mut process: Process, spacing: u32) -> Result<Self, Problem> {
        if !process.is_ours {
            return Err(Problem::refused(format!(
                "the records of process {id} are not writable; run as its user, or as root"
            )));
        }
        let raw = process.records();
        let before = raw.watch.number();
        if before != 0 {
            let beats = raw.watch.beats();
            let asked = Instant::now();
            while asked.elapsed() < LEFT {
                if raw.watch.beats() != beats {
                    return Err(watched(id));
                }
                std::thread::sleep(LEFT / 20);
            }
        }
        raw.spacing.store(spacing, Relaxed);
        // Samples that an earlier command left.
        let threads = raw.threads.iter();
        let used = raw.used.load(Relaxed) as usize;
        for thread in threads.take(used) {
            // SAFETY: the previous observing command has ended, or is stopped.
            while unsafe { thread.samples.take() }.is_some() {}
        }
        for stack in &raw.lent {
            if stack.state.load(Relaxed) == WHOLE {
                stack.state.store(FREE, Release);
            }
        }
        raw.watch.beat();
        let number = raw.watch.begin(before).ok_or_else(|| watched(id))?;
        process.see(&process.numbers());
        Ok(Self {
            began: began(id),
            process,
            number,
        })
    }

    /// Sends the process a heartbeat.
    ///
    /// # Errors
    /// Another command has taken over.
    pub fn beat(&mut self) -> Result<(), Problem> {
        let watch = &self.process.records().watch;
        watch.beat();
        match watch.number() {
            number if number == self.number => Ok(()),
            // The process has received no heartbeat for a long time, as when this one was stopped.
            0 => {
                let id = self.process.id;
                self.number = watch.begin(0).ok_or_else(|| watched(id))?;
                Ok(())
            }
            _ => Err(watched(self.process.id)),
        }
    }

    /// The program's name, and its lock as passed to the library.
    pub fn program(&self) -> (String, Option<String>) {
        let id = self.process.id;
        let name = fs::read_to_string(format!("/proc/{id}/comm")).unwrap_or_default();
        let environment = fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
        (visible(name.trim_end()), lock_told(&environment))
    }

    /// Whether the process has ended.
    pub fn is_over(&self) -> bool {
        began(self.process.id) != self.began || self.process.living().is_empty()
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let raw = self.process.records();
        raw.watch.end(self.number);
    }
}

fn watched(id: u32) -> Problem {
    Problem::refused(format!(
        "process {id} already has an observer, and only one is supported; end the other command"
    ))
}

/// A process's start time, if it exists.
pub fn began(id: u32) -> Option<u64> {
    let line = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The fields follow the name, which may contain anything, in brackets.
    let (_, rest) = line.rsplit_once(") ")?;
    rest.split(' ').nth(19)?.parse().ok()
}

/// [`find`] for a process that may just have been started.
fn find_once_started(id: u32) -> Result<Process, Problem> {
    let asked = Instant::now();
    loop {
        match find(id) {
            Err(_) if is_starting(id) && asked.elapsed() < STARTS => {
                std::thread::sleep(STARTS / 100);
            }
            found => return found,
        }
    }
}

/// Whether a process is still `cohort run`, or has the observing library without records; or is so
/// young that it may be a shell about to execute the command, or a program without its libraries: both have
/// one thread.
fn is_starting(id: u32) -> bool {
    let own = std::env::current_exe().and_then(fs::canonicalize);
    let its = fs::canonicalize(format!("/proc/{id}/exe"));
    let is_command =
        id != std::process::id() && own.is_ok_and(|own| its.is_ok_and(|its| own == its));
    let has_one_thread =
        || fs::read_dir(format!("/proc/{id}/task")).is_ok_and(|threads| threads.count() == 1);
    is_command || has_library(id) || is_young(id) && has_one_thread()
}

/// Whether a process started so recently that it may still execute another program.
pub fn is_young(id: u32) -> bool {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let now = Duration::try_from(now).unwrap_or_default();
    began(id).is_some_and(|ticks| {
        let seconds = ticks as f64 / rustix::param::clock_ticks_per_second() as f64;
        now.saturating_sub(Duration::from_secs_f64(seconds)) < STARTS
    })
}

/// Whether a process has a preload library of Cohort's, or records of any version; true if unknown.
pub fn is_under_cohort(id: u32) -> bool {
    let Ok(maps) = fs::read_to_string(format!("/proc/{id}/maps")) else {
        return true;
    };
    let Ok(files) = fs::read_dir(format!("/proc/{id}/fd")) else {
        return true;
    };
    let mut links = files
        .flatten()
        .filter_map(|file| fs::read_link(file.path()).ok());
    let has_library = library::ALL
        .iter()
        .any(|library| maps.contains(library.file));
    has_library || links.any(|link| link.to_string_lossy().starts_with(CALLED))
}

/// Whether a process has the observing library.
fn has_library(id: u32) -> bool {
    let maps = fs::read_to_string(format!("/proc/{id}/maps"));
    maps.is_ok_and(|maps| maps.contains(library::OBSERVING.file))
}

/// The process of that ID, with its records.
///
/// # Errors
/// There is none, or it cannot be observed, with the reason and a remedy.
fn find(id: u32) -> Result<Process, Problem> {
    let folder = PathBuf::from(format!("/proc/{id}"));
    let Ok(metadata) = fs::metadata(&folder) else {
        let why = if Path::new("/proc/self").exists() {
            format!("no process {id}")
        } else {
            "/proc is not mounted here".to_owned()
        };
        return Err(Problem::usage(why));
    };
    let found = open_records(id).map_err(|error| unreadable(id, &metadata, &error))?;
    let (file, is_ours) = match found.or_else(|| mapped(&folder)) {
        Some(path) => both_ways(&path).map_err(|error| unreadable(id, &metadata, &error))?,
        None => return Err(without(id, &folder, &metadata)),
    };
    let process = Process::in_file(id, file, is_ours).map_err(|why| match why {
        Unusable::Version => Problem::refused(format!(
            "process {id} was started by another version of Cohort; use that version, or restart the \
             program"
        )),
        Unusable::Foreign => Problem::refused(format!(
            "process {id} has no records yet; try again"
        )),
    })?;
    let own = own_number(&format!("/proc/{id}/status"));
    let records = process.records().process.load(Relaxed);
    if own.is_some_and(|own| own != records) {
        return Err(Problem::refused(format!(
            "process {id} has used no lock since its fork"
        )));
    }
    Ok(process)
}

/// The records file among a process's open files.
///
/// # Errors
/// The open files cannot be listed.
pub fn open_records(id: u32) -> std::io::Result<Option<PathBuf>> {
    let files = fs::read_dir(format!("/proc/{id}/fd"))?;
    Ok(files.flatten().find_map(|entry| {
        let name = fs::read_link(entry.path()).ok()?;
        name.to_str()?.starts_with(CALLED).then(|| entry.path())
    }))
}

/// The records file of a process that has closed it by a direct system call: accessible to root
/// only.
fn mapped(folder: &Path) -> Option<PathBuf> {
    let maps = fs::read_to_string(folder.join("maps")).ok()?;
    let line = maps.lines().find(|line| line.contains(CALLED))?;
    let range = line.split(' ').next()?;
    let range = range.split('-').map(|end| end.trim_start_matches('0'));
    let range: Vec<&str> = range.collect();
    let path = folder.join("map_files").join(range.join("-"));
    fs::File::open(&path).is_ok().then_some(path)
}

/// The reason why a process is inaccessible.
pub fn unreadable(id: u32, metadata: &fs::Metadata, error: &std::io::Error) -> Problem {
    if error.kind() != ErrorKind::PermissionDenied {
        return Problem::refused(format!("cannot inspect process {id}: {error}"));
    }
    let owner = metadata.uid();
    if rustix::process::geteuid().is_root() {
        return Problem::refused(format!(
            "cannot inspect process {id}, even as root: this container lacks the capability to trace \
             (docker run --cap-add SYS_PTRACE)"
        ));
    }
    let (why, who) = if owner == rustix::process::geteuid().as_raw() {
        // Such as a process that changed its user.
        (
            "has changed its user or denies inspection".to_owned(),
            "root",
        )
    } else if owner == 0 {
        ("belongs to root".to_owned(), "root")
    } else {
        (format!("belongs to user {owner}"), "that user, or as root")
    };
    Problem::refused(format!("process {id} {why}; run as {who}"))
}

/// The reason why a process has no records.
fn without(id: u32, folder: &Path, metadata: &fs::Metadata) -> Problem {
    let maps = match fs::read_to_string(folder.join("maps")) {
        Ok(maps) => maps,
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            return unreadable(id, metadata, &error);
        }
        Err(_) => String::new(),
    };
    let start = "start it with `cohort run --observe`";
    Problem::refused(if maps.contains(CALLED) {
        format!("process {id} has closed its record file; run as root")
    } else if maps.contains(library::OBSERVING.file) {
        format!(
            "process {id} has used no lock yet, or runs under `cohort debug` or `cohort profile`"
        )
    } else if library::ALL
        .iter()
        .any(|library| maps.contains(library.file))
    {
        format!("process {id} runs under Cohort without --observe; {start}")
    } else if maps.is_empty() {
        // A kernel thread has no memory of its own either.
        format!("process {id} has ended, or is a kernel thread")
    } else {
        format!(
            "process {id} does not run under Cohort: `cohort profile --pid {id}` samples it from outside; for counts, {start}"
        )
    })
}
