//! The end of a run by the precision of its throughput.

use super::clock::{NEVER, Ticks};

/// The cause of a run's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// All threads returned.
    Returned,
    /// The lock went to another cohort of the largest level 30 times.
    Hands,
    /// The 95 % confidence interval of the throughput is under 2 % on either side.
    Steady,
    /// The maximal time was over first.
    Longest,
}

/// The half width, relative to the throughput.
const NARROW: f64 = 0.02;

/// The initial number of batches. At twice as many, they are joined in pairs, so that batches
/// become longer than the throughput's correlation.
const BATCHES: usize = 32;

/// The throughput in batches of equal virtual time.
#[derive(Debug)]
pub(crate) struct Batches {
    length: Ticks,
    next: Ticks,
    /// The count at the begin of the present batch.
    before: u64,
    counts: Vec<u64>,
}

impl Batches {
    pub(crate) const fn new(least: Ticks) -> Self {
        let length = if least == NEVER {
            NEVER
        } else {
            least / BATCHES as u64 + 1
        };
        Self {
            length,
            next: NEVER,
            before: 0,
            counts: Vec::new(),
        }
    }

    pub(crate) const fn begin(&mut self, at: Ticks) {
        self.next = at.saturating_add(self.length);
    }

    /// The end of the present batch.
    pub(crate) const fn due(&self) -> Ticks {
        self.next
    }

    /// Advances to time `at`, with the count so far.
    pub(crate) fn reach(&mut self, at: Ticks, count: u64) {
        // A batch without events is empty; a late count belongs to the first batch.
        while at >= self.next {
            self.counts.push(count - self.before);
            self.before = count;
            self.next = self.next.saturating_add(self.length);
            if self.counts.len() == 2 * BATCHES {
                self.counts = self
                    .counts
                    .chunks(2)
                    .map(|pair| pair.iter().sum())
                    .collect();
                self.next = self.next.saturating_add(self.length);
                self.length *= 2;
            }
        }
    }

    pub(crate) fn interval(&self) -> Option<f64> {
        if self.counts.len() < BATCHES / 2 {
            return None;
        }
        let count = self.counts.len() as f64;
        let mean = self.counts.iter().sum::<u64>() as f64 / count;
        let squares: f64 = self
            .counts
            .iter()
            .map(|batch| (*batch as f64 - mean).powi(2))
            .sum();
        let deviation = (squares / (count - 1.0)).sqrt();
        // Student's t for 15 and more degrees of freedom is at most 2.13.
        (mean > 0.0).then(|| 2.13 * deviation / count.sqrt() / mean)
    }

    pub(crate) fn is_steady(&self) -> bool {
        self.interval().is_some_and(|interval| interval < NARROW)
    }
}
