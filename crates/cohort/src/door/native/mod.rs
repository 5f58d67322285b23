//! The native backend: this machine, its kernel, its threads.

mod allowed;
#[cfg(annotated)]
mod annotate;
mod atomic;
mod caught;
#[cfg(feature = "chaos")]
mod chaos;
mod cpus;
mod extension;
mod fences;
mod generation;
mod hearer;
mod home;
mod hope;
mod identity;
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
mod record;
mod settling;
mod sizes;
mod spin_budget;
mod spinner;
mod start;
mod statics;
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
pub use cpus::cpus;
pub use extension::{
    ends_extension, extends_slices, leave_extensions, offer_extensions, request_extension,
    return_extension,
};
pub use fences::{
    fence_everywhere, fence_everywhere_for_certain, fence_here, has_barrier, is_long_quiet,
    is_quiet_time, is_special_release, revocations,
};
pub use generation::{generation, generation_so_far, may_fork};
pub use hearer::{observer, set_observer};
pub use home::Home;
pub use hope::{should_spin, spin_before_sleep};
pub use identity::{SchedParam, priority, set_libc};
pub use image::Image;
pub use kernel::call as system_call;
pub use memory::{map_slots, place_here, unmap_slots};
pub use monitor::{monitor, offered_monitor, set_monitor};
pub use noted::{note, noted};
#[cfg(observed)]
pub use observed::{call_site, may_be_observed, recorder};
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
#[cfg(internals)]
#[doc(hidden)]
pub use system::{Timespec, set_clock_gettime};
pub use system::{
    expired, move_sleeper, nap, now, sleep_on, sleep_on_shared, unless_starved, wake, wake_shared,
};
pub use thread::{finds_readers, is_gone, is_paced, thread, thread_id, thread_number};
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

/// The type of a value that exists once.
pub use sizes::OfProcess as Static;
