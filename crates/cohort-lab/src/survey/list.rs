//! The programs of a survey: rows in TOML, both built-in and the user's.

use super::here::is_here;
use regex_lite::Regex;
use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The built-in rows, by the purpose of their programs.
const OWN: [&str; 6] = [
    include_str!("rows/languages.toml"),
    include_str!("rows/packers.toml"),
    include_str!("rows/media.toml"),
    include_str!("rows/tools.toml"),
    include_str!("rows/servers.toml"),
    include_str!("rows/libraries.toml"),
];

/// C programs shared with the command's checks, and the rows that compile them.
const PROGRAMS: [(&str, &str, &str); 2] = [
    ("berkeleydb", "bank.c", include_str!("programs/bank.c")),
    ("mpich", "exchange.c", include_str!("programs/exchange.c")),
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    row: Vec<Row>,
}

/// Program with its check. Commands are text for the system's shell, run in a folder of the row's
/// own.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Its name in the table.
    #[serde(deserialize_with = "name")]
    pub name: String,
    /// One-line description.
    #[serde(default)]
    pub about: String,
    /// Prerequisites, `program:package` or both in one word: a program in PATH, a file's path, or a
    /// library.
    #[serde(default)]
    pub needs: Vec<String>,
    /// Files to create in its folder: their names and contents.
    #[serde(default, skip_serializing)]
    pub files: BTreeMap<String, String>,
    /// Prepares the folder, once.
    #[serde(default)]
    pub setup: Option<String>,
    /// The measured command.
    pub command: String,
    /// Finds the counted seconds in the command's output; by default, the command's duration
    /// counts.
    #[serde(default, deserialize_with = "expression", serialize_with = "text")]
    pub wall: Option<Regex>,
    /// Succeeds if a run was correct.
    pub check: String,
    /// Cleans up outside the folder, at the end.
    #[serde(default)]
    pub cleanup: Option<String>,
    /// The numbers of threads, for a program without other choices.
    #[serde(default)]
    pub threads: Option<Vec<u32>>,
}

impl Row {
    /// The package of a missing prerequisite.
    #[must_use]
    pub fn missing(&self) -> Option<&str> {
        self.needs.iter().find_map(|need| {
            let (name, package) = need.split_once(':').unwrap_or((need, need));
            (!is_here(name)).then_some(package)
        })
    }
}

/// The built-in rows.
///
/// # Panics
/// If a row is wrong, which a test excludes.
#[must_use]
pub fn own() -> Vec<Row> {
    let rows = OWN.iter().flat_map(|list| read(list).expect("sound rows"));
    let with_programs = rows.map(|mut row| {
        let of_row = PROGRAMS.iter().filter(|(name, ..)| *name == row.name);
        let files = of_row.map(|(_, file, text)| ((*file).to_owned(), (*text).to_owned()));
        row.files.extend(files);
        row
    });
    with_programs.collect()
}

/// The rows of a list.
///
/// # Errors
/// The mistake, and its place.
pub fn read(list: &str) -> Result<Vec<Row>, toml::de::Error> {
    toml::from_str::<List>(list).map(|list| list.row)
}

fn name<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let name = String::deserialize(from)?;
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_.+".contains(letter);
    if name.is_empty() || !name.chars().all(is_plain) {
        return Err(D::Error::custom(format!(
            "found the name `{name}`, expected letters, digits and `-_.+`"
        )));
    }
    Ok(name)
}

fn expression<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Regex>, D::Error> {
    let text = String::deserialize(from)?;
    match Regex::new(&text) {
        Ok(expression) if expression.captures_len() == 2 => Ok(Some(expression)),
        Ok(_) => Err(D::Error::custom(format!(
            "found `{text}`, expected a regular expression with one group around the seconds"
        ))),
        Err(error) => Err(D::Error::custom(error)),
    }
}

fn text<S: serde::Serializer>(expression: &Option<Regex>, to: S) -> Result<S::Ok, S::Error> {
    expression.as_ref().map(Regex::as_str).serialize(to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn own_rows_are_sound_and_differ() {
        let rows = own();
        let names: BTreeSet<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names.len(), rows.len());
        for row in &rows {
            assert!(row.name.len() <= 16, "{}", row.name);
            assert!(
                !row.about.is_empty() && row.about.len() <= 60,
                "{}",
                row.name
            );
            assert!(!row.needs.is_empty(), "{}", row.name);
        }
    }

    #[test]
    fn what_is_missing_is_told_by_its_package() {
        let row = |needs: &str| {
            let list =
                format!("[[row]]\nname = 'a'\nneeds = [{needs}]\ncommand = ''\ncheck = ''\n");
            read(&list).unwrap().remove(0)
        };
        assert_eq!(row("'sh', '/:root'").missing(), None);
        assert_eq!(row("'sh', 'no-such:pack'").missing(), Some("pack"));
        assert_eq!(row("'no-such'").missing(), Some("no-such"));
    }

    #[test]
    fn mistakes_are_refused() {
        for wrong in [
            "",
            "[[row]]\nname = 'a'\ncommand = ''\n",
            "[[row]]\nname = 'a b'\ncommand = ''\ncheck = ''\n",
            "[[row]]\nname = 'a'\ncommand = ''\ncheck = ''\nwall = 'no group'\n",
            "[[row]]\nname = 'a'\ncommand = ''\ncheck = ''\nnedds = []\n",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
