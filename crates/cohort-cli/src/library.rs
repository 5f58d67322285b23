//! The preload libraries: embedded in the command, installed beside it, extracted to a cache
//! folder, or held in memory if no folder is writable.
//!
//! A file is used only if it equals the embedded bytes, and only this user or the super-user can
//! change it, so that a stale or foreign library is never loaded into a program.

use crate::problem::Problem;
use rustix::fs::{
    MemfdFlags, SealFlags, StatVfsMountFlags, fcntl_add_seals, memfd_create, statvfs,
};
use rustix::io::{FdFlags, fcntl_dupfd_cloexec, fcntl_setfd};
use rustix::process::geteuid;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{DirBuilder, File, Metadata, Permissions};
use std::io::Write;
use std::os::fd::{IntoRawFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

/// Library built by the build script.
#[derive(Debug)]
pub struct Library {
    /// Its file's name.
    pub file: &'static str,
    /// The library's bytes, unpacked at the first use.
    pub bytes: LazyLock<Vec<u8>>,
}

macro_rules! embedded {
    ($file:literal) => {
        Library {
            file: $file,
            bytes: LazyLock::new(|| {
                unpacked(include_bytes!(concat!(
                    env!("OUT_DIR"),
                    "/",
                    $file,
                    ".packed"
                )))
            }),
        }
    };
}

/// A library as the build script has packed it: a fifth of its size.
fn unpacked(packed: &[u8]) -> Vec<u8> {
    miniz_oxide::inflate::decompress_to_vec(packed).expect("the build script has packed it")
}

/// The default library, without the extensions of the others.
pub static USUAL: Library = embedded!("libcohort_preload.so");

/// The library with all generated compositions compiled in, and the locks that are placed apart.
pub static COMPOSITIONS: Library = embedded!("libcohort_compositions.so");

/// The library with compositions that also records what threads hold and wait for.
pub static OBSERVING: Library = embedded!("libcohort_observe.so");

/// All libraries.
pub static ALL: [&Library; 3] = [&USUAL, &COMPOSITIONS, &OBSERVING];

/// The folder of a process's own open files, by number.
const OWN_FILES: &str = "/proc/self/fd/";

/// The least number of the open file of a library in memory.
const HIGH: i32 = 256;

/// Write permission for the group or for all users.
const WRITABLE_BY_OTHERS: u32 = 0o022;

impl Library {
    /// The path of a copy for preloading, extracted if necessary.
    ///
    /// # Errors
    /// All places tried, with the reasons.
    pub fn locate(&self) -> Result<PathBuf, Problem> {
        let mut refused = Vec::new();
        if let Some(installed) = self.installed() {
            match self.verify(&installed).and_then(|()| loadable(&installed)) {
                Ok(()) => return Ok(installed),
                Err(why) if installed.exists() => refused.push(why),
                Err(_) => {}
            }
        }
        for cache in caches() {
            match self.extract(&cache) {
                Ok(library) => return Ok(library),
                Err(why) => refused.push(why),
            }
        }
        match self.in_memory() {
            Ok(library) => return Ok(library),
            Err(why) => refused.push(format!("a file in memory: {why}")),
        }
        Err(Problem::refused(format!(
            "no folder for the preload library:\n  {}\n\
             set XDG_CACHE_HOME or TMPDIR to your own folder on a file system without noexec, \
             or install with `make install`",
            refused.join("\n  ")
        )))
    }

    /// The path of the copy in `folder`, or of the installed one: a service must find it at every
    /// start, and caches are temporary.
    ///
    /// # Errors
    /// There is none, it is not this command's library, or others may change it.
    pub fn installed_in(&self, folder: Option<&Path>) -> Result<PathBuf, Problem> {
        let refused = |why: &str| {
            Problem::refused(format!(
                "{why}; install Cohort (`make install`, or its package), or give the folder of the \
                 libraries with --libraries"
            ))
        };
        let path = match folder {
            Some(folder) => std::path::absolute(folder)
                .map(|folder| folder.join(self.file))
                .ok(),
            None => self.installed(),
        };
        let path = path.ok_or_else(|| refused("the folder of this command is unknown"))?;
        self.verify(&path)
            .and_then(|()| loadable(&path))
            .map_err(|why| refused(&why))?;
        Ok(path)
    }

    /// The destination of `make install`, relative to the command's own file.
    fn installed(&self) -> Option<PathBuf> {
        let command = std::env::current_exe().ok()?.canonicalize().ok()?;
        let prefix = command.parent()?.parent()?;
        Some(prefix.join("lib/cohort").join(self.file))
    }

    /// The library in a sealed unnamed file, for a container without a writable folder. This
    /// process keeps it open, and programs inherit it.
    fn in_memory(&self) -> Result<PathBuf, String> {
        static MADE: Mutex<BTreeMap<&'static str, PathBuf>> = Mutex::new(BTreeMap::new());
        let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(library) = made.get(self.file) {
            return Ok(library.clone());
        }
        let write = || -> std::io::Result<RawFd> {
            let mut file = File::from(memfd_create(self.file, MemfdFlags::ALLOW_SEALING)?);
            file.write_all(&self.bytes)?;
            let seals = SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE;
            fcntl_add_seals(&file, seals)?;
            // Above the numbers that programs expect; under a lower limit, any number.
            match fcntl_dupfd_cloexec(&file, HIGH) {
                Ok(high) => {
                    fcntl_setfd(&high, FdFlags::empty())?;
                    Ok(high.into_raw_fd())
                }
                Err(_) => Ok(file.into_raw_fd()),
            }
        };
        let number = write().map_err(|error| error.to_string())?;
        let library = PathBuf::from(format!("{OWN_FILES}{number}"));
        if !library.exists() {
            return Err("/proc is not mounted".to_owned());
        }
        made.insert(self.file, library.clone());
        Ok(library)
    }

    /// The library under `cache`, in a folder named by its content.
    fn extract(&self, cache: &Path) -> Result<PathBuf, String> {
        let folder = cache.join(self.content());
        let library = folder.join(self.file);
        presentable(&library)?;
        make_folder(cache)?;
        make_folder(&folder)?;
        if self.verify(&library).is_err() {
            self.write(&folder, &library)?;
            self.verify(&library)?;
        }
        loadable(&library)?;
        Ok(library)
    }

    /// A name for its bytes: two libraries never share a folder.
    fn content(&self) -> String {
        Sha256::digest(&*self.bytes)[..8]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }

    /// Writes the library atomically.
    fn write(&self, folder: &Path, library: &Path) -> Result<(), String> {
        let failed =
            |error: std::io::Error| format!("{} cannot be written: {error}", library.display());
        let mut file = tempfile::Builder::new()
            .permissions(Permissions::from_mode(0o644))
            .tempfile_in(folder)
            .map_err(failed)?;
        file.write_all(&self.bytes).map_err(failed)?;
        file.persist(library)
            .map_err(|error| failed(error.error))
            .map(drop)
    }

    /// Whether the file at `path` equals this library, and only trusted users can change it.
    fn verify(&self, path: &Path) -> Result<(), String> {
        let unreadable = |error| format!("{} cannot be read: {error}", path.display());
        let metadata = path.symlink_metadata().map_err(unreadable)?;
        if !metadata.is_file() {
            return Err(format!("{} is not a regular file", path.display()));
        }
        trusted(path, &metadata)?;
        if std::fs::read(path).map_err(unreadable)? == *self.bytes {
            Ok(())
        } else {
            Err(format!(
                "{} is from another build than this command",
                path.display()
            ))
        }
    }
}

/// Whether an entry of `LD_PRELOAD` is one of Cohort's libraries in memory.
pub fn is_in_memory(entry: &OsStr) -> bool {
    let is_own_file = entry.as_bytes().starts_with(OWN_FILES.as_bytes());
    let called = |file: &Path| {
        let file = file.to_string_lossy();
        ALL.iter().any(|library| {
            file.strip_prefix("/memfd:")
                .is_some_and(|name| name.starts_with(library.file))
        })
    };
    is_own_file && std::fs::read_link(entry).is_ok_and(|file| called(&file))
}

/// The user's cache folder; none if the environment names none.
pub fn cache_folder() -> Option<PathBuf> {
    let names = ["XDG_CACHE_HOME", "HOME"];
    let is_set = names.iter().any(|name| std::env::var_os(name).is_some());
    caches().into_iter().next().filter(|_| is_set)
}

/// The folders for extraction, in order of preference.
fn caches() -> Vec<PathBuf> {
    let folder = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|folder| folder.is_absolute())
    };
    let own = format!("cohort-{}", geteuid().as_raw());
    [
        folder("XDG_CACHE_HOME").map(|cache| cache.join("cohort")),
        folder("HOME").map(|home| home.join(".cache/cohort")),
        folder("TMPDIR").map(|temporary| temporary.join(&own)),
        Some(Path::new("/tmp").join(&own)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn make_folder(folder: &Path) -> Result<(), String> {
    let failed = |error| format!("{} cannot be created: {error}", folder.display());
    DirBuilder::new()
        .recursive(true)
        .mode(0o755)
        .create(folder)
        .map_err(failed)?;
    // A link could be redirected later by its owner.
    let metadata = folder.symlink_metadata().map_err(failed)?;
    if metadata.is_dir() {
        trusted(folder, &metadata)
    } else {
        Err(format!(
            "{} is a link or a file, not a folder",
            folder.display()
        ))
    }
}

fn trusted(path: &Path, metadata: &Metadata) -> Result<(), String> {
    let owner = metadata.uid();
    if owner != 0 && owner != geteuid().as_raw() {
        return Err(format!("{} belongs to user {owner}", path.display()));
    }
    if metadata.mode() & WRITABLE_BY_OTHERS != 0 {
        return Err(format!("{} is writable by other users", path.display()));
    }
    Ok(())
}

/// Whether the loader can load `library` from `LD_PRELOAD`.
fn loadable(library: &Path) -> Result<(), String> {
    presentable(library)?;
    let mount = statvfs(library).map_err(|error| format!("{}: {error}", library.display()))?;
    if mount.f_flag.contains(StatVfsMountFlags::NOEXEC) {
        return Err(format!(
            "{} is on a file system mounted noexec",
            library.display()
        ));
    }
    Ok(())
}

/// Whether `LD_PRELOAD` can contain this path: it has no quoting.
fn presentable(library: &Path) -> Result<(), String> {
    let path: &OsStr = library.as_os_str();
    let special = |byte: &u8| byte.is_ascii_whitespace() || b":$".contains(byte);
    if path.as_bytes().iter().any(special) {
        return Err(format!(
            "{} has a space, `:` or `$` in its path, which LD_PRELOAD does not support",
            library.display()
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn cache() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let cache = folder.path().join("cohort");
        (folder, cache)
    }

    #[test]
    fn what_is_extracted_is_what_is_embedded_and_stays() {
        let (_keep, cache) = cache();
        let library = USUAL.extract(&cache).unwrap();
        assert_eq!(std::fs::read(&library).unwrap(), *USUAL.bytes);
        let first = library.metadata().unwrap().ino();
        assert_eq!(USUAL.extract(&cache).unwrap(), library);
        assert_eq!(library.metadata().unwrap().ino(), first);
    }

    #[test]
    fn a_changed_file_is_replaced() {
        let (_keep, cache) = cache();
        let library = USUAL.extract(&cache).unwrap();
        std::fs::write(&library, "stale").unwrap();
        assert_eq!(
            std::fs::read(USUAL.extract(&cache).unwrap()).unwrap(),
            *USUAL.bytes
        );
    }

    #[test]
    fn a_folder_that_others_can_write_is_refused() {
        let (_keep, cache) = cache();
        std::fs::create_dir(&cache).unwrap();
        std::fs::set_permissions(&cache, Permissions::from_mode(0o777)).unwrap();
        assert!(
            USUAL
                .extract(&cache)
                .unwrap_err()
                .contains("writable by other users")
        );
    }

    #[test]
    fn a_link_to_a_folder_is_refused() {
        let (keep, cache) = cache();
        symlink(keep.path(), &cache).unwrap();
        assert!(USUAL.extract(&cache).unwrap_err().contains("not a folder"));
    }

    #[test]
    fn paths_that_the_loader_would_split_are_refused() {
        for path in ["/a b/x.so", "/a:b/x.so", "/$LIB/x.so"] {
            assert!(presentable(Path::new(path)).is_err(), "{path}");
        }
        assert!(presentable(Path::new("/a-b/x.so")).is_ok());
    }
}
