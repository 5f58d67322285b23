//! What things cost on a machine.

use super::figure::{Count, Cycles, Figure, Nanoseconds, Ratio, Ratios};
use serde::{Deserialize, Serialize};

/// What one CPU pays inside itself.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Costs {
    /// The instructions between two accesses, for each access.
    pub instruction: Figure<Cycles>,
    /// One spin hint (`pause`, `yield`).
    pub pause: Figure<Cycles>,
    /// A full fence whose store buffer is empty.
    pub fence: Figure<Cycles>,
    /// How many stores may be under way while the CPU goes on; 0 means that each
    /// store is waited for.
    pub store_buffer: Figure<Count>,
    /// An attempt of a load-linked/store-conditional pair that fails, beyond its
    /// accesses; unused on a machine with native atomics.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_conditional: Option<Figure<Cycles>>,
}

/// Accesses that the CPU's own cache serves.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Hit {
    /// A load.
    pub load: Figure<Cycles>,
    /// What a store costs its CPU, which goes on while the store buffer completes
    /// it.
    pub store: Figure<Cycles>,
    /// A read-modify-write of a line held exclusively.
    pub rmw: Figure<Cycles>,
}

/// A line and how requests for it queue.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// Bytes that move together; a power of two.
    pub bytes: Figure<Count>,
}

/// What it takes to fetch a line from another private cache, for one distance
/// between the two.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Transfer {
    /// The smallest level whose cohorts hold both CPUs.
    pub within: String,
    /// Hops between their nodes where the machine has a [`Hops`](super::Hops)
    /// matrix and the level lies beyond it; 0 elsewhere.
    #[serde(default, skip_serializing_if = "none")]
    pub hops: u64,
    /// To load a line that the supplier modified.
    pub load: Figure<Cycles>,
    /// To load a line that the supplier holds unmodified; as `load` if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clean: Option<Figure<Cycles>>,
    /// To store to a line that the supplier modified.
    pub store: Figure<Cycles>,
    /// To read, modify and write it.
    pub rmw: Figure<Cycles>,
    /// To invalidate a copy that far away, for a line that the writer holds too:
    /// from the request to the acknowledgement.
    pub invalidate: Figure<Cycles>,
    /// How long a load over this distance keeps the line from serving the next
    /// request for it: what makes many spinners' fetches queue.
    pub occupancy: Figure<Cycles>,
    /// To load a line that no cache holds, from memory that far away; required
    /// beyond the level of [`Memory::of`], absent within it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Figure<Cycles>>,
}

/// Writes to lines with many sharers.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Invalidation {
    /// For each further sharer, beyond what the farthest one costs.
    pub each: Figure<Cycles>,
}

/// Memory and where it hangs.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// The level whose cohorts have memory of their own.
    pub of: String,
    /// To load a line that no cache holds from the cohort's own memory.
    pub local: Figure<Cycles>,
}

/// How much the caches hold.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Cache {
    /// Lines in the private caches of one cohort of `private-to`.
    pub private: Figure<Count>,
    /// The level whose cohorts share a private cache, so that nothing is
    /// transferred between their CPUs; `pu` if each has its own, or if what a CPU
    /// writes reaches its siblings later than itself.
    #[serde(rename = "private-to")]
    pub private_to: String,
    /// Lines in the last-level cache of one cohort of `shared-by`.
    pub shared: Figure<Count>,
    /// The level whose cohorts share a last-level cache.
    #[serde(rename = "shared-by")]
    pub shared_by: String,
    /// To load from the last-level cache what fell out of the private one.
    pub refill: Figure<Cycles>,
}

/// Hardware threads of one core.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Smt {
    /// Factor on everything a CPU does inside itself, by how many CPUs of its core
    /// run: the first entry for itself alone (1), the last one also for more.
    /// Pipelines and their fusion show here: a core that fuses two pipelines for
    /// a lone thread has 2 as second entry.
    pub slowdown: Figure<Ratios>,
    /// How much a spinning CPU counts as a running one here.
    pub spinning: Figure<Ratio>,
}

/// CPUs that are slower than the machine's clock says.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CoreClass {
    /// What to call them.
    pub name: String,
    /// First and last CPU.
    pub cpus: [usize; 2],
    /// Factor on everything such a CPU does inside itself, 1 or more.
    pub slowdown: Figure<Ratio>,
}

/// The operating system.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Scheduler {
    /// The time that the ready threads of a CPU share between them, each running
    /// once; 0 where every thread gets a whole slice.
    pub period: Figure<Nanoseconds>,
    /// The least that a thread runs before another that is ready takes its CPU.
    pub slice: Figure<Nanoseconds>,
    /// To switch from one thread to another.
    pub switch: Figure<Nanoseconds>,
    /// A system call that does nothing, such as a sleep whose word has changed.
    pub system_call: Figure<Nanoseconds>,
    /// To fall asleep, before the CPU is free for another.
    pub sleep: Figure<Nanoseconds>,
    /// What waking one sleeper costs the waker.
    pub wake: Figure<Nanoseconds>,
    /// From there until the sleeper runs on an idle CPU.
    pub wake_latency: Figure<Nanoseconds>,
    /// To yield with nobody else ready.
    pub yield_alone: Figure<Nanoseconds>,
    /// What a thread loses that is moved to another CPU, beside its cached lines.
    pub migration: Figure<Nanoseconds>,
    /// How often threads are spread anew over the CPUs they may use.
    pub balance: Figure<Nanoseconds>,
}

impl Scheduler {
    /// How long a thread runs, in nanoseconds, when that many, itself included,
    /// are ready on its CPU.
    #[must_use]
    pub fn slice_among(&self, ready: u64) -> u64 {
        (self.period.value / ready.max(1)).max(self.slice.value)
    }
}

// serde asks by reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
const fn none(hops: &u64) -> bool {
    *hops == 0
}
