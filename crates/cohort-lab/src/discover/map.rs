//! Measured distances of CPUs.

use std::collections::HashMap;

/// Two CPUs by their indices in the list of CPUs.
pub type Pair = (usize, usize);

/// The time of a hand-over between CPUs, in nanoseconds, pair by pair.
#[derive(Clone, Debug)]
pub struct Map {
    cpus: usize,
    known: HashMap<Pair, Vec<f64>>,
}

impl Map {
    /// An empty map of that many CPUs.
    #[must_use]
    pub fn new(cpus: usize) -> Self {
        Self {
            cpus,
            known: HashMap::new(),
        }
    }

    /// The number of CPUs.
    #[must_use]
    pub const fn cpus(&self) -> usize {
        self.cpus
    }

    /// The number of requested pairs.
    #[must_use]
    pub fn pairs(&self) -> usize {
        self.known.len()
    }

    /// Adds the result for a pair; none if not measurable.
    pub fn add(&mut self, pair: Pair, nanoseconds: Option<f64>) {
        let of = self.known.entry(ordered(pair)).or_default();
        of.extend(nanoseconds.filter(|value| value.is_finite() && *value > 0.0));
    }

    /// Whether the pair was requested.
    #[must_use]
    pub fn knows(&self, pair: Pair) -> bool {
        self.known.contains_key(&ordered(pair))
    }

    /// The median of a pair's measurements; none for equal CPUs, which have no hand-over, and for
    /// an unmeasured pair.
    #[must_use]
    pub fn get(&self, pair: Pair) -> Option<f64> {
        median(self.known.get(&ordered(pair))?)
    }

    /// The number of a pair's measurements.
    #[must_use]
    pub fn times(&self, pair: Pair) -> usize {
        self.known.get(&ordered(pair)).map_or(0, Vec::len)
    }

    /// The measurements of pairs in both maps.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        for (pair, values) in &other.known {
            self.known.entry(*pair).or_default().extend(values);
        }
        self
    }
}

const fn ordered((one, other): Pair) -> Pair {
    if one < other {
        (one, other)
    } else {
        (other, one)
    }
}

/// The lower median: a measured time.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len().saturating_sub(1) / 2).copied()
}
