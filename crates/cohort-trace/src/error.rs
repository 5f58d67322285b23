//! A file that cannot be read as a trace.

use std::fmt;
use std::io;

/// Why a trace cannot be read, or not be read further.
#[derive(Debug)]
pub enum Error {
    /// The file is no trace.
    Foreign,
    /// The file has another version of the format.
    Version(u8),
    /// The block at that offset is damaged.
    Damaged {
        /// Its first byte in the file.
        offset: u64,
        /// What is wrong.
        why: &'static str,
    },
    /// The file could not be read.
    Read(io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Foreign => to.write_str("not a trace; record one with `cohort record -o FILE`"),
            Self::Version(version) => write!(
                to,
                "a trace of format {version}, this command reads format {}; record it again",
                crate::VERSION
            ),
            Self::Damaged { offset, why } => write!(
                to,
                "damaged at byte {offset}: {why}; cut the file there to read what precedes, or record \
                 it again"
            ),
            Self::Read(error) => error.fmt(to),
        }
    }
}

impl std::error::Error for Error {}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Read(error)
    }
}
