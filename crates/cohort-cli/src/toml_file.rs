//! Files in TOML: their text, and complaints with the place in them.

use crate::problem::Problem;
use std::path::Path;

/// The text of a file in TOML.
///
/// # Errors
/// It cannot be read, or is no text.
pub fn text(file: &Path) -> Result<String, Problem> {
    let bytes = std::fs::read(file)
        .map_err(|error| Problem::usage(format!("cannot read {}: {error}", file.display())))?;
    String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let text = String::from_utf8_lossy(valid);
        let what = "found a byte that is not UTF-8, expected TOML text";
        at(&text, text.len(), file, what)
    })
}

/// Why `text` is not what a file should hold, and where in it.
pub fn misread(error: &toml::de::Error, text: &str, file: &Path) -> Problem {
    let offset = error.span().map_or(text.len(), |span| span.start);
    let message = error.message().replace(
        "expected a sequence",
        "expected a list such as [\"mysqld\"]",
    );
    let message = match found(text, offset) {
        Some(found) if !message.contains('`') => format!("{message} (found `{found}`)"),
        _ => message,
    };
    at(text, offset, file, &message)
}

/// A complaint about what stands at `offset`; a key that may have been meant is named.
pub fn at(text: &str, offset: usize, file: &Path, message: &str) -> Problem {
    let message = format!("{message}{}", meant(message));
    let (line, column) = position(text, offset);
    Problem::usage(format!("{}:{line}:{column}: {message}", file.display()))
}

/// For a complaint about a key that there is not, the one of those it lists that is close.
fn meant(message: &str) -> String {
    let mut words = message.split('`').skip(1).step_by(2);
    match words
        .next()
        .filter(|_| message.starts_with("unknown field `"))
    {
        Some(found) => cohort_nearest::hint(found, words),
        None => String::new(),
    }
}

/// Line and column, both from one, columns in characters.
pub fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = before.matches('\n').count() + 1;
    (line, before[line_start..].chars().count() + 1)
}

/// What stands at `offset`, up to the end of its line.
fn found(text: &str, offset: usize) -> Option<&str> {
    let rest = text.get(offset..)?.lines().next()?.trim_end();
    (!rest.is_empty()).then_some(rest)
}
