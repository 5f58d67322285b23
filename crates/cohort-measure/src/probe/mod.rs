//! Costs of this machine, measured natively: its own cache, lines of other CPUs, hardware threads of
//! a core, and the kernel's scheduler.
//!
//! Every time is in nanoseconds. Samples of different figures alternate, since virtual CPUs migrate:
//! figures of one run belong together. A difference of two times is taken within a round.

mod chain;
mod crew;
mod kernel;
mod own;
mod pair;
mod smt;

pub use chain::CAN_FLUSH;
pub use kernel::{Kernel, kernel};
pub use own::{Own, own};
pub use pair::{Pair, Sharers, pair, sharers};
pub use smt::{Siblings, siblings};

use crate::interrupt::{Stop, check};
use rustix::thread::{CpuSet, sched_setaffinity};
use serde::Serialize;
use std::time::{Duration, Instant};

/// Summary of a figure's samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Sample {
    /// The median.
    pub median: f64,
    /// The tenth percentile.
    pub low: f64,
    /// The ninetieth percentile.
    pub high: f64,
    /// The number of samples.
    pub count: usize,
}

impl Sample {
    /// Summarises these values; none without values.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Self> {
        let mut sorted: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().checked_sub(1)?;
        let at = |tenth: usize| sorted[(last * tenth + 5) / 10];
        Some(Self {
            median: at(5),
            low: at(1),
            high: at(9),
            count: sorted.len(),
        })
    }

    /// Summarises differences of two times; none if they cannot be told from nothing, since a tenth
    /// of them is not above it.
    #[must_use]
    pub fn of_differences(values: &[f64]) -> Option<Self> {
        Self::of(values).filter(|sample| sample.low > 0.0)
    }

    /// The same in another unit.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        Self {
            median: self.median * factor,
            low: self.low * factor,
            high: self.high * factor,
            ..self
        }
    }
}

/// The length of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Samples of each figure, if time permits.
    pub rounds: usize,
    /// How long rounds may take, after a few of them.
    pub most: Duration,
    /// How long each crowd of threads shares a CPU.
    pub crowd: Duration,
}

impl Effort {
    /// A fraction of a second for each part.
    pub const QUICK: Self = Self {
        rounds: 25,
        most: Duration::from_millis(150),
        crowd: Duration::from_millis(120),
    };
    /// A second for each part, at most.
    pub const FULL: Self = Self {
        rounds: 201,
        most: Duration::from_secs(1),
        crowd: Duration::from_millis(600),
    };

    /// Repeats a round. A disturbed machine gets fewer of them, but not fewer than five.
    ///
    /// # Errors
    /// A signal arrived, or the round failed.
    fn repeat(self, mut round: impl FnMut() -> Result<(), Stop>) -> Result<(), Stop> {
        const LEAST: usize = 5;
        let begun = Instant::now();
        for number in 0..self.rounds {
            check().map_err(Stop::Interrupted)?;
            if number >= LEAST && begun.elapsed() > self.most {
                break;
            }
            round()?;
        }
        Ok(())
    }
}

/// Measures short stretches of code with the system's clock.
#[derive(Clone, Copy, Debug)]
struct Watch {
    /// The nanoseconds of reading the clock.
    itself: f64,
}

impl Watch {
    fn new() -> Self {
        let mut times: Vec<f64> = (0..101)
            .map(|_| {
                let from = Instant::now();
                from.elapsed().as_nanos() as f64
            })
            .collect();
        times.sort_by(f64::total_cmp);
        Self {
            itself: times[times.len() / 2],
        }
    }

    /// The nanoseconds of each of `count` equal parts of `work`.
    #[inline]
    fn each(self, count: usize, work: impl FnOnce()) -> f64 {
        let from = Instant::now();
        work();
        let took = from.elapsed().as_nanos() as f64;
        (took - self.itself).max(0.0) / count as f64
    }
}

/// Pins the calling thread.
///
/// # Errors
/// The kernel refuses.
fn pin(cpu: usize) -> Result<(), Stop> {
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set)
        .map_err(|error| Stop::Failed(format!("cannot pin a thread to CPU {cpu}: {error}")))
}

/// Runs `work` in a thread on that CPU.
///
/// # Errors
/// The thread cannot be pinned, or `work` fails.
fn on<T: Send>(cpu: usize, work: impl FnOnce() -> Result<T, Stop> + Send) -> Result<T, Stop> {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            pin(cpu)?;
            work()
        });
        joined(thread.join())
    })
}

fn joined<T>(joined: std::thread::Result<Result<T, Stop>>) -> Result<T, Stop> {
    joined.unwrap_or_else(|_| Err(Stop::Failed("a measuring thread panicked".to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use cohort_topology::disturb::allowed_cpus;

    #[test]
    fn a_sample_is_a_median_between_two_percentiles() {
        let values: Vec<f64> = (0..=100).rev().map(f64::from).collect();
        let sample = Sample::of(&values).unwrap();
        assert_eq!(
            (sample.median, sample.low, sample.high, sample.count),
            (50.0, 10.0, 90.0, 101)
        );
        let one = Sample::of(&[3.0]).unwrap();
        assert_eq!((one.median, one.low, one.high), (3.0, 3.0, 3.0));
        assert_eq!(Sample::of(&[]), None);
        assert_eq!(Sample::of(&[f64::NAN]), None);
        assert_eq!(sample.times(2.0).high, 180.0);
        assert_eq!(Sample::of_differences(&values).unwrap().median, 50.0);
        let noise: Vec<f64> = (-30..=70).map(f64::from).collect();
        assert_eq!(Sample::of_differences(&noise), None);
    }

    /// What a CPU has in its own cache is nearer than memory, and a hit is no figure of zero.
    #[test]
    fn own_costs_are_in_order() {
        let own = own(allowed_cpus()[0], &[], Effort::QUICK).unwrap();
        assert!(own.load.median > 0.1, "{own:?}");
        assert!(own.rmw.median > own.store.median / 2.0, "{own:?}");
        assert!(own.system_call.median > own.load.median, "{own:?}");
        if let Some(memory) = own.memory {
            assert!(memory.median > own.load.median, "{own:?}");
        }
    }

    #[test]
    fn a_line_of_another_cpu_costs_more_than_an_own_one() {
        let cpus = allowed_cpus();
        let (Some(one), Some(other)) = (cpus.first(), cpus.last()) else {
            return;
        };
        if one == other {
            eprintln!("skip: one CPU has no lines of others");
            return;
        }
        let pair = pair(*one, *other, Effort::QUICK).unwrap();
        let own = own(*one, &[], Effort::QUICK).unwrap();
        assert!(pair.load.median > own.load.median, "{pair:?} {own:?}");
        assert!(pair.rmw.median > own.load.median, "{pair:?} {own:?}");
    }
}
