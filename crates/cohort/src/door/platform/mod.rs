//! The backend of a program's own platform: the core library alone, without an operating system.
//!
//! The feature `platform` selects it. Time, waiting and places come from the program's
//! [`Platform`]; threads are not told apart. Files that know no system are the native backend's.
//!
//! | natively | here |
//! |---|---|
//! | futex | a sleeper polls: [`parking`] |
//! | threads' numbers and words | none: [`thread`] refuses, and `lib.rs` exports no type that needs them |
//! | cohorts of CPUs, NUMA nodes | the platform's: [`place`] |
//! | nodes from pages, a thread's caches of them | pools of a fixed size: [`pool`] |
//! | the barrier in all threads | none: [`fences`] |
//! | the spin budget, a thread's experience of waits | pauses, then yields: [`spinner`] |

#[path = "../portable/allowed.rs"]
mod allowed;
#[path = "../native/atomic.rs"]
mod atomic;
mod calls;
#[path = "../native/caught.rs"]
mod caught;
#[path = "../portable/fences.rs"]
mod fences;
#[path = "../portable/generation.rs"]
mod generation;
#[path = "../native/hearer.rs"]
mod hearer;
#[path = "../native/home.rs"]
mod home;
mod memory;
#[path = "../portable/monitor.rs"]
mod monitor;
#[path = "../native/noted.rs"]
mod noted;
mod parking;
mod place;
mod pool;
#[path = "../native/record.rs"]
mod record;
#[path = "../native/settling.rs"]
mod settling;
#[path = "../native/sizes.rs"]
mod sizes;
#[path = "../native/spin_budget.rs"]
mod spin_budget;
mod spinner;
mod statics;
mod system;
mod thread;

/// For the file of threads' words, which knows them by this name.
mod identity {
    pub(super) use super::thread::{drawn_of, find_id, name_of};
}

pub use allowed::{Beyond, is_allowed};
pub use atomic::{
    AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Cell, fence, fence_after_update, keep_off,
};
pub use calls::{Platform, PlatformIsSet, set_platform, yield_now};
pub use caught::{Panic, caught, panic_on, to_its_end};
pub use fences::{
    fence_everywhere, fence_everywhere_for_certain, fence_here, has_barrier, is_long_quiet,
    revocations,
};
pub use generation::{generation, generation_so_far, may_fork};
pub use hearer::{observer, set_observer};
pub use home::Home;
pub use memory::{map_slots, place_here, unmap_slots};
pub use monitor::{monitor, offered_monitor};
pub use noted::{note, noted};
pub use parking::{move_sleeper, sleep_on, sleep_on_shared, wake, wake_shared};
pub use place::{cache_groups, cohort, cpu, distance, lowest_of, set_cohorts};
pub use pool::Fixed;
pub use record::{CACHES, ThreadRecord, count_reads, counts_reads};
pub use sizes::{
    ARENA_CACHED, ARENA_FIRST_SEARCH, ARENA_FIRST_SEGMENT, CALM_LOOKS, CONTEXT_BYTES, FAT_GROUPS,
    OfProcess, QUEUE_GROUPS, QUEUE_NODES, QUEUES, READER_SLOTS, beforehand, inner_places, key_of,
    leaf_places, node_places,
};
pub use spinner::{
    Spinner, cpus, has_lost_cpu, has_waited, is_counted, is_worth_a_try, keep_cpu, offer_cpu,
    policy, random, set_policy, should_spin, shows_absence, spin_before_sleep, threads_lack_cpus,
    tries_anything, waits_often,
};
pub(crate) use statics::{constructor, pool, process_wide, repeated};
pub use system::{expired, nap, now, unless_starved, workload};
pub use thread::{finds_readers, is_gone, is_paced, priority, thread, thread_id, thread_number};

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
