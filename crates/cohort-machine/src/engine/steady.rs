//! When a throughput is known well enough.

use super::clock::{NEVER, Ticks};

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// Its threads returned.
    Returned,
    /// The lock went to another cohort of the largest level 30 times.
    Hands,
    /// The 95 % confidence interval of the throughput is under 2 % on either side.
    Steady,
    /// The longest time allowed was over first.
    Longest,
}

/// On either side, as a share of the throughput.
const NARROW: f64 = 0.02;

/// Batches at first; twice as many are joined in pairs, so that batches become long
/// against whatever correlation the throughput has.
const BATCHES: usize = 32;

/// The throughput in batches of equal virtual time.
#[derive(Debug)]
pub(crate) struct Batches {
    length: Ticks,
    next: Ticks,
    /// The count when the present batch began.
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

    /// When the present batch ends.
    pub(crate) const fn due(&self) -> Ticks {
        self.next
    }

    /// Time has come that far, and the count.
    pub(crate) fn reach(&mut self, at: Ticks, count: u64) {
        // A batch in which no event came is empty; what came late belongs to the
        // first.
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
        // Student's t for 15 degrees of freedom and more is at most 2.13.
        (mean > 0.0).then(|| 2.13 * deviation / count.sqrt() / mean)
    }

    pub(crate) fn is_steady(&self) -> bool {
        self.interval().is_some_and(|interval| interval < NARROW)
    }
}
