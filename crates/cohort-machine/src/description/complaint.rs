//! Errors in a file.

use super::nearest;
use std::fmt;

/// An error in a file, with its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// The text found, and what was expected.
    pub message: String,
}

impl fmt::Display for Complaint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for Complaint {}

impl Complaint {
    /// An error at `offset`.
    pub(super) fn at(text: &str, offset: usize, message: String) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            message,
        }
    }

    /// An error of the TOML reader, with its key and perhaps the intended name.
    pub(super) fn of_syntax(text: &str, error: &toml::de::Error) -> Self {
        let offset = error.span().map_or(text.len(), |span| span.start);
        let message = error.message();
        let hint =
            unknown(message).map_or_else(String::new, |(found, names)| nearest::hint(found, names));
        let key = key(text, offset)
            .filter(|key| !message.contains(&format!("`{key}`")))
            .map_or_else(String::new, |key| format!("`{key}`: "));
        Self::at(text, offset, format!("{key}{message}{hint}"))
    }
}

/// The unknown word and the permitted ones, from the reader's message: ``unknown field `x`,
/// expected one of `y`, `z` ``.
fn unknown(message: &str) -> Option<(&str, Vec<&str>)> {
    let mut quoted = message
        .strip_prefix("unknown ")?
        .split('`')
        .skip(1)
        .step_by(2);
    Some((quoted.next()?, quoted.collect()))
}

/// The key of the value at `offset`; none before a value, where a table begins.
fn key(text: &str, offset: usize) -> Option<&str> {
    let start = text
        .get(..offset)?
        .rfind('\n')
        .map_or(0, |newline| newline + 1);
    let (key, _) = text[start..offset].split_once('=')?;
    let key = key.trim();
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    (!key.is_empty() && key.chars().all(plain)).then_some(key)
}
