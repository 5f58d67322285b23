//! Folders that this command shares with the processes of a program.
//!
//! A folder disappears with its value. The folder of a killed command stays behind; the next
//! command removes it. A folder in use is locked (`flock`), and the lock ends with its process.
//! This distinction works in every container and PID namespace.

use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use std::fs::Permissions;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

/// The prefix of such folders' names.
const PREFIX: &str = "cohort-";

/// The random characters that follow.
const RANDOM: usize = 16;

/// Age from which an unlocked folder counts as abandoned: its command may have created it and not
/// locked it yet.
const UNLOCKED: Duration = Duration::from_secs(60);

/// Locked folder, removed with this value.
pub struct Folder {
    // Before the lock: another command may remove an unlocked folder.
    folder: TempDir,
    _lock: OwnedFd,
}

impl Folder {
    /// Creates an empty folder in `parent` with these permissions, and removes abandoned ones
    /// there.
    ///
    /// # Errors
    /// The folder cannot be created or locked.
    pub fn make_in(parent: &Path, permissions: u32) -> std::io::Result<Self> {
        remove_abandoned(parent, UNLOCKED);
        let folder = tempfile::Builder::new()
            .prefix(PREFIX)
            .rand_bytes(RANDOM)
            .tempdir_in(parent)?;
        let lock = locked(folder.path())?;
        // Overrides the process's umask.
        std::fs::set_permissions(folder.path(), Permissions::from_mode(permissions))?;
        Ok(Self {
            folder,
            _lock: lock,
        })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Locks a folder, if no process has locked it.
fn locked(folder: &Path) -> std::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = open(folder, flags, Mode::empty())?;
    flock(&opened, FlockOperation::NonBlockingLockExclusive)?;
    Ok(opened)
}

/// Removes unlocked folders of that age in `parent`. Folders that cannot be opened are left to
/// their users.
fn remove_abandoned(parent: &Path, age: Duration) {
    let is_named = |name: &str| {
        name.strip_prefix(PREFIX).is_some_and(|rest| {
            rest.len() == RANDOM && rest.bytes().all(|c| c.is_ascii_alphanumeric())
        })
    };
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().to_str().is_some_and(is_named)) {
        let changed = entry.metadata().and_then(|entry| entry.modified());
        let is_old = changed.is_ok_and(|at| at.elapsed().is_ok_and(|since| since >= age));
        if is_old && let Ok(_lock) = locked(&entry.path()) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_goes_with_its_value_and_an_abandoned_one_with_the_next_command() {
        let parent = tempfile::tempdir().unwrap();
        let used = Folder::make_in(parent.path(), 0o711).unwrap();
        let abandoned = parent.path().join("cohort-0123456789abcdef");
        let others = parent.path().join("cohort-of-somebody-else");
        for folder in [&abandoned, &others] {
            std::fs::create_dir(folder).unwrap();
            std::fs::write(folder.join("17.1"), "records").unwrap();
        }
        // Young folders stay: their command may not have locked them yet.
        remove_abandoned(parent.path(), UNLOCKED);
        assert!(abandoned.exists());
        remove_abandoned(parent.path(), Duration::ZERO);
        assert!(!abandoned.exists() && others.exists() && used.path().exists());
        let path = used.path().to_owned();
        drop(used);
        assert!(!path.exists());
    }
}
