//! The machine backend: the simulated machine, by virtual time or by random schedules.
//!
//! Atoms and cells are the core library's, and each access is first a step of the calling simulated
//! thread. Outside of a run accesses take no time, so that objects can be created before it and
//! examined after it.

extern crate std;

mod atomic;
mod caught;
mod memory;
mod spinner;
mod system;
mod tally;
mod thread;

pub use atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Cell, fence, fence_after_update};
pub use caught::{Panic, caught, panic_on};
pub use memory::{
    ARENA_CACHED, ARENA_FIRST_SEARCH, ARENA_FIRST_SEGMENT, CALM_LOOKS, CONTEXT_BYTES, FAT_GROUPS,
    OfRun, QUEUE_GROUPS, QUEUE_NODES, QUEUES, READER_SLOTS, beforehand, inner_places, key_of,
    leaf_places, map_slots, node_places, unmap_slots,
};
pub use spinner::{
    Spinner, cpus, has_lost_cpu, has_waited, is_counted, is_worth_a_try, keep_cpu, offer_cpu,
    policy, set_policy, should_spin, shows_absence, spin_before_sleep, threads_lack_cpus,
    tries_anything, waits_often, workload,
};
pub use system::{
    cache_groups, cohort, distance, expired, fence_everywhere, fence_everywhere_for_certain,
    fence_here, generation, generation as generation_so_far, has_barrier, is_long_quiet, levels,
    may_fork, move_sleeper, mutant, nap, note, noted, now, random, revocations, sleep_on,
    sleep_on_shared, unless_starved, wake, wake_shared, yield_now,
};
pub use tally::{tally, tally_moment, tally_state};
pub(crate) use thread::others_go_on;
pub use thread::{
    CACHES, ThreadRecord, count, count_reads, counted, counts_reads, finds_readers, is_gone,
    is_paced, thread, thread_id, thread_number,
};

#[path = "../native/hearer.rs"]
mod hearer;
pub use hearer::{observer, set_observer};

/// As in loom's backend.
#[must_use]
pub const fn cpu() -> u32 {
    0
}

/// As in loom's backend.
#[must_use]
pub const fn priority() -> u32 {
    0
}

/// Natively, separates a locked instruction from a store before it.
#[inline(always)]
pub const fn keep_off() {}

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
pub use memory::OfRun as Static;

/// Declares a pool of nodes of one type: static natively, one of each run here.
macro_rules! pool {
    ($(#[$meta:meta])* $vis:vis static $name:ident: $node:ty, cache $cache:expr) => {
        $(#[$meta])* $vis static $name: $crate::door::OfRun<$crate::host::Arena<$node>> =
            $crate::door::OfRun::new(|| $crate::host::Arena::new($cache));
    };
    ($(#[$meta:meta])* $vis:vis static $name:ident: $node:ty, placed) => {
        $(#[$meta])* $vis static $name: $crate::door::OfRun<$crate::host::Placed<$node>> =
            $crate::door::OfRun::new($crate::host::Placed::new);
    };
}
pub(crate) use pool;

/// Declares a native static, which each run has anew here.
macro_rules! process_wide {
    ($(#[$meta:meta])* $vis:vis static $name:ident: $of:ty = $make:path) => {
        $(#[$meta])* $vis static $name: $crate::door::OfRun<$of> = $crate::door::OfRun::new($make);
    };
}
pub(crate) use process_wide;

/// Natively, moves pages to the caller's NUMA node. Here memory lies where it was first touched.
#[must_use]
pub const fn place_here(_pages: *const u8, _bytes: usize) -> bool {
    false
}
