//! The connections between a machine's nodes.

use super::figure::{Cycles, Figure, Source};
use serde::{Deserialize, Serialize};

/// Distances between the nodes, if they differ.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Hops {
    /// The level of the nodes.
    pub between: String,
    /// Hops from each node to each: symmetric, 0 on the diagonal only.
    pub matrix: Vec<Vec<u64>>,
    /// The source.
    pub source: Source,
    /// The origin.
    pub note: String,
}

impl Hops {
    /// The nodes on the way from one node to another, both included; of several shortest ways, the
    /// first by node numbers.
    #[must_use]
    pub fn route(&self, from: usize, to: usize) -> Vec<usize> {
        let mut route = vec![from];
        let mut here = from;
        while here != to {
            let left = self.matrix[here][to];
            here = (0..self.matrix.len())
                .find(|&next| self.matrix[here][next] == 1 && self.matrix[next][to] + 1 == left)
                .unwrap_or(to);
            route.push(here);
        }
        route
    }
}

/// Links between the cohorts of a level, each carrying one transfer at a time.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// The level of the connected cohorts, within the same larger one.
    pub between: String,
    /// The cohorts that share a link.
    pub shape: Shape,
    /// How long a transfer occupies each link it crosses.
    pub occupancy: Figure<Cycles>,
}

/// The sharing of links by cohorts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// One link for each pair of neighbours; a way of several hops crosses several.
    Pair,
    /// One link for each cohort, to a switch; a transfer crosses both ends' links.
    Port,
    /// One link for all cohorts within a larger one (a bus, a ring, a hub).
    Shared,
}
