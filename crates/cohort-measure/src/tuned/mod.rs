//! Files that tuning writes and `cohort run` reads, and the shipped ones.

pub mod best;
pub mod file;
pub mod glk;
pub mod origin;
pub mod sanl;
pub mod shape;

use cohort::catalogue;
use cohort::recipe::{Basic, Level};

/// The locks and levels of a composition with both in its name.
#[must_use]
pub fn parts(name: &str) -> Option<(Vec<Basic>, Vec<Level>)> {
    let name = catalogue::read(name).ok()?;
    Some((name.locks()?.to_vec(), name.levels?.to_vec()))
}
