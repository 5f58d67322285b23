//! This machine as the figures of a simulated one: measured ([`here`]), written as a machine file
//! ([`mod@file`]), and compared with one ([`mod@compare`]).

pub mod compare;
pub mod facts;
pub mod file;
mod nearest;
mod what;

pub use facts::Facts;
pub use nearest::nearest;
pub use what::{What, amount};

use crate::discover::native::Bench;
use crate::discover::shape::Shape;
use crate::discover::{self, Stop, cluster};
use crate::interrupt::{Interrupted, check};
use crate::probe::{self, Effort, Sample};
use crate::progress::Progress;
use crate::rounds::Observer;
use crate::world::Topology;
use crate::world::disturb::Watch;
use cohort_machine::description::shipped;
use std::time::{Duration, Instant};

/// Figure that this machine cannot show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The figures.
    pub figure: String,
    /// The reason.
    pub why: String,
}

/// Measured figures of a machine.
#[derive(Debug)]
pub struct Measured {
    /// What the kernel reports.
    pub facts: Facts,
    /// Its CPUs and levels.
    pub shape: Shape,
    /// Levels that a machine file cannot express.
    pub left_out: Vec<String>,
    /// Figures in the order of a file: the clock in MHz, factors as they are, times in nanoseconds.
    pub figures: Vec<(What, Sample)>,
    /// What could not be measured.
    pub missing: Vec<Missing>,
    /// The share of the CPUs' time that other processes used.
    pub foreign: Option<f64>,
    /// The signal that ended the measurement early.
    pub interrupted: Option<Interrupted>,
}

/// Pairs of CPUs for each distance.
const PAIRS: [usize; 2] = [3, 1];

/// CPUs that share a line.
const SHARERS: usize = 15;

/// The number of steps that [`here`] shows.
#[must_use]
pub fn steps(topology: &Topology, quick: bool) -> usize {
    let cpus = topology.cpus().len();
    let levels = topology.levels().len();
    let looks = if is_discovered(cpus, quick) {
        2 * cluster::pairs(cpus)
    } else {
        0
    };
    looks + 4 + levels * PAIRS[usize::from(quick)].min(cpus / 2)
}

/// Whether the levels are measured too. One or two CPUs have none.
const fn is_discovered(cpus: usize, quick: bool) -> bool {
    cpus > 2 && !quick
}

/// Measures the CPUs that this process may use; `quick` takes the kernel's levels, and fewer samples.
/// Blocks.
///
/// # Errors
/// A thread cannot be pinned. After a signal the figures so far are returned.
pub fn here(
    topology: &Topology,
    facts: Facts,
    quick: bool,
    progress: &mut Progress,
) -> Result<Measured, String> {
    let cpus = topology.cpus();
    let mut measured = Measured::new(Shape::told(topology), facts);
    let watch = Watch::start(cpus);
    let begun = Instant::now();
    let ended = if is_discovered(cpus.len(), quick) {
        discover::here(topology, false, progress).map(|discovery| {
            measured.shape = Shape::of(&discovery);
        })
    } else {
        Ok(())
    };
    measured.left_out = measured.shape.even();
    let effort = if quick { Effort::QUICK } else { Effort::FULL };
    let ended = ended.and_then(|()| measured.measure(topology, effort, quick, progress));
    measured.foreign = watch.and_then(|watch| watch.foreign(begun.elapsed(), Duration::ZERO));
    match ended {
        Ok(()) => {}
        Err(Stop::Interrupted(signal)) => measured.interrupted = Some(signal),
        Err(Stop::Failed(why)) => return Err(why),
    }
    measured
        .figures
        .sort_by_key(|(what, _)| measured.shape.rank(what));
    Ok(measured)
}

impl Measured {
    /// A machine without figures.
    #[must_use]
    pub const fn new(shape: Shape, facts: Facts) -> Self {
        Self {
            facts,
            shape,
            left_out: Vec::new(),
            figures: Vec::new(),
            missing: Vec::new(),
            foreign: None,
            interrupted: None,
        }
    }

    /// The sample of a figure.
    #[must_use]
    pub fn sample(&self, what: &What) -> Option<Sample> {
        let found = self.figures.iter().find(|(other, _)| other == what);
        found.map(|(_, sample)| *sample)
    }

    fn add(&mut self, what: What, sample: Option<Sample>) {
        self.figures.extend(sample.map(|sample| (what, sample)));
    }

