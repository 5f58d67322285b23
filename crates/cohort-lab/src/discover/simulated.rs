//! Hand-overs on a simulated machine: `pingpong` without a lock on two CPUs.

use super::Stop;
use super::map::Pair;
use crate::bench::{self, Knobs, Setting};
use crate::interrupt;
use crate::rounds::Observer;
use crate::world::NO_LOCK;
use crate::world::simulated::{Settings, Simulator};
use crate::world::{Placement, Tunings, Wait};
use cohort_machine::Length;
use rayon::prelude::*;
use std::sync::Arc;

/// Virtual nanoseconds of a pair, after a tenth of it: two dozen hand-overs over the greatest
/// distances.
const LONG: u64 = 20_000;

/// Measures pairs of CPUs, several at a time. A simulated hand-over always takes the same time, so
/// once is enough. Blocks.
///
/// # Errors
/// A run failed, or a signal arrived.
pub fn measure(
    simulator: &Arc<Simulator>,
    pairs: &[Pair],
    progress: &mut dyn Observer,
) -> Result<Vec<Option<f64>>, Stop> {
    progress.starts(&format!("{} pairs", pairs.len()), false);
    pairs
        .par_iter()
        .map(|pair| {
            interrupt::check().map_err(Stop::Interrupted)?;
            one(simulator, *pair).map(Some).map_err(Stop::Failed)
        })
        .collect()
}

/// The nanoseconds of a hand-over between two CPUs.
pub(crate) fn one(simulator: &Arc<Simulator>, (one, other): Pair) -> Result<f64, String> {
    let info = bench::find("pingpong").ok_or("no pingpong workload")?;
    let cpus = simulator.topology().cpus();
    let setting = Setting {
        lock: NO_LOCK.to_owned(),
        threads: 2,
        knobs: Knobs::NONE.over(info)?,
        seed: 1,
    };
    let world = simulator.world(Settings {
        length: Length {
            warm_up: LONG / 10,
            least: LONG,
            most: LONG,
            ..Length::default()
        },
        placement: Placement::Compact,
        cpus: Some(vec![cpus[one], cpus[other]]),
        wait: Wait::Busy,
        background: 0,
        served: false,
        tunings: Tunings::USUAL,
        seed: setting.seed,
        cohorts: Vec::new(),
    });
    let outcome = bench::run(info, world, &setting)?;
    if outcome.per_second > 0.0 {
        Ok(1e9 / outcome.per_second)
    } else {
        Err(format!(
            "no hand-over between CPUs {} and {}",
            cpus[one], cpus[other]
        ))
    }
}
