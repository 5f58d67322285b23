//! Observes a program from outside, through the records of the observing library.

pub mod cycles;
pub mod order;
pub mod process;
pub mod site;
pub mod stacks;
pub mod traced;
pub mod watching;

use crate::choice::Choice;
use crate::environment;
use crate::folder::Folder;
use crate::library;
use crate::problem::Problem;
use crate::program::Program;
use crate::purpose::Purpose;
use crate::settings::Settings;
use crate::signals::Mask;
use crate::start::{can_be_served, cannot_start, command};
use crate::supervise::{self, Ending};
use cohort::records::MEMORY;
use process::Process;
use rustix::fs::statvfs;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};
use watching::Watching;

/// Runs a program that records its lock operations, while `watch` observes it. `unpark` wakes the
/// observing thread when the program ends.
///
/// # Errors
/// The program cannot be observed, or not be started.
pub fn run<T: Send>(
    settings: &Settings,
    words: &[OsString],
    purpose: Purpose,
    watch: impl FnOnce(Records, &AtomicBool) -> T + Send,
) -> Result<(Ending, T), Problem> {
    can_be_observed(
        settings,
        match purpose {
            Purpose::Debug(_) => "debug",
            Purpose::Profile => "profile",
            Purpose::Record(_) => "record",
            Purpose::Watch => "run --observe",
        },
    )?;
    let name = &words[0];
    let program = Program::find(name)?;
    let mut settings = settings.clone();
    settings.find_mutexes(&program)?;
    let library = library::OBSERVING.locate()?;
    can_be_served(&program, &library).map_err(Problem::refused)?;
    let records = Records::new()?;
    if let (Purpose::Record(limit), Some(folder)) = (purpose, records.folder()) {
        traced::make(folder, limit)?;
    }
    let changes = environment::observing(&settings, &library, purpose, records.folder());
    let is_over = AtomicBool::new(false);
    // Signals passed on to the program must not be delivered to the observing thread.
    let before = Mask::current();
    Mask::all().block();
    let (ending, watched) = std::thread::scope(|scope| {
        let watching = scope.spawn(|| watch(records, &is_over));
        before.set();
        let ending = supervise::run(command(&program, words, &changes));
        is_over.store(true, Ordering::Release);
        watching.thread().unpark();
        (ending, watching.join())
    });
    let ending = ending.map_err(|error| cannot_start(name, &error))?;
    let watched = watched.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    Ok((ending, watched))
}

/// Room for the records of several processes, in bytes: without a free page, the program would be
/// killed.
const ROOM: u64 = 4 * MEMORY as u64;

/// Available bytes in a folder; 0 if unknown.
fn room_in(folder: &Path) -> u64 {
    statvfs(folder).map_or(0, |room| room.f_bavail.saturating_mul(room.f_frsize))
}

/// Checks that the locks of these settings are Cohort's.
///
/// # Errors
/// They are not; the message names `subcommand`.
pub fn can_be_observed(settings: &Settings, subcommand: &str) -> Result<(), Problem> {
    if matches!(settings.lock, Choice::System) {
        return Err(Problem::usage(format!(
            "`cohort {subcommand}` needs a lock of Cohort, and the lock is `system`"
        )));
    }
    Ok(())
}

/// Records of a program: of all its processes, each with a file in a folder that this value owns;
/// or of one process observed as it runs.
pub struct Records {
    folder: Option<Folder>,
    /// The folder's modification time when it was last listed.
    changed: Option<SystemTime>,
    processes: HashMap<OsString, Process>,
    watching: Option<Watching>,
}

/// Time for which a changed folder may change again without a new modification time: the kernel's
/// times advance by its ticks.
const ONE_TIME: Duration = Duration::from_millis(50);

impl Records {
    /// An empty folder.
    ///
    /// Any process may create a file in it, since a program may continue as another user. But it
    /// cannot be listed, so that only processes that inherit its name find it.
    ///
    /// # Errors
    /// No folder can be created.
    pub fn new() -> Result<Self, Problem> {
        let make = |parent: &Path| Folder::make_in(parent, 0o1733);
        // Pages of a file in memory are not written to a disk.
        let mut parents = [PathBuf::from("/dev/shm"), std::env::temp_dir()];
        parents.sort_by_key(|parent| Reverse(room_in(parent).min(ROOM)));
        let [first, second] = &parents;
        let folder = make(first)
            .or_else(|_: std::io::Error| make(second))
            .map_err(|error| {
                Problem::refused(format!(
                    "cannot create a folder for the records ({error}); set TMPDIR to a writable folder \
                     with free space"
                ))
            })?;
        Ok(Self {
            folder: Some(folder),
            changed: None,
            processes: HashMap::new(),
            watching: None,
        })
    }

