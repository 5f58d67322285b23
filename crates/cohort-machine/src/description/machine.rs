//! A whole machine.

use super::costs::{
    Cache, CoreClass, Costs, Hit, Invalidation, Line, Memory, Scheduler, Smt, Transfer,
};
use super::figure::{Figure, Is, Megahertz};
use super::hierarchy::Hierarchy;
use super::interconnect::{Hops, Link};
use serde::{Deserialize, Serialize};

/// How caches agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum Protocol {
    /// A shared line is clean: a cache that reads a modified one makes its owner write
    /// it back.
    #[serde(rename = "MESI")]
    Mesi,
    /// MESI, with one of the sharers forwarding clean lines.
    #[serde(rename = "MESIF")]
    Mesif,
    /// A modified line may be shared: its owner supplies it and writes nothing
    /// back.
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

/// How a CPU reads, modifies and writes at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum Atomics {
    /// One instruction that cannot fail for others' accesses.
    #[serde(rename = "native")]
    Native,
    /// Load-linked and store-conditional: the reservation is lost when another CPU
    /// takes the line in between.
    #[serde(rename = "ll/sc")]
    LoadLinked,
}

/// A machine: its shape and its costs, with the source of each figure.
///
/// Whatever can be checked was checked when it was read: levels named here exist,
/// there is one [`Transfer`] for each distance, matrices fit.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// Its name, by which `--on` finds it.
    pub name: String,
    /// What it is, in a line.
    pub about: String,
    /// Where it is described (`Chehab et al. 2021 §5.1.1`), or the name of its author.
    pub described: String,
    /// Its clock.
    pub clock: Figure<Megahertz>,
    /// Its CPUs and their cohorts.
    pub hierarchy: Hierarchy,
    /// How its caches agree.
    pub protocol: Figure<Is<Protocol>>,
    /// How its CPUs read, modify and write at once.
    pub atomics: Figure<Is<Atomics>>,
    /// Its lines.
    pub line: Line,
    /// What a CPU pays inside itself.
    pub costs: Costs,
    /// Accesses that the own cache serves.
    pub hit: Hit,
    /// One for each distance, the nearest first; [`distance`](Self::distance)
    /// is the index.
    pub transfers: Vec<Transfer>,
    /// Writes to lines with many sharers.
    pub invalidation: Invalidation,
    /// Memory.
    pub memory: Memory,
    /// How much the caches hold.
    pub cache: Cache,
    /// Hardware threads of one core; absent where a core has one.
    pub smt: Option<Smt>,
    /// CPUs of other speed than the clock says.
    pub classes: Vec<CoreClass>,
    /// Distances between nodes, where they are not all alike.
    pub hops: Option<Hops>,
    /// What carries the transfers.
    pub links: Vec<Link>,
    /// The operating system.
    pub scheduler: Scheduler,
    /// The first twelve hexadecimal digits of the SHA-256 of its file, to be
    /// printed beside whatever was measured on it.
    pub fingerprint: String,
}

impl Machine {
    /// The index in [`transfers`](Self::transfers) of what lies between two
    /// CPUs; `None` where they share a private cache.
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
