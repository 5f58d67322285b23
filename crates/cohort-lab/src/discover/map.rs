//! How far CPUs are from each other, as far as that was measured.

use std::collections::HashMap;

/// Two CPUs by their places in the list of those that are looked at.
pub type Pair = (usize, usize);

/// The time of a hand-over between CPUs, in nanoseconds, pair by pair.
#[derive(Clone, Debug)]
pub struct Map {
    cpus: usize,
    known: HashMap<Pair, Vec<f64>>,
}

impl Map {
    /// Nothing known of so many CPUs.
    #[must_use]
    pub fn new(cpus: usize) -> Self {
        Self {
            cpus,
            known: HashMap::new(),
        }
    }

    /// How many CPUs there are.
    #[must_use]
    pub const fn cpus(&self) -> usize {
        self.cpus
    }

    /// How many pairs were asked for.
    #[must_use]
    pub fn pairs(&self) -> usize {
        self.known.len()
    }

    /// Adds what came of asking for a pair; nothing if it could not be measured.
    pub fn add(&mut self, pair: Pair, nanoseconds: Option<f64>) {
        let of = self.known.entry(ordered(pair)).or_default();
        of.extend(nanoseconds.filter(|value| value.is_finite() && *value > 0.0));
    }

    /// Whether the pair was asked for.
    #[must_use]
    pub fn knows(&self, pair: Pair) -> bool {
        self.known.contains_key(&ordered(pair))
    }

    /// The median of what was measured of a pair; none for a CPU and itself, which hands
    /// nothing over, and for a pair that was not or could not be measured.
    #[must_use]
    pub fn get(&self, pair: Pair) -> Option<f64> {
        median(self.known.get(&ordered(pair))?)
    }

    /// How often a pair was measured.
    #[must_use]
    pub fn times(&self, pair: Pair) -> usize {
        self.known.get(&ordered(pair)).map_or(0, Vec::len)
    }

    /// The same, of what both maps know.
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

/// The lower middle: a time that was measured.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len().saturating_sub(1) / 2).copied()
}
