//! Whether a program, a library or a file is installed.

use std::path::Path;

/// Distributions' folders for the libraries of a 64-bit system.
const LIBRARY_FOLDERS: [&str; 4] = [
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
];

/// Whether a file exists: an absolute path; a library, in the folders of libraries; or a program,
/// in PATH.
#[must_use]
pub fn is_here(name: &str) -> bool {
    if name.starts_with('/') {
        Path::new(name).exists()
    } else if name.contains(".so") {
        LIBRARY_FOLDERS
            .iter()
            .any(|folder| Path::new(folder).join(name).exists())
    } else {
        which::which(name).is_ok()
    }
}
