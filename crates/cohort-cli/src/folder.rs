//! Folders that this command shares with the processes of a program.
//!
//! A folder disappears with its value. The folder of a killed command stays behind; the next command
//! removes it. The kernel tells the two apart in every container and PID namespace: a folder in use is
//! locked (`flock`), and the lock ends with its process.

use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use std::fs::Permissions;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

/// What the names of such folders begin with.
const PREFIX: &str = "cohort-";

/// The random characters that follow.
const RANDOM: usize = 16;

/// The age from which an unlocked folder counts as abandoned: its command may have made it, and not have
/// locked it yet.
const UNLOCKED: Duration = Duration::from_secs(60);

/// A folder, locked, which disappears with this value.
pub struct Folder {
    // Before the lock: a folder that is no longer locked may be removed by another command.
    folder: TempDir,
    _lock: OwnedFd,
}

impl Folder {
    /// Makes an empty folder in `parent` with such permissions, and removes abandoned ones there.
    ///
    /// # Errors
    /// The folder cannot be made or locked.
    pub fn make_in(parent: &Path, permissions: u32) -> std::io::Result<Self> {
        remove_abandoned(parent, UNLOCKED);
        let folder = tempfile::Builder::new()
            .prefix(PREFIX)
            .rand_bytes(RANDOM)
            .tempdir_in(parent)?;
        let lock = locked(folder.path())?;
        // What the process's mask would take away is given here.
        std::fs::set_permissions(folder.path(), Permissions::from_mode(permissions))?;
        Ok(Self {
            folder,
            _lock: lock,
        })
    }

    /// Where it is.
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

/// Removes the folders in `parent` that are unlocked and that old. One that cannot be opened is left to
/// its user.
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
        // Young ones stay: their command may not have locked them yet.
        remove_abandoned(parent.path(), UNLOCKED);
        assert!(abandoned.exists());
        remove_abandoned(parent.path(), Duration::ZERO);
        assert!(!abandoned.exists() && others.exists() && used.path().exists());
        let path = used.path().to_owned();
        drop(used);
        assert!(!path.exists());
    }
}
