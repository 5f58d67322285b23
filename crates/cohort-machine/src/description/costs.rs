//! Costs on a machine.

use super::figure::{Count, Cycles, Figure, Nanoseconds, Ratio, Ratios};
use serde::{Deserialize, Serialize};

/// Costs within one CPU.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Costs {
    /// The instructions between two accesses, for each access of code with uncounted instructions.
    pub instruction: Figure<Cycles>,
    /// One instruction, for code with counted instructions; `instruction` applies to all code if
    /// absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_instruction: Option<Figure<Ratio>>,
    /// One reading of the clock; as `fence` if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock: Option<Figure<Cycles>>,
    /// The number of independent misses that a CPU has in flight; 1 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overlap: Option<Figure<Count>>,
    /// One spin hint (`pause`, `yield`).
    pub pause: Figure<Cycles>,
    /// A full fence with an empty store buffer.
    pub fence: Figure<Cycles>,
    /// The capacity of the store buffer; 0: the CPU waits for each store.
    pub store_buffer: Figure<Count>,
    /// A failed attempt of a load-linked/store-conditional pair, beyond its accesses; unused on a
    /// machine with native atomics.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_conditional: Option<Figure<Cycles>>,
    /// Failed store-conditionals in a row after which a load-linked holds the line until its store;
    /// 4 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failures: Option<Figure<Count>>,
}

/// Accesses that the CPU's own cache serves.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Hit {
    /// A load.
    pub load: Figure<Cycles>,
    /// The CPU's cost of a store, which the store buffer completes.
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

/// The cost of fetching a line from another private cache, for one distance.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Transfer {
    /// The smallest level with a cohort of both CPUs.
    pub within: String,
    /// Hops between their nodes if the machine has a [`Hops`](super::Hops) matrix and the level
    /// lies beyond it; otherwise 0.
    #[serde(default, skip_serializing_if = "none")]
    pub hops: u64,
    /// A load of a line that the supplier modified.
    pub load: Figure<Cycles>,
    /// A load of a line that the supplier holds unmodified; as `load` if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clean: Option<Figure<Cycles>>,
    /// A store to a line that the supplier modified.
    pub store: Figure<Cycles>,
    /// A read-modify-write of such a line.
    pub rmw: Figure<Cycles>,
    /// The invalidation of a copy at this distance, for a line that the writer holds too: from the
    /// request to the acknowledgement.
    pub invalidate: Figure<Cycles>,
    /// How long a load over this distance blocks the line for the next request; therefore the
    /// fetches of many spinners queue.
    pub occupancy: Figure<Cycles>,
    /// A load from memory at this distance; required beyond the level of [`Memory::of`], absent
    /// within it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Figure<Cycles>>,
}

/// Writes to lines with many sharers.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Invalidation {
    /// The cost of each further sharer, beyond the farthest one's.
    pub each: Figure<Cycles>,
}

/// Memory and its place in the hierarchy.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// The level of cohorts with their own memory.
    pub of: String,
    /// A load from the cohort's own memory of a line that no cache holds.
    pub local: Figure<Cycles>,
}

/// The capacity of the caches.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Cache {
    /// Lines in the private caches of one cohort of `private-to`.
    pub private: Figure<Count>,
    /// The level of cohorts with a private cache, so that their CPUs need no transfers. `pu` if
    /// each CPU has its own, or if its writes reach its siblings later than itself.
    #[serde(rename = "private-to")]
    pub private_to: String,
    /// Lines in the last-level cache of one cohort of `shared-by`.
    pub shared: Figure<Count>,
    /// The level of cohorts with a last-level cache.
    #[serde(rename = "shared-by")]
    pub shared_by: String,
    /// A load from the last-level cache of a line that the private one evicted.
    pub refill: Figure<Cycles>,
}

/// Hardware threads of one core.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Smt {
    /// The slowdown within a CPU, by the number of running CPUs of its core: the first entry for
    /// itself alone (1), the last also for more. Shared pipelines appear here: a core that fuses
    /// two pipelines for a lone thread has 2 as second entry.
    pub slowdown: Figure<Ratios>,
    /// The weight of a spinning CPU, relative to a running one.
    pub spinning: Figure<Ratio>,
}

/// CPUs that are slower than the machine's clock.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CoreClass {
    /// Their name.
    pub name: String,
    /// First and last CPU.
    pub cpus: [usize; 2],
    /// The slowdown within such a CPU, 1 or more.
    pub slowdown: Figure<Ratio>,
}

/// The operating system.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Scheduler {
    /// The time in which each of a CPU's runnable threads runs once; 0 if every thread has a whole
    /// slice.
    pub period: Figure<Nanoseconds>,
    /// The minimum that a thread runs before another runnable thread preempts it.
    pub slice: Figure<Nanoseconds>,
    /// A switch between two threads.
    pub switch: Figure<Nanoseconds>,
    /// A system call without effect, such as a sleep on a changed word.
    pub system_call: Figure<Nanoseconds>,
    /// Falling asleep, until the CPU is free for another thread.
    pub sleep: Figure<Nanoseconds>,
    /// The waker's cost per sleeper.
    pub wake: Figure<Nanoseconds>,
    /// The delay from the wake-up until the sleeper runs on an idle CPU.
    pub wake_latency: Figure<Nanoseconds>,
    /// A yield without another runnable thread.
    pub yield_alone: Figure<Nanoseconds>,
    /// The loss of a thread that migrates to another CPU, beside its cached lines.
    pub migration: Figure<Nanoseconds>,
    /// The period of load balancing over the permitted CPUs.
    pub balance: Figure<Nanoseconds>,
}

impl Scheduler {
    /// A thread's time slice in nanoseconds, with that many runnable threads on its CPU, itself
    /// included.
    #[must_use]
    pub fn slice_among(&self, ready: u64) -> u64 {
        (self.period.value / ready.max(1)).max(self.slice.value)
    }
}

// serde passes a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
const fn none(hops: &u64) -> bool {
    *hops == 0
}
