//! The portable backend: the standard library alone.
//!
//! For every system but Linux on the processors of the native backend, and under Miri; on Linux, the
//! feature `portable` selects it. Files that know no system are the native backend's.
//!
//! | natively | here |
//! |---|---|
//! | futex | a table of sleepers by address: [`parking`] |
//! | the kernel's thread number | a number drawn until the thread ends: [`identity`] |
//! | cohorts of CPUs, NUMA nodes | one of each level: [`place`] |
//! | the barrier in all threads | none, so no plain-store release and no biased readers: [`fences`] |
//! | the process's generation | always one: a fork is not detected |
//! | pages | the global allocator's memory: [`memory`] |
//! | real-time priorities, processes that share a word, chaos, Valgrind, recorders | none |

extern crate std;

mod allowed;
#[path = "../native/atomic.rs"]
mod atomic;
#[path = "../native/caught.rs"]
mod caught;
mod cpus;
mod fences;
mod generation;
#[path = "../native/hearer.rs"]
mod hearer;
#[path = "../native/home.rs"]
mod home;
#[path = "../native/hope.rs"]
mod hope;
mod identity;
mod memory;
mod monitor;
#[path = "../native/noted.rs"]
mod noted;
mod parking;
mod place;
#[path = "../native/policy.rs"]
mod policy;
#[path = "../native/random.rs"]
mod random;
#[path = "../native/record.rs"]
mod record;
#[path = "../native/settling.rs"]
mod settling;
#[path = "../native/sizes.rs"]
mod sizes;
#[path = "../native/spin_budget.rs"]
mod spin_budget;
#[path = "../native/spinner.rs"]
mod spinner;
#[path = "../native/statics.rs"]
mod statics;
mod system;
mod thread;
mod turn;

pub use allowed::{Beyond, is_allowed};
pub use atomic::{
    AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Cell, fence, fence_after_update, keep_off,
};
pub use caught::{Panic, caught, panic_on, to_its_end};
pub use cpus::cpus;
pub use fences::{
    fence_everywhere, fence_everywhere_for_certain, fence_here, has_barrier, is_long_quiet,
    revocations,
};
pub use generation::{generation, generation_so_far, may_fork};
pub use hearer::{observer, set_observer};
pub use home::Home;
pub use hope::{should_spin, spin_before_sleep};
pub use identity::priority;
pub use memory::{map_slots, place_here, unmap_slots};
pub use monitor::{monitor, offered_monitor};
pub use noted::{note, noted};
pub use parking::{move_sleeper, sleep_on, sleep_on_shared, wake, wake_shared};
pub use place::{cache_groups, cohort, cpu, distance, lowest_of, set_cohorts};
pub use policy::{policy, set_policy};
pub use random::random;
pub use record::{CACHES, ThreadRecord, count_reads, counts_reads};
pub use sizes::{
    ARENA_CACHED, ARENA_FIRST_SEARCH, ARENA_FIRST_SEGMENT, CALM_LOOKS, CONTEXT_BYTES, FAT_GROUPS,
    OfProcess, QUEUE_GROUPS, QUEUE_NODES, QUEUES, READER_SLOTS, beforehand, inner_places, key_of,
    leaf_places, node_places,
};
#[cfg(test)]
pub use spinner::has_yielded;
pub use spinner::{
    Spinner, has_lost_cpu, has_waited, is_counted, is_worth_a_try, keep_cpu, offer_cpu,
    shows_absence, threads_lack_cpus, tries_anything, waits_often,
};
pub(crate) use statics::{constructor, pool, process_wide, repeated};
pub use system::{expired, nap, now, unless_starved, workload};
pub use thread::{finds_readers, is_gone, is_paced, thread, thread_id, thread_number};
pub use turn::yield_now;

/// The type of a value that exists once.
pub use sizes::OfProcess as Static;

/// The core library's atoms.
use core::sync::atomic as atoms;

/// Whether a fault is injected; only the checkers' backends inject faults.
#[inline(always)]
#[must_use]
pub fn mutant(_flaw: super::Flaw) -> bool {
    false
}

/// Natively, the feature `chaos` disturbs the calling thread here.
#[inline(always)]
const fn passage() {}

/// Whether other threads may go on.
#[inline(always)]
pub(crate) const fn others_go_on() -> bool {
    true
}

/// For loom's backend, where a model's signal handler may run.
#[inline(always)]
pub(crate) const fn interruption() {}
