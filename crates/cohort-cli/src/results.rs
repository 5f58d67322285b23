//! The latest results of long commands, kept for `cohort report`: one document for each program or claim.

use crate::library;
use crate::page::{self, Origin};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The folder of kept results; none without a home.
fn folder() -> Option<PathBuf> {
    library::cache_folder().map(|cache| cache.join("results"))
}

/// Keeps a result as a document with one row. A folder that cannot be written keeps none.
pub fn keep(command: &str, name: &str, list: &str, row: &impl Serialize, origin: Origin) {
    let Some(folder) = folder() else { return };
    let body = BTreeMap::from([(list, [row])]);
    let Ok(text) = page::json(origin, &body) else {
        return;
    };
    let _ = put(&folder, &format!("{command}-{name}.json"), &text);
}

/// Writes a file as a whole.
fn put(folder: &Path, name: &str, text: &str) -> std::io::Result<()> {
    fs::create_dir_all(folder)?;
    let beside = tempfile::NamedTempFile::with_prefix_in(".", folder)?;
    fs::write(beside.path(), text)?;
    beside
        .persist(folder.join(name))
        .map_err(|error| error.error)?;
    Ok(())
}

/// The kept documents' files, oldest first.
#[must_use]
pub fn kept() -> Vec<PathBuf> {
    let entries = folder().and_then(|folder| fs::read_dir(folder).ok());
    let mut files: Vec<(std::time::SystemTime, PathBuf)> = entries
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let path = entry.path();
            let is_document = path
                .extension()
                .is_some_and(|extension| extension == "json");
            let modified = entry.metadata().ok()?.modified().ok()?;
            is_document.then_some((modified, path))
        })
        .collect();
    files.sort();
    files.into_iter().map(|(_, path)| path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_as_a_whole() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("results");
        for text in ["a longer text", "short"] {
            put(&inner, "study-x.json", text).unwrap();
        }
        let names: Vec<_> = fs::read_dir(&inner).unwrap().collect();
        assert_eq!(names.len(), 1);
        assert_eq!(
            fs::read_to_string(inner.join("study-x.json")).unwrap(),
            "short"
        );
    }
}
