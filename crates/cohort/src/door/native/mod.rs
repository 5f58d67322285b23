//! The native backend: this machine, its kernel, its threads.

mod allowed;
#[cfg(annotated)]
mod annotate;
mod atomic;
mod caught;
#[cfg(feature = "chaos")]
mod chaos;
mod fences;
mod generation;
mod hearer;
mod home;
mod hope;
mod image;
mod kernel;
mod memory;
mod monitor;
mod noted;
#[cfg(observed)]
mod observed;
mod place;
mod policy;
mod random;
mod spin_budget;
mod spinner;
mod start;
mod system;
mod thread;
mod turn;
#[cfg(any(annotated, all(internals, target_arch = "x86_64")))]
pub mod valgrind;
mod workload;

pub use allowed::{Beyond, forbid, is_allowed};
pub use atomic::{
    AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Cell, fence, fence_after_update, keep_off,
};
pub use caught::{Panic, caught, panic_on, to_its_end};
pub use fences::{
    fence_everywhere, fence_everywhere_for_certain, fence_here, has_barrier, is_long_quiet,
    revocations,
};
pub use generation::{generation, generation_so_far, may_fork};
pub use hearer::{observer, set_observer};
pub use home::Home;
pub use hope::{should_spin, spin_before_sleep};
pub use image::Image;
pub use kernel::call as system_call;
pub use memory::{
    ARENA_CACHED, ARENA_FIRST_SEARCH, ARENA_FIRST_SEGMENT, CALM_LOOKS, CONTEXT_BYTES, FAT_GROUPS,
    OfProcess, QUEUE_GROUPS, QUEUE_NODES, QUEUES, READER_SLOTS, beforehand, inner_places, key_of,
    leaf_places, map_slots, node_places, place_here, unmap_slots,
};
pub use monitor::{monitor, offered_monitor, set_monitor};
pub use noted::{note, noted};
#[cfg(observed)]
pub use observed::{call_site, may_be_observed, recorder};
pub use place::{cache_groups, cohort, cpu, distance, lowest_of, set_cohorts};
pub use policy::{policy, set_policy};
pub use random::random;
pub use spinner::{
    Spinner, cpus, has_lost_cpu, has_waited, is_counted, is_worth_a_try, keep_cpu, shows_absence,
    threads_lack_cpus, tries_anything, waits_often,
};
#[cfg(internals)]
#[doc(hidden)]
pub use system::{Timespec, set_clock_gettime};
pub use system::{
    expired, move_sleeper, nap, now, sleep_on, sleep_on_shared, unless_starved, wake, wake_shared,
};
pub use thread::{
    CACHES, SchedParam, ThreadRecord, count_reads, counts_reads, finds_readers, is_gone, is_paced,
    priority, set_libc, thread, thread_id, thread_number,
};
pub use turn::yield_now;
pub use workload::workload;

/// The core library's atoms.
#[cfg(annotated)]
use annotate as atoms;
#[cfg(annotated)]
use annotate::unreported;
#[cfg(feature = "chaos")]
use chaos::passage;
#[cfg(not(annotated))]
use core::sync::atomic as atoms;

/// Whether a fault is injected; only the checkers' backends inject faults.
#[inline(always)]
#[must_use]
pub fn mutant(_flaw: super::Flaw) -> bool {
    false
}

/// Called before an operation of a lock; with the feature `chaos`, disturbs the calling thread.
#[cfg(not(feature = "chaos"))]
#[inline(always)]
const fn passage() {}

/// Runs `run` without reports of Valgrind.
#[cfg(not(annotated))]
#[inline(always)]
fn unreported<R>(run: impl FnOnce() -> R) -> R {
    run()
}

/// Whether other threads may go on.
#[inline(always)]
pub(crate) const fn others_go_on() -> bool {
    true
}

/// For loom's backend, where a model's signal handler may run.
#[inline(always)]
pub(crate) const fn interruption() {}

/// Declares a constructor, `const` where the backend's atoms allow it.
macro_rules! constructor {
    ($(#[$meta:meta])* $vis:vis fn $($rest:tt)*) => { $(#[$meta])* $vis const fn $($rest)* };
}
pub(crate) use constructor;

/// An array of equal elements.
macro_rules! repeated {
    ($make:expr, $count:expr) => {
        [const { $make }; $count]
    };
}
pub(crate) use repeated;

/// The type of a value that exists once.
pub use memory::OfProcess as Static;

/// Declares a static pool of nodes of one type.
macro_rules! pool {
    ($(#[$meta:meta])* $vis:vis static $name:ident: $node:ty, cache $cache:expr) => {
        $(#[$meta])* $vis static $name: $crate::host::Often<$node, $cache> = $crate::host::Often::new();
    };
    ($(#[$meta:meta])* $vis:vis static $name:ident: $node:ty, placed) => {
        $(#[$meta])* $vis static $name: $crate::host::Placed<$node> = $crate::host::Placed::new();
    };
}
pub(crate) use pool;

/// Declares a static.
macro_rules! process_wide {
    ($(#[$meta:meta])* $vis:vis static $name:ident: $of:ty = $make:path) => {
        $(#[$meta])* $vis static $name: $crate::door::OfProcess<$of> =
            $crate::door::OfProcess::new($make());
    };
}
pub(crate) use process_wide;
