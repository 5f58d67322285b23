//! Files that a subcommand is to write: looked at before anything is measured, so that no
//! measurement is in vain.

use crate::problem::Problem;
use rustix::fs::{Access, access};
use std::path::Path;

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
            "--plot: found `{}`, expected a name that ends in .svg: plots are drawn as SVG only",
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
            "{} cannot be written: {why}; name another file",
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

/// Writes a file.
///
/// # Errors
/// Why it could not be written after all.
pub fn write(file: &Path, bytes: &[u8]) -> Result<(), Problem> {
    std::fs::write(file, bytes)
        .map_err(|error| Problem::refused(format!("cannot write {}: {error}", file.display())))
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
            ("p.png", "SVG only"),
            ("p", "SVG only"),
            ("/absent/p.svg", "No such file"),
        ] {
            let problem = plot(Path::new(file)).unwrap_err().to_string();
            assert!(problem.contains(why) && problem.contains(file), "{problem}");
        }
        assert!(writable(folder.path()).is_err());
    }
}
