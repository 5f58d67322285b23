//! A subcommand's failure: the message and the exit status.

use std::fmt;
use std::io::Write;
use std::process::ExitCode;

/// The command's own exit statuses. 125 to 127 are those of `env`, `timeout` and the shells, so
/// that scripts can distinguish them from the program's own.
pub mod status {
    /// The command succeeded, with a negative answer.
    pub const NEGATIVE: u8 = 1;
    /// An option, an argument or a configuration file is wrong.
    pub const USAGE: u8 = 2;
    /// The command failed.
    pub const REFUSED: u8 = 125;
    /// The program was found and cannot be executed.
    pub const NOT_EXECUTABLE: u8 = 126;
    /// The program was not found.
    pub const NOT_FOUND: u8 = 127;
}

/// Failure with a message that says what to do.
#[derive(Debug)]
pub struct Problem {
    message: String,
    status: u8,
}

impl Problem {
    /// A failure that ends the command with `status`.
    pub fn new(status: u8, message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            status,
        }
    }

    /// A failure of the command (exit status 125).
    pub fn refused(message: impl Into<String>) -> Self {
        Self::new(status::REFUSED, message)
    }

    /// A usage error (exit status 2).
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(status::USAGE, message)
    }

    /// The failure, with the place of the mistake.
    pub fn within(self, place: &str) -> Self {
        Self {
            message: format!("{place}: {}", self.message),
            ..self
        }
    }

    /// Prints the failure on stderr and returns the exit status.
    pub fn report(&self) -> ExitCode {
        tell(self);
        ExitCode::from(self.status)
    }
}

/// Prints a line on stderr, in the command's own form; errors are ignored.
pub fn tell(text: impl fmt::Display) {
    let _ = writeln!(std::io::stderr(), "cohort: {text}");
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}