    /// The records of an observed process.
    pub fn of(watching: Watching) -> Self {
        Self {
            folder: None,
            changed: None,
            processes: HashMap::new(),
            watching: Some(watching),
        }
    }

    /// The folder passed to the library, if any.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_ref().map(Folder::path)
    }

    /// Whether there is still a process to observe: another command may have taken over, or the
    /// observed process may have ended.
    pub fn go_on(&mut self) -> bool {
        if let Some(watching) = &mut self.watching
            && watching.beat().is_err()
        {
            self.watching = None;
        }
        self.folder.is_some() || self.watching.is_some()
    }

    /// Looks for processes with new records, and returns whether there are any; cheap without
    /// changes.
    pub fn find_more(&mut self) -> bool {
        let Some(folder) = &self.folder else {
            return false;
        };
        let changed = std::fs::metadata(folder.path()).and_then(|folder| folder.modified());
        let changed = changed.ok();
        let is_settled = changed.is_some_and(|at| at.elapsed().is_ok_and(|age| age > ONE_TIME));
        if is_settled && changed == self.changed {
            return false;
        }
        self.changed = changed;
        let before = self.processes.len();
        self.processes().count() > before
    }

    /// The processes with records, ended ones included.
    pub fn processes(&mut self) -> impl Iterator<Item = &mut Process> {
        let folder = self.folder.as_ref();
        let folder = folder.map(|folder| std::fs::read_dir(folder.path()));
        for entry in folder.into_iter().flatten().flatten().flatten() {
            let name = entry.file_name();
            if !self.processes.contains_key(&name)
                && let Some(process) = Process::open(&entry.path())
            {
                self.processes.insert(name, process);
            }
        }
        self.known_mut()
    }

    /// Drops a process's records: its file, which another process with the same ID would continue,
    /// and what is known of its code.
    pub fn forget(&mut self, process: u32) {
        self.watching
            .take_if(|watching| watching.process.id == process);
        let folder = self.folder.as_ref();
        self.processes.retain(|name, one| {
            let stays = one.id != process;
            if let (false, Some(folder)) = (stays, folder) {
                // A file that cannot be removed is removed with the folder.
                let _ = std::fs::remove_file(folder.path().join(name));
            }
            stays
        });
    }

    /// The processes found by [`processes`](Self::processes) and not forgotten.
    pub fn known(&self) -> impl Iterator<Item = &Process> {
        let watched = self.watching.iter().map(|watching| &watching.process);
        self.processes.values().chain(watched)
    }

    /// [`known`](Self::known), mutably.
    pub fn known_mut(&mut self) -> impl Iterator<Item = &mut Process> {
        let watched = self.watching.iter_mut();
        let watched = watched.map(|watching| &mut watching.process);
        self.processes.values_mut().chain(watched)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cohort::records::MAGIC;
    use std::fs::File;
    use std::os::unix::fs::FileExt;

    fn make(records: &Records, name: &str) {
        let folder = records.folder().expect("there is one");
        let file = File::create(folder.join(name)).expect("the folder is ours");
        file.set_len(size_of::<cohort::records::Records>() as u64)
            .expect("a sparse file");
        let at = std::mem::offset_of!(cohort::records::Records, magic) as u64;
        file.write_all_at(&MAGIC, at).expect("written");
    }

    #[test]
    fn a_process_that_comes_is_found_at_the_next_look() {
        let mut records = Records::new().expect("there is a place for temporary files");
        assert!(!records.find_more());
        for name in ["17.1", "18.1"] {
            make(&records, name);
            assert!(records.find_more(), "{name}");
            assert!(!records.find_more(), "{name}");
        }
        assert_eq!(records.known().count(), 2);
    }

    /// Another process with the same ID would continue the old records.
    #[test]
    fn what_a_process_left_goes_when_it_is_forgotten() {
        let mut records = Records::new().expect("there is a place for temporary files");
        make(&records, "17.1");
        make(&records, "18.1");
        let mut found: Vec<u32> = records.processes().map(|process| process.id).collect();
        found.sort_unstable();
        assert_eq!(found, [17, 18]);
        records.forget(17);
        let left: Vec<u32> = records.processes().map(|process| process.id).collect();
        assert_eq!(left, [18]);
        let folder = records.folder().expect("there is one");
        assert!(!folder.join("17.1").exists());
    }
}
