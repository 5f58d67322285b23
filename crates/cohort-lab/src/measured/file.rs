//! The machine file of this machine: measured figures, and those of a similar machine elsewhere.

use super::{Measured, What};
use crate::discover::counted;
use crate::discover::file::scale;
use cohort_machine::description::{Figure, Machine, Source, synthetic};
use std::fmt::Write;

/// The text of a file called `name`; unmeasured figures are estimates from `like`.
///
/// # Errors
/// `name` is no name, or `like` has no such figures.
pub fn text(measured: &Measured, name: &str, like: &Machine) -> Result<String, String> {
    let shape = &measured.shape;
    let notation = shape.notation();
    // Every pair of CPUs has a measured transfer.
    let mut apart = like.clone();
    "pu".clone_into(&mut apart.cache.private_to);
    let base = synthetic(&notation, &apart, name)?;
    let mut machine =
        Machine::parse(&base).map_err(|complaint| format!("{notation}: {complaint}"))?;
    machine.about = format!("{}, {}", measured.facts.model, counted(shape.cpus.len()));
    "written by cohort machines measure".clone_into(&mut machine.described);
    machine.hierarchy = machine.hierarchy.numbered(shape.numbering())?;
    measured.facts.apply(&mut machine, shape);
    let guessed: Vec<u64> = machine.transfers.iter().map(|t| t.load.value).collect();
    // Cycles depend on the clock, which is first.
    for (what, sample) in &measured.figures {
        what.put(&mut machine, *sample);
    }
    for (transfer, guessed) in machine.transfers.iter_mut().zip(guessed) {
        if transfer.load.source == Source::Measured {
            let share = transfer.load.value as f64 / guessed.max(1) as f64;
            scale(&mut transfer.occupancy, share);
            // The store buffer hides a store's time.
            transfer.store = Figure {
                value: transfer.rmw.value,
                range: None,
                source: Source::Estimate,
                note: "as the measured rmw".to_owned(),
            };
        }
    }
    let body = machine.to_toml().map_err(|error| error.to_string())?;
    let text = format!("{}{body}", head(measured, like));
    match Machine::parse(&text) {
        Ok(_) => Ok(text),
        Err(complaint) => Err(format!("the file would be wrong at {complaint}")),
    }
}

/// Remarks above the file.
fn head(measured: &Measured, like: &Machine) -> String {
    let mut head = String::new();
    let _ = writeln!(
        head,
        "# Measured figures have the source `measured`; the others are estimates from {} ({}).",
        like.name, like.fingerprint
    );
    let shape = &measured.shape;
    if shape.cpus.iter().enumerate().any(|(at, cpu)| at != *cpu) {
        let last = shape.cpus.len() - 1;
        let list = cohort_topology::list(&shape.cpus);
        let _ = writeln!(head, "# CPUs 0 to {last} are the machine's CPUs {list}.");
    }
    for level in &measured.left_out {
        let _ = writeln!(
            head,
            "# The level `{level}` is left out: its cohorts differ in size."
        );
    }
    for (what, sample) in &measured.figures {
        if matches!(what, What::HandOver(_) | What::Shared(_)) {
            let figure = super::what::text(*sample, what.unit());
            let _ = writeln!(head, "# {}, {figure}; {}.", what.name(), what.how());
        }
    }
    for missing in &measured.missing {
        let _ = writeln!(
            head,
            "# Not measured: {} ({}).",
            missing.figure, missing.why
        );
    }
    if measured.interrupted.is_some() {
        head += "# The measurement was interrupted: further figures are missing.\n";
    }
    head
}
