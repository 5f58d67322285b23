//! A machine file for the discovered machine: its shape and hand-overs as measured, everything else
//! as on another machine.

use super::map::Pair;
use super::shape::Shape;
use super::{Discovery, Found, simulated};
use crate::world::simulated::Simulator;
use cohort_machine::description::{Cycles, Figure, Machine, Source, Transfer, synthetic};
use std::sync::Arc;

/// The load's share of a hand-over; the rest is the invalidation. The ten files were calibrated so.
const LOAD: f64 = 0.6;

/// The remark on unmeasured figures.
const SCALED: &str = ", scaled with the load";

/// Number of corrections of costs by simulations of the file.
const ROUNDS: usize = 3;

/// The text of a file called `name`, with the figures of `like` for unmeasured values.
///
/// # Errors
/// The shape is uneven, which files cannot describe, or `like` has no such figures.
pub fn text(discovery: &Discovery, name: &str, like: &Machine) -> Result<String, String> {
    let count = discovery.cpus.len();
    let shape = Shape::of(discovery);
    if let Some(level) = shape.uneven() {
        return Err(format!(
            "the cohorts of the level `{level}` differ in size, which a machine file cannot express; \
             use -o for a cohort file"
        ));
    }
    let notation = shape.notation();
    let text = synthetic(&notation, like, name)?;
    let mut machine =
        Machine::parse(&text).map_err(|complaint| format!("{notation}: {complaint}"))?;
    machine.about = format!(
        "{count} CPUs, with the shape and hand-overs of {}",
        discovery.on
    );
    machine.described = "written by cohort discover".to_owned();
    machine.hierarchy = machine.hierarchy.numbered(shape.numbering())?;
    for _ in 0..ROUNDS {
        let simulator = Arc::new(Simulator::new(machine.clone()));
        for transfer in &mut machine.transfers {
            let level = discovery
                .levels
                .iter()
                .find(|l| l.label() == transfer.within);
            let wanted = level.map_or(discovery.system, |level| level.nanoseconds);
            let pair = pair_within(&simulator, &transfer.within);
            if let (Some(wanted), Some(pair)) = (wanted, pair) {
                let more = wanted - simulated::one(&simulator, pair)?;
                settle(
                    transfer,
                    wanted,
                    more * simulator.machine().clock.value as f64 / 1e3,
                    discovery,
                );
            }
        }
    }
    machine.to_toml().map_err(|error| error.to_string())
}

/// The indices of two CPUs with the smallest common cohort at that level.
pub(crate) fn pair_within(simulator: &Simulator, level: &str) -> Option<Pair> {
    let topology = simulator.topology();
    let level = topology.levels().iter().position(|l| l.name == level)?;
    let cpus = topology.cpus();
    let other = |other: &usize| topology.nearest_common(cpus[0], cpus[*other]) == Some(level);
    (1..cpus.len()).find(other).map(|other| (0, other))
}

/// Lets a hand-over take `more` cycles than by the file; all costs keep their proportions to
/// the load.
fn settle(transfer: &mut Transfer, nanoseconds: f64, more: f64, discovery: &Discovery) {
    let cycles = (transfer.load.value + transfer.invalidate.value) as f64 + more;
    let load = (LOAD * cycles).max(1.0);
    let share = load / transfer.load.value.max(1) as f64;
    let source = if discovery.simulated {
        Source::Estimate
    } else {
        Source::Measured
    };
    let note = format!(
        "a hand-over of {nanoseconds:.1} ns on {}, of which the load is 3/5",
        discovery.on
    );
    let put = |figure: &mut Figure<Cycles>, value: f64| {
        figure.value = value.round().max(0.0) as u64;
        figure.range = None;
        figure.source = source;
        figure.note.clone_from(&note);
    };
    put(&mut transfer.load, load);
    put(&mut transfer.invalidate, (1.0 - LOAD) * cycles);
    scale(&mut transfer.store, share);
    scale(&mut transfer.rmw, share);
    scale(&mut transfer.occupancy, share);
}

/// Changes a figure that was not measured as the load.
pub(crate) fn scale(figure: &mut Figure<Cycles>, share: f64) {
    let scaled = |value: u64| (value as f64 * share).round() as u64;
    let range = figure.range.map(|ends| ends.map(scaled));
    figure.range = range.filter(|[least, most]| least < most);
    figure.value = scaled(figure.value);
    if !figure.note.ends_with(SCALED) {
        figure.note += SCALED;
    }
}

impl Found {
    /// Its name; a fifth level's is that of what is larger than a package.
    #[must_use]
    pub fn label(&self) -> &'static str {
        self.name.map_or("blade", |level| level.name())
    }
}
