//! The model that last found each fault, as recorded.
//!
//! That model searches for the fault first, so the quick tier starts with the promising models. A
//! wrong record costs time only. `COHORT_WRITE=1 cargo test -p cohort-on-loom` updates the records of
//! the faults that it tests.

use super::models::find;
use super::mutants;
use std::collections::BTreeMap;
use std::io;
use std::sync::{LazyLock, Mutex, PoisonError};

/// The environment variable that requests an update.
const WRITE: &str = "COHORT_WRITE";

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/runner/noticed.txt");

/// The recorded models, by fault.
static WRITTEN: LazyLock<BTreeMap<&str, &str>> = LazyLock::new(|| {
    let lines = include_str!("noticed.txt").lines();
    lines.filter_map(|line| line.split_once(' ')).collect()
});

/// New records.
static NEW: Mutex<BTreeMap<String, &str>> = Mutex::new(BTreeMap::new());

/// The recorded model for a fault.
pub fn by(flaw: &str) -> Option<&'static str> {
    WRITTEN.get(flaw).copied()
}

/// Records that a model has found a fault.
pub fn note(flaw: &str, model: &'static str) {
    let mut new = NEW.lock().unwrap_or_else(PoisonError::into_inner);
    new.insert(flaw.to_owned(), model);
}

/// Writes the records if requested.
///
/// # Errors
/// The file cannot be written.
pub fn write() -> io::Result<()> {
    if std::env::var_os(WRITE).is_none() {
        return Ok(());
    }
    let new = NEW.lock().unwrap_or_else(PoisonError::into_inner);
    let lines = mutants::flaws().into_iter().filter_map(|(_, flaw)| {
        let model = new.get(&flaw).copied().or_else(|| by(&flaw))?;
        find(model).map(|model| format!("{flaw} {}\n", model.name))
    });
    let mut lines: Vec<String> = lines.collect();
    lines.sort();
    std::fs::write(FILE, lines.concat())
}