    fn lacks(&mut self, figure: &str, why: &str) {
        self.missing.push(Missing {
            figure: figure.to_owned(),
            why: why.to_owned(),
        });
    }

    fn measure(
        &mut self,
        topology: &Topology,
        effort: Effort,
        quick: bool,
        progress: &mut Progress,
    ) -> Result<(), Stop> {
        let cpus = self.shape.cpus.clone();
        let first = cpus[0];
        progress.starts(&format!("own costs of CPU {first}"), false);
        let refill: Vec<usize> = self.facts.lines_behind().unwrap_or_default();
        let own = probe::own(first, &refill, effort)?;
        self.own(&own);
        let far = self.shape.pairs(self.shape.levels.len(), 1);
        let other = far.first().map(|(_, other)| cpus[*other]);
        progress.starts("the scheduler", false);
        let kernel = probe::kernel(first, other, &own, effort)?;
        self.kernel(&kernel);
        let mut bench = None;
        for level in 0..=self.shape.levels.len() {
            let pairs = self.shape.pairs(level, PAIRS[usize::from(quick)]);
            let mut found = Vec::new();
            for (one, other) in pairs {
                check().map_err(Stop::Interrupted)?;
                let (one, other) = (cpus[one], cpus[other]);
                progress.starts(&format!("CPUs {one} and {other}"), false);
                let bench = match &bench {
                    Some(bench) => bench,
                    None => bench.insert(Bench::new(topology).map_err(Stop::Failed)?),
                };
                let handed = bench.pair(one, other).map_err(Stop::Failed)?;
                found.push((probe::pair(one, other, effort)?, Sample::of(&handed)));
            }
            let name = self.shape.name(level).to_owned();
            self.pairs(&name, &found);
        }
        self.sharers(effort, progress)?;
        self.siblings(effort, progress)
    }

    fn own(&mut self, own: &probe::Own) {
        // A cycle's time in nanoseconds; the clock in MHz.
        let clock = own.cycle.map(|cycle| Sample {
            median: 1e3 / cycle.median,
            low: 1e3 / cycle.high,
            high: 1e3 / cycle.low,
            count: cycle.count,
        });
        if clock.is_none() {
            self.lacks("clock", "this architecture's cycle is not measured");
        }
        self.add(What::Clock, clock);
        self.add(What::Pause, Some(own.pause));
        self.add(What::Fence, Some(own.fence));
        self.add(What::HitLoad, Some(own.load));
        self.add(What::HitStore, Some(own.store));
        self.add(What::HitRmw, Some(own.rmw));
        if own.memory.is_none() {
            self.lacks("memory", "this architecture's lines cannot be flushed");
        }
        self.add(What::Local, own.memory);
        if own.refill.is_none() {
            self.lacks(
                "cache refill",
                "the kernel reports no private cache with a larger one behind it",
            );
        }
        self.add(What::Refill, own.refill);
        self.add(What::SystemCall, Some(own.system_call));
        self.add(What::YieldAlone, own.yield_alone);
    }

    fn kernel(&mut self, kernel: &probe::Kernel) {
        self.add(What::Switch, kernel.switch);
        self.add(What::Sleep, kernel.sleep);
        self.add(What::Wake, kernel.wake);
        self.add(What::WakeLatency, kernel.wake_latency);
        if let (Some(two), Some(eight)) = (kernel.slice_of_two, kernel.slice_of_eight) {
            self.add(What::Slice, Some(eight));
            // With a whole slice for each thread, their number does not matter.
            let is_whole = eight.median > 0.6 * two.median;
            let factor = if is_whole { 0.0 } else { 2.0 };
            self.add(What::Period, Some(two.times(factor)));
        } else {
            self.lacks(
                "scheduler slice, period",
                "no thread was preempted; repeat without --quick",
            );
        }
        if kernel.switch.is_none() {
            self.lacks(
                "scheduler switch, sleep, yield-alone",
                "other threads always ran on the CPU; repeat on an idle machine",
            );
        }
        if kernel.wake.is_none() {
            self.lacks("scheduler wake, wake-latency", "one CPU wakes no other");
        }
        self.lacks(
            "scheduler migration, balance; costs instruction, store-buffer; occupancy",
            "no measurement shows them alone",
        );
    }

