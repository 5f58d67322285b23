//! Completed rows, saved in a file, so that an interrupted run can resume.
//!
//! The first line names the rows' dependencies: the build of the command and the seeds. Each
//! further line is a row. A file of another build is replaced, and a truncated last line is run
//! again.

use super::judge::{Judged, JudgedEnd, JudgedPart, Verdict};
use super::{Claim, find};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

/// Rows and their file.
#[derive(Debug, Default)]
pub struct Kept {
    file: Option<PathBuf>,
    key: String,
    rows: Vec<Judged>,
}

/// Saved row.
#[derive(Deserialize, Serialize)]
struct Row {
    id: String,
    verdict: Verdict,
    agreeing: usize,
    seeds: usize,
    missing: Option<String>,
    parts: Vec<JudgedPart>,
    #[serde(default)]
    ends: Vec<JudgedEnd>,
    #[serde(default)]
    counterfactuals: Vec<JudgedPart>,
    #[serde(default)]
    curves: Vec<Option<String>>,
    #[serde(default)]
    took: Duration,
}

impl Kept {
    /// Rows without a file.
    #[must_use]
    pub fn nowhere() -> Self {
        Self::default()
    }

    /// The saved rows in that file that depend on `key`; none if it cannot be read.
    #[must_use]
    pub fn open(file: PathBuf, key: String) -> Self {
        let text = fs::read_to_string(&file).unwrap_or_default();
        let mut lines = text.lines();
        let is_ours = lines.next() == Some(key.as_str());
        let rows = lines.filter(|_| is_ours).filter_map(read).collect();
        Self {
            file: Some(file),
            key,
            rows,
        }
    }

    /// The number of rows.
    #[must_use]
    pub fn count(&self) -> usize {
        self.rows.len()
    }

    /// The row of that claim, if saved.
    #[must_use]
    pub fn find(&self, claim: &Claim) -> Option<&Judged> {
        self.rows.iter().find(|row| row.id == claim.id)
    }

    /// Saves a completed row. Without a writable file, the run continues and saves nothing.
    pub fn keep(&mut self, row: &Judged) {
        let is_first = self.rows.is_empty();
        self.rows.push(row.clone());
        if let Some(file) = self.file.take()
            && self.append(&file, row, is_first).is_ok()
        {
            self.file = Some(file);
        }
    }

    fn append(&self, file: &PathBuf, row: &Judged, is_first: bool) -> io::Result<()> {
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut open = File::options();
        open.write(true).create(true);
        let mut to = if is_first {
            let mut to = open.truncate(true).open(file)?;
            writeln!(to, "{}", self.key)?;
            to
        } else {
            open.append(true).open(file)?
        };
        writeln!(to, "{}", serde_json::to_string(&Row::of(row))?)
    }

    /// Drops these rows after they have been reported.
    pub fn forget(mut self, claims: &[&'static Claim]) {
        self.rows
            .retain(|row| claims.iter().all(|claim| claim.id != row.id));
        let Some(file) = self.file.take() else { return };
        if self.rows.is_empty() {
            let _ = fs::remove_file(file);
            return;
        }
        for (number, row) in self.rows.iter().enumerate() {
            if self.append(&file, row, number == 0).is_err() {
                return;
            }
        }
    }
}

fn read(line: &str) -> Option<Judged> {
    judged(serde_json::from_str(line).ok()?)
}

/// A claim of a document of `cohort reproduce --json`.
///
/// # Errors
/// It is none, or of another version.
pub fn of_document(claim: &serde_json::Value) -> Result<Judged, String> {
    let row = Row::deserialize(claim).map_err(|error| error.to_string())?;
    let id = row.id.clone();
    judged(row).ok_or_else(|| format!("no claim `{id}`"))
}

fn judged(row: Row) -> Option<Judged> {
    let claim = find(&row.id)?;
    let mut parts = row.parts;
    for (part, curves) in parts.iter_mut().zip(row.curves) {
        part.curves = curves;
    }
    Some(Judged {
        id: claim.id,
        source: claim.source,
        claim: claim.says,
        verdict: row.verdict,
        agreeing: row.agreeing,
        seeds: row.seeds,
        missing: row.missing,
        parts,
        ends: row.ends,
        counterfactuals: row.counterfactuals,
        took: row.took,
    })
}

impl Row {
    fn of(row: &Judged) -> Self {
        Self {
            id: row.id.to_owned(),
            verdict: row.verdict,
            agreeing: row.agreeing,
            seeds: row.seeds,
            missing: row.missing.clone(),
            parts: row.parts.clone(),
            ends: row.ends.clone(),
            counterfactuals: row.counterfactuals.clone(),
            curves: row.parts.iter().map(|part| part.curves.clone()).collect(),
            took: row.took,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::CLAIMS;
    use super::*;

    fn row(claim: &'static Claim) -> Judged {
        Judged {
            id: claim.id,
            source: claim.source,
            claim: claim.says,
            verdict: Verdict::Disagrees,
            agreeing: 1,
            seeds: 5,
            missing: None,
            parts: Vec::new(),
            ends: Vec::new(),
            counterfactuals: Vec::new(),
            took: Duration::from_millis(3),
        }
    }

    fn open(file: &std::path::Path, key: &str) -> Kept {
        Kept::open(file.to_owned(), key.to_owned())
    }

    #[test]
    fn finished_rows_are_there_again_for_the_same_build_and_seeds_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("new/rows");
        let mut kept = open(&file, "one");
        assert_eq!(kept.count(), 0);
        kept.keep(&row(&CLAIMS[0]));
        kept.keep(&row(&CLAIMS[1]));
        let again = open(&file, "one");
        let found = again.find(&CLAIMS[1]).unwrap();
        assert_eq!((again.count(), found.agreeing), (2, 1));
        assert_eq!(open(&file, "two").count(), 0);
        // Another build starts afresh.
        open(&file, "two").keep(&row(&CLAIMS[2]));
        assert_eq!(open(&file, "one").count(), 0);
        assert_eq!(open(&file, "two").count(), 1);
    }

    #[test]
    fn a_row_that_was_cut_off_is_run_again() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("rows");
        let mut kept = open(&file, "one");
        kept.keep(&row(&CLAIMS[0]));
        kept.keep(&row(&CLAIMS[1]));
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, &text[..text.len() - 9]).unwrap();
        let again = open(&file, "one");
        assert!(again.find(&CLAIMS[0]).is_some() && again.find(&CLAIMS[1]).is_none());
    }

    #[test]
    fn reported_rows_are_dropped_and_others_stay() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("rows");
        let mut kept = open(&file, "one");
        kept.keep(&row(&CLAIMS[0]));
        kept.keep(&row(&CLAIMS[1]));
        kept.forget(&[&CLAIMS[0]]);
        let again = open(&file, "one");
        assert!(again.find(&CLAIMS[0]).is_none() && again.find(&CLAIMS[1]).is_some());
        again.forget(&[&CLAIMS[1]]);
        assert!(!file.exists());
    }
}
