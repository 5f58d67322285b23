//! A whole machine.

use super::costs::{
    Cache, CoreClass, Costs, Hit, Invalidation, Line, Memory, Scheduler, Smt, Transfer,
};
use super::figure::{Figure, Is, Megahertz};
use super::hierarchy::Hierarchy;
use super::interconnect::{Hops, Link};
use serde::{Deserialize, Serialize};

/// A coherence protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum Protocol {
    /// Shared lines are clean: a load of a modified line makes its owner write it back.
    #[serde(rename = "MESI")]
    Mesi,
    /// MESI with one sharer that forwards clean lines.
    #[serde(rename = "MESIF")]
    Mesif,
    /// A modified line may be shared: its owner supplies it without a write-back.
    #[serde(rename = "MOESI")]
    Moesi,
}

impl Protocol {
    /// Its usual name, as in a file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mesi => "MESI",
            Self::Mesif => "MESIF",
            Self::Moesi => "MOESI",
        }
    }
}

/// The implementation of atomic read-modify-writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum Atomics {
    /// One instruction that cannot fail because of other CPUs' accesses.
    #[serde(rename = "native")]
    Native,
    /// Load-linked and store-conditional; the reservation is lost when another CPU takes the line
    /// in between.
    #[serde(rename = "ll/sc")]
    LoadLinked,
}

/// A machine: its shape and its costs, with the source of each figure.
///
/// Reading a file validates it: all levels named here exist, there is one [`Transfer`] for each
/// distance, and matrices have the right size.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// Its name, as in `--on`.
    pub name: String,
    /// A one-line summary.
    pub about: String,
    /// Its publication (`Chehab et al. 2021 §5.1.1`), or the name of its author.
    pub described: String,
    /// Its clock.
    pub clock: Figure<Megahertz>,
    /// Its CPUs and their cohorts.
    pub hierarchy: Hierarchy,
    /// Its coherence protocol.
    pub protocol: Figure<Is<Protocol>>,
    /// Its atomic read-modify-writes.
    pub atomics: Figure<Is<Atomics>>,
    /// Its lines.
    pub line: Line,
    /// Costs within a CPU.
    pub costs: Costs,
    /// Accesses served by the CPU's own cache.
    pub hit: Hit,
    /// One transfer for each distance, the nearest first, indexed by [`distance`](Self::distance).
    pub transfers: Vec<Transfer>,
    /// Writes to lines with many sharers.
    pub invalidation: Invalidation,
    /// Memory.
    pub memory: Memory,
    /// The capacity of the caches.
    pub cache: Cache,
    /// Hardware threads of one core; absent if a core has one.
    pub smt: Option<Smt>,
    /// CPUs slower than the clock.
    pub classes: Vec<CoreClass>,
    /// Distances between nodes, if they differ.
    pub hops: Option<Hops>,
    /// The links of the transfers.
    pub links: Vec<Link>,
    /// The operating system.
    pub scheduler: Scheduler,
    /// The first twelve hexadecimal digits of the SHA-256 of its file, to be printed beside
    /// results.
    pub fingerprint: String,
}

impl Machine {
    /// The index in [`transfers`](Self::transfers) of the distance between two CPUs; `None` if they
    /// share a private cache.
    ///
    /// # Panics
    /// If the machine has no such CPU.
    #[must_use]
    pub fn distance(&self, from: usize, to: usize) -> Option<usize> {
        let level = self.hierarchy.nearest_common(from, to)?;
        let hops = self.hops_between(level, from, to);
        let name = &self.hierarchy.levels()[level].name;
        self.transfers
            .iter()
            .position(|transfer| transfer.within == *name && transfer.hops == hops)
    }

    fn hops_between(&self, level: usize, from: usize, to: usize) -> u64 {
        let Some(hops) = &self.hops else { return 0 };
        match self.hierarchy.level(&hops.between) {
            Some(nodes) if level > nodes => {
                let node = |cpu| self.hierarchy.cohort_of(cpu, nodes);
                hops.matrix[node(from)][node(to)]
            }
            _ => 0,
        }
    }

    /// That many nanoseconds in cycles of the machine's clock, rounded up.
    #[must_use]
    pub const fn cycles(&self, nanoseconds: u64) -> u64 {
        (nanoseconds * self.clock.value).div_ceil(1000)
    }
}
