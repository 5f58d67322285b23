//! Which model noticed each flaw when that was last written down.
//!
//! It looks for the flaw first, so that the quick tier spends its time where something is found.
//! Nothing else depends on it: a line that is wrong costs time.  `COHORT_WRITE=1 cargo test -p
//! cohort-on-loom` writes the lines of the flaws that it tries anew.

use super::models::find;
use super::mutants;
use std::collections::BTreeMap;
use std::io;
use std::sync::{LazyLock, Mutex, PoisonError};

/// Asks that the lines are written.
const WRITE: &str = "COHORT_WRITE";

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/runner/noticed.txt");

/// The models, by flaw.
static WRITTEN: LazyLock<BTreeMap<&str, &str>> = LazyLock::new(|| {
    let lines = include_str!("noticed.txt").lines();
    lines.filter_map(|line| line.split_once(' ')).collect()
});

/// What is new.
static NEW: Mutex<BTreeMap<String, &str>> = Mutex::new(BTreeMap::new());

/// The name of the model that noticed a flaw.
pub fn by(flaw: &str) -> Option<&'static str> {
    WRITTEN.get(flaw).copied()
}

/// Says that a model has noticed a flaw.
pub fn note(flaw: &str, model: &'static str) {
    let mut new = NEW.lock().unwrap_or_else(PoisonError::into_inner);
    new.insert(flaw.to_owned(), model);
}

/// Writes the lines anew, if that is asked for.
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
