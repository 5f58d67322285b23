//! Suppressions of known findings: `--suppress` reads them, `--suggest` writes them.

use super::finding::{Finding, FindingKind};
use crate::problem::Problem;
use crate::toml_file;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use toml::Spanned;

/// File of suppressions.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    suppress: Vec<Spanned<Suppression>>,
}

/// Suppression.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Suppression {
    kind: FindingKind,
    /// Locks that must all be involved.
    #[serde(default)]
    locks: Vec<String>,
    /// Functions that must all be involved.
    #[serde(default)]
    functions: Vec<String>,
    /// The reason, for readers of the file.
    #[serde(rename = "because")]
    _because: Option<String>,
}

/// Suppressions, with the number of matches of each.
#[derive(Debug, Default)]
pub struct Suppressions {
    entries: Vec<(Suppression, String, usize)>,
}

impl Suppressions {
    /// Reads a file of suppressions.
    ///
    /// # Errors
    /// The place of a mistake in the file, its text and the alternatives.
    pub fn read(file: &Path) -> Result<Self, Problem> {
        let text = toml_file::text(file)?;
        Self::parse(&text, file)
    }

    fn parse(text: &str, file: &Path) -> Result<Self, Problem> {
        let read: File =
            toml::from_str(text).map_err(|error| toml_file::misread(&error, text, file))?;
        let place = |start: usize| {
            let line = text[..start.min(text.len())].matches('\n').count() + 1;
            format!("{}:{line}", file.display())
        };
        let entries = read.suppress.into_iter().map(|entry| {
            let place = place(entry.span().start);
            (entry.into_inner(), place, 0)
        });
        Ok(Self {
            entries: entries.collect(),
        })
    }

    /// Whether a finding is suppressed.
    pub fn cover(&mut self, finding: &Finding) -> bool {
        let mut covered = false;
        for (entry, _, matched) in &mut self.entries {
            if entry.covers(finding) {
                *matched += 1;
                covered = true;
            }
        }
        covered
    }

    /// Places of entries without a match.
    pub fn unused(&self) -> impl Iterator<Item = &str> {
        let unused = self.entries.iter().filter(|(_, _, matched)| *matched == 0);
        unused.map(|(_, place, _)| place.as_str())
    }
}

impl Suppression {
    fn covers(&self, finding: &Finding) -> bool {
        let functions = functions(finding, usize::MAX);
        self.kind == finding.kind
            && self.locks.iter().all(|lock| finding.locks.contains(lock))
            && self
                .functions
                .iter()
                .all(|function| functions.contains(function.as_str()))
    }
}

/// The functions of a finding's stacks, the innermost `of_each` of each.
fn functions(finding: &Finding, of_each: usize) -> BTreeSet<&str> {
    let stacks = finding.parts.iter().map(|part| &part.stack.frames);
    let frames = stacks.flat_map(|frames| frames.iter().take(of_each));
    frames
        .filter_map(|frame| frame.function.as_deref())
        .collect()
}

/// Suppressions of these findings, each once, for the user to choose from.
pub fn suggested(findings: &[Finding]) -> String {
    let mut text = String::from(
        "# Findings of `cohort debug`. Keep the harmless ones with a reason, and pass this file\n\
         # to --suppress.\n",
    );
    let mut written = BTreeSet::new();
    // The end of a stuck program is not a separate finding.
    for finding in findings.iter().filter(|one| one.kind != FindingKind::Ended) {
        let list = |names: Vec<&str>| toml::Value::from(names).to_string();
        let mut entry = format!(
            "[[suppress]]\nkind = {}\n",
            toml::Value::from(finding.kind.name())
        );
        let named = finding.locks.iter().map(String::as_str);
        // Addresses change in the next run.
        let named: Vec<&str> = named.filter(|name| !name.starts_with("0x")).collect();
        if !named.is_empty() {
            let _ = writeln!(entry, "locks = {}", list(named));
        }
        let innermost = functions(finding, 1);
        if !innermost.is_empty() {
            let _ = writeln!(
                entry,
                "functions = {}",
                list(innermost.into_iter().collect())
            );
        }
        if written.insert(entry.clone()) {
            let _ = write!(text, "\n# {}\n{entry}", finding.says);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::finding::Part;
    use super::*;
    use crate::observe::stacks::{Frame, Stack};

    fn finding(kind: FindingKind, locks: &[&str], functions: &[&str]) -> Finding {
        let frame = |function: &&str| Frame {
            function: Some((*function).to_owned()),
            ..Frame::default()
        };
        Finding {
            kind,
            process: 1,
            says: "something".to_owned(),
            locks: locks.iter().map(|lock| (*lock).to_owned()).collect(),
            parts: vec![Part::new(
                7,
                "does this",
                Stack {
                    frames: functions.iter().map(frame).collect(),
                    is_cut: false,
                },
            )],
        }
    }

    #[test]
    fn what_is_suggested_covers_what_was_found_and_nothing_else() {
        let found = [
            finding(
                FindingKind::Order,
                &["accounts", "journal"],
                &["transfer", "main"],
            ),
            finding(FindingKind::LockTwice, &["0x7f00"], &["append", "main"]),
        ];
        let text = suggested(&found);
        let mut read = Suppressions::parse(&text, Path::new("s.toml")).expect("it can be read");
        assert!(found.iter().all(|finding| read.cover(finding)));
        assert_eq!(read.unused().count(), 0);
        for other in [
            finding(
                FindingKind::Deadlock,
                &["accounts", "journal"],
                &["transfer"],
            ),
            finding(FindingKind::Order, &["accounts", "ledger"], &["transfer"]),
            finding(FindingKind::Order, &["accounts", "journal"], &["audit"]),
            finding(FindingKind::LockTwice, &["0x7f00"], &["main"]),
        ] {
            assert!(!read.cover(&other), "{other:?}");
        }
    }

    #[test]
    fn what_is_found_twice_is_suggested_once() {
        let one = || finding(FindingKind::UnlockFree, &["counter"], &["main"]);
        let text = suggested(&[one(), one()]);
        assert_eq!(text.matches("[[suppress]]").count(), 1);
    }

    #[test]
    fn complaints_say_where_and_unused_entries_too() {
        let complaint = |text: &str| {
            Suppressions::parse(text, Path::new("s.toml"))
                .unwrap_err()
                .to_string()
        };
        let message = complaint("[[suppress]]\nkind = \"ordre\"\n");
        assert!(message.starts_with("s.toml:2:8: "), "{message}");
        assert!(message.contains("`order`"), "{message}");
        let message = complaint("[[suppress]]\nkind = \"order\"\nlock = \"a\"\n");
        assert!(message.starts_with("s.toml:3:1: "), "{message}");
        let text = "\n[[suppress]]\nkind = \"order\"\n";
        let read = Suppressions::parse(text, Path::new("s.toml")).unwrap();
        let unused: Vec<&str> = read.unused().collect();
        assert_eq!(unused, ["s.toml:2"]);
    }
}
