//! Files that a subcommand is to write: looked at before anything is measured, so that no
//! measurement is in vain.

use crate::problem::Problem;
use rustix::fs::{Access, access};
use std::fs::{self, Permissions};
use std::io::{Error, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Whether a plot can be written to `file`.
///
/// # Errors
/// Its name promises another format than SVG, or the file cannot be written.
pub fn plot(file: &Path) -> Result<(), Problem> {
    let is_svg = file
        .extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("svg"));
    if !is_svg {
        return Err(Problem::usage(format!(
            "--plot: found `{}`, expected a name that ends in .svg, the only format",
            file.display()
        )));
    }
    writable(file)
}

/// Whether `file` can be written, or made.
///
/// # Errors
/// Why not.
pub fn writable(file: &Path) -> Result<(), Problem> {
    let refused = |why: &dyn std::fmt::Display| {
        Err(Problem::refused(format!(
            "cannot write {}: {why}; choose another file",
            file.display()
        )))
    };
    if file.is_dir() {
        return refused(&"it is a folder");
    }
    let place = if file.exists() {
        file
    } else {
        match file.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        }
    };
    match access(place, Access::WRITE_OK) {
        Ok(()) => Ok(()),
        Err(error) => refused(&std::io::Error::from(error)),
    }
}

/// The destination of a report that is written piece by piece.
pub enum Report {
    /// Standard error, which the program has too.
    Stderr,
    /// A file, which a reader may follow.
    File(fs::File),
}

impl Report {
    /// An empty file, or standard error.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn new(file: Option<&Path>) -> Result<Self, Problem> {
        let Some(file) = file else {
            return Ok(Self::Stderr);
        };
        writable(file)?;
        let made = fs::File::create(file).map_err(|error| {
            Problem::refused(format!("cannot write {}: {error}", file.display()))
        })?;
        Ok(Self::File(made))
    }

    /// Writes a text; errors, such as a closed pipe, are ignored.
    pub fn say(&self, text: &str) {
        let _ = match self {
            Self::Stderr => std::io::stderr().write_all(text.as_bytes()),
            Self::File(file) => (&*file).write_all(text.as_bytes()),
        };
    }

    /// Writes a line, in the command's own form.
    pub fn tell(&self, text: &str) {
        self.say(&format!("cohort: {text}\n"));
    }
}

/// Writes a file: it is replaced as a whole or left as it was.
///
/// # Errors
/// The file could not be written.
pub fn write(file: &Path, bytes: &[u8]) -> Result<(), Problem> {
    write_all(&[(file, bytes)])
}

/// Writes files. None is changed before all are written, each under another name beside its own.
///
/// # Errors
/// A file could not be written.
pub fn write_all(files: &[(&Path, &[u8])]) -> Result<(), Problem> {
    let unwritten = |file: &Path, error: &Error| {
        Problem::refused(format!("cannot write {}: {error}", file.display()))
    };
    let mut written = Vec::new();
    for (file, bytes) in files {
        let beside = beside(file, bytes).map_err(|error| unwritten(file, &error))?;
        written.push((file, bytes, beside));
    }
    for (file, bytes, beside) in written {
        let put = match beside {
            Some((temporary, target)) => {
                let put = temporary.persist(target).map_err(|error| error.error);
                put.map(drop)
            }
            None => fs::write(file, bytes),
        };
        put.map_err(|error| unwritten(file, &error))?;
    }
    Ok(())
}

/// A file's new bytes, under another name, and the path that is to have them: behind a link, which stays
/// one. None where only the file itself can be written to, since it is a device or a pipe, or its folder
/// takes no other.
///
/// # Errors
/// They cannot be written.
fn beside(file: &Path, bytes: &[u8]) -> Result<Option<(NamedTempFile, PathBuf)>, Error> {
    let target = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let old = fs::metadata(&target).ok();
    if old.as_ref().is_some_and(|old| !old.is_file()) {
        return Ok(None);
    }
    let folder = match target.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let made = tempfile::Builder::new()
        .prefix(".cohort-")
        // The process's umask applies to these permissions as to those of any new file.
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder);
    let mut made = match made {
        Ok(made) => made,
        Err(_) if old.is_some() => return Ok(None),
        Err(error) => return Err(error),
    };
    made.write_all(bytes)?;
    if let Some(old) = old {
        made.as_file().set_permissions(old.permissions())?;
        // As root writes another user's file, which stays that user's.
        let _ = std::os::unix::fs::fchown(made.as_file(), Some(old.uid()), Some(old.gid()));
    }
    Ok(Some((made, target)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_can_be_drawn_and_written_is_accepted() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("p.SVG");
        assert!(plot(&file).is_ok());
        std::fs::write(&file, "").unwrap();
        assert!(plot(&file).is_ok());
        assert!(plot(Path::new("p.svg")).is_ok());
        for (file, why) in [
            ("p.png", "the only format"),
            ("p", "the only format"),
            ("/absent/p.svg", "No such file"),
        ] {
            let problem = plot(Path::new(file)).unwrap_err().to_string();
            assert!(problem.contains(why) && problem.contains(file), "{problem}");
        }
        assert!(writable(folder.path()).is_err());
    }

    #[test]
    fn no_file_is_changed_unless_all_can_be_written() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link, other] = ["file", "link", "other"].map(|name| folder.path().join(name));
        std::fs::write(&file, "old").unwrap();
        std::fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink("file", &link).unwrap();
        let read = |file: &Path| std::fs::read_to_string(file).unwrap();
        let names = || std::fs::read_dir(folder.path()).unwrap().count();

        let absent = folder.path().join("absent/file");
        let problem = write_all(&[(&link, b"new"), (&other, b"new"), (&absent, b"new")]);
        let problem = problem.unwrap_err().to_string();
        assert!(
            problem.contains("cannot write") && problem.contains("absent"),
            "{problem}"
        );
        assert_eq!((read(&file), names()), ("old".to_owned(), 2));

        write_all(&[(&link, b"new"), (&other, b"newer")]).unwrap();
        assert_eq!(
            (&*read(&file), &*read(&other), names()),
            ("new", "newer", 3)
        );
        assert!(link.is_symlink());
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
        // A full disk, and a path that is no regular file.
        assert!(write(Path::new("/dev/full"), b"new").is_err());
        assert!(write(Path::new("/dev/null"), b"new").is_ok());
    }
}