    /// The figures of one distance, as medians over its pairs.
    fn pairs(&mut self, level: &str, found: &[(probe::Pair, Option<Sample>)]) {
        let name = || level.to_owned();
        if found.is_empty() {
            if self.shape.cpus.len() == 1 {
                self.lacks(
                    "transfer, invalidation, hand-over",
                    "one CPU has no other's lines: permit more CPUs (taskset, cpuset)",
                );
            }
            return;
        }
        let pair = |of: fn(&probe::Pair) -> Option<Sample>| {
            middle(found.iter().filter_map(|(pair, _)| of(pair)))
        };
        self.add(
            What::HandOver(name()),
            middle(found.iter().filter_map(|(_, handed)| *handed)),
        );
        self.add(What::Load(name()), pair(|pair| Some(pair.load)));
        self.add(What::Clean(name()), pair(|pair| pair.clean));
        self.add(What::Rmw(name()), pair(|pair| Some(pair.rmw)));
        self.add(What::Invalidate(name()), pair(|pair| Some(pair.invalidate)));
        self.add(What::Shared(name()), pair(|pair| Some(pair.shared)));
        // Within a node, memory is local.
        let nodes = self.shape.levels.iter();
        let mut nodes = nodes.skip_while(|(name, _)| name != "numa").skip(1);
        let is_beyond = nodes.any(|(name, _)| name == level)
            || level == self.shape.name(self.shape.levels.len())
                && self.shape.levels.iter().any(|(name, _)| name == "numa");
        if is_beyond {
            self.add(What::Remote(name()), pair(|pair| pair.memory));
        }
    }

    fn sharers(&mut self, effort: Effort, progress: &mut Progress) -> Result<(), Stop> {
        let cpus = &self.shape.cpus;
        // The farthest first.
        let others: Vec<usize> = cpus[1..].iter().rev().copied().take(SHARERS).collect();
        progress.starts("sharers of a line", false);
        match probe::sharers(cpus[0], &others, effort)? {
            Some(sharers) => self.add(What::Each, Some(sharers.each)),
            None => self.lacks("invalidation each", "it needs three CPUs"),
        }
        Ok(())
    }

    fn siblings(&mut self, effort: Effort, progress: &mut Progress) -> Result<(), Stop> {
        progress.starts("hardware threads", false);
        let core = self.shape.levels.iter().find(|(name, _)| name == "core");
        let Some(core) = core.and_then(|(_, cores)| cores.first()) else {
            return Ok(());
        };
        let core: Vec<usize> = core.iter().map(|place| self.shape.cpus[*place]).collect();
        if let Some(siblings) = probe::siblings(&core, effort)? {
            let polled = siblings.polling.median - 1.0;
            let ran = siblings.running.first().map_or(0.0, |ran| ran.median - 1.0);
            for (others, sample) in siblings.running.into_iter().enumerate() {
                self.add(What::Slowdown(others + 1), Some(sample));
            }
            if ran > 0.0 {
                let share = |of: f64| ((of - 1.0) / ran).clamp(0.0, 1.0);
                self.add(
                    What::Spinning,
                    Some(Sample {
                        median: (polled / ran).clamp(0.0, 1.0),
                        low: share(siblings.polling.low),
                        high: share(siblings.polling.high),
                        count: siblings.polling.count,
                    }),
                );
            }
        }
        Ok(())
    }
}

impl Shape {
    /// The place of a figure in a file.
    fn rank(&self, what: &What) -> (usize, usize) {
        let within = what.within().map_or(0, |within| {
            let found = self.levels.iter().position(|(name, _)| name == within);
            found.unwrap_or(self.levels.len())
        });
        let [before, after] = what.order();
        (before, within * 16 + after)
    }
}

/// The median sample, by medians: pairs of one distance differ on a ring or mesh.
fn middle(samples: impl Iterator<Item = Sample>) -> Option<Sample> {
    let mut samples: Vec<Sample> = samples.collect();
    samples.sort_by(|one, other| one.median.total_cmp(&other.median));
    let sample = *samples.get(samples.len().saturating_sub(1) / 2)?;
    Some(Sample {
        low: samples.iter().map(|one| one.low).fold(sample.low, f64::min),
        high: samples
            .iter()
            .map(|one| one.high)
            .fold(sample.high, f64::max),
        count: samples.iter().map(|one| one.count).sum(),
        ..sample
    })
}

/// The names of the shipped machines.
#[must_use]
pub fn names() -> Vec<&'static str> {
    shipped::all().map(|file| file.name).collect()
}

#[cfg(test)]
mod tests;
