//! The loom backend: every interleaving and reordering of a small client, up to the bounds of its
//! [`Model`].
//!
//! Loom itself knows atoms, cells and threads. The rest is modelled here: polling that ends
//! ([`execution`]), a futex ([`sleep`]), clocks, a fork, and faults that test the checker
//! ([`flaw`]).

extern crate std;

mod atom;
mod atomic;
mod caught;
mod execution;
mod fences;
mod flaw;
mod hours;
mod interrupt;
mod kept;
mod model;
mod nodes;
mod record;
mod sleep;
mod spinner;
mod thread;
mod trace;

pub use atom::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize};
pub use atomic::{Cell, fence, fence_after_update};
pub use caught::{Panic, caught, panic_on};
pub use execution::{generation, generation as generation_so_far, may_fork, revocations};
pub use fences::{
    fence_everywhere, fence_everywhere_for_certain, fence_here, has_barrier, is_long_quiet,
};
pub use flaw::mutant;
pub(crate) use interrupt::interruption;
pub use interrupt::{interrupted_after, interrupted_at_step};
pub use kept::{
    ARENA_CACHED, ARENA_FIRST_SEARCH, ARENA_FIRST_SEGMENT, CALM_LOOKS, CONTEXT_BYTES, FAT_GROUPS,
    Kept, OfExecution, QUEUE_GROUPS, QUEUE_NODES, QUEUES, READER_SLOTS, beforehand, inner_places,
    key_of, leaf_places, map_slots, node_places, unmap_slots,
};
pub use model::{Model, Tally, fork, together};
pub use nodes::Nodes;
pub use record::{CACHES, ThreadRecord};
pub use sleep::{
    asleep, expired, move_sleeper, nap, note, noted, now, random, sleep_on, sleep_on_shared,
    unless_starved, wake, wake_shared, yield_now,
};
pub use spinner::{
    Spinner, cpus, has_lost_cpu, has_waited, is_counted, is_worth_a_try, keep_cpu, offer_cpu,
    policy, set_policy, should_spin, shows_absence, spin_before_sleep, threads_lack_cpus,
    tries_anything, waits_often, workload,
};
pub use thread::{
    cache_groups, cohort, count_reads, counts_reads, cpu, distance, finds_readers, is_gone,
    is_paced, priority, thread, thread_id, thread_number, visit, wander,
};
pub use trace::steps;

/// Whether other threads may go on; if not, the caller unwinds at its next poll.
#[inline(always)]
pub(crate) const fn others_go_on() -> bool {
    true
}

/// Natively, the observer of locks' mode changes.
#[inline(always)]
#[must_use]
pub const fn observer() -> Option<&'static crate::door::Observer> {
    None
}

/// Natively, separates a locked instruction from a store before it.
#[inline(always)]
pub const fn keep_off() {}

/// Declares a static pool of nodes of one type. Here it is not an arena, which has models of its
/// own, but a pool that adds no steps to the lock's.
macro_rules! pool {
    ($(#[$meta:meta])* $vis:vis static $name:ident: $node:ty, cache $cache:expr) => {
        $(#[$meta])* $vis static $name: $crate::door::Nodes<$node> = $crate::door::Nodes::new();
    };
    ($(#[$meta:meta])* $vis:vis static $name:ident: $node:ty, placed) => {
        $(#[$meta])* $vis static $name: $crate::door::Nodes<$node> = $crate::door::Nodes::new();
    };
}
pub(crate) use pool;

/// Declares a native static, which each execution has anew here.
macro_rules! process_wide {
    ($(#[$meta:meta])* $vis:vis static $name:ident: $of:ty = $make:path) => {
        $(#[$meta])* $vis static $name: $crate::door::OfExecution<$of> =
            $crate::door::OfExecution::new($make);
    };
}
pub(crate) use process_wide;

/// An array of equal elements.
macro_rules! repeated {
    ($make:expr, $count:expr) => {
        core::array::from_fn::<_, { $count }, _>(|_| $make)
    };
}
pub(crate) use repeated;

/// Declares a constructor, `const` where the backend's atoms allow it.
macro_rules! constructor {
    ($($item:tt)*) => { $($item)* };
}
pub(crate) use constructor;

/// Natively, moves pages to the caller's NUMA node. There are no pages here.
#[must_use]
pub const fn place_here(_pages: *const u8, _bytes: usize) -> bool {
    false
}
