//! Measured figures beside those of a machine file.

use super::{Measured, What};
use crate::discover::file::pair_within;
use crate::discover::simulated;
use crate::probe::Sample;
use crate::world::simulated::Simulator;
use cohort_machine::description::{Machine, Source};
use std::sync::Arc;

/// The largest deviation of a figure that counts as agreement.
pub const TOLERANCE: f64 = 0.15;

/// A figure here and in a file.
#[derive(Clone, Debug)]
pub struct Row {
    /// The figure.
    pub what: What,
    /// Its name in the file.
    pub name: String,
    /// As measured here.
    pub measured: Sample,
    /// The file's figure; none if the file has no such figure.
    pub file: Option<f64>,
    /// The source of the file's figure; none for a simulated hand-over.
    pub source: Option<Source>,
    /// The step between two values that the file can hold.
    pub step: f64,
}

impl Row {
    /// Measured over the file's; none without one, and for a file's zero.
    #[must_use]
    pub fn ratio(&self) -> Option<f64> {
        let file = self.file.filter(|file| *file > 0.0)?;
        Some(self.measured.median / file)
    }

    /// Whether they agree, or are as near as a file can be; none without a figure of the file.
    #[must_use]
    pub fn agrees(&self) -> Option<bool> {
        let file = self.file?;
        let is_within = self
            .ratio()
            .is_some_and(|ratio| (ratio - 1.0).abs() <= TOLERANCE);
        Some(is_within || (self.measured.median - file).abs() < self.step)
    }
}

/// Compares each measured figure with the file's. The file's hand-overs are simulated.
///
/// # Errors
/// A simulation failed.
pub fn compare(measured: &Measured, machine: &Machine) -> Result<Vec<Row>, String> {
    let simulator = Arc::new(Simulator::new(machine.clone()));
    let rows = measured.figures.iter().map(|(what, sample)| {
        let level = what
            .within()
            .map(|level| counterpart(measured, machine, level));
        let theirs = level.map_or_else(|| what.clone(), |level| what.at(level));
        let (file, source, step) = match &theirs {
            What::HandOver(level) => {
                let pair = pair_within(&simulator, level);
                let time = pair.map(|pair| simulated::one(&simulator, pair));
                (time.transpose()?, None, 0.0)
            }
            _ => {
                let known = theirs.of(machine);
                (
                    known.map(|known| known.value),
                    known.map(|known| known.source),
                    known.map_or(0.0, |known| known.step),
                )
            }
        };
        Ok(Row {
            what: what.clone(),
            name: theirs.name(),
            measured: *sample,
            file,
            source,
            step,
        })
    });
    rows.collect()
}

/// The file's level for a distance of this machine. CPUs under one last-level cache are as near as
/// CPUs of one cache group, whatever part of the machine they are.
fn counterpart<'a>(measured: &'a Measured, machine: &'a Machine, level: &'a str) -> &'a str {
    let is_shared = measured.facts.shared_by(&measured.shape) == Some(level);
    let has = |name: &str| machine.transfers.iter().any(|t| t.within == name);
    if is_shared && has(&machine.cache.shared_by) {
        &machine.cache.shared_by
    } else {
        level
    }
}
