//! Threads: their numbers, places and priorities.

use super::super::{Cache, ID_BITS, Level};
use super::execution::{Execution, generation, touch_kernel, with};
use super::record::ThreadRecord;
use super::std;

impl ThreadRecord {
    /// Forgets the parent process's state.
    pub fn settle(&self) {
        if !self.is_settled() {
            self.id.set(given_id(self.index));
            self.generation.set(generation());
            self.caches.iter().for_each(Cache::forget);
        }
    }

    /// Whether there is nothing to forget.
    pub fn is_settled(&self) -> bool {
        self.generation.get() == generation()
    }
}

/// An identifier that no other thread of the model gets first.
const fn fresh_id(generation: u32, index: usize) -> u32 {
    generation * 0x100 + index as u32
}

/// The identifier of a new thread: an ended thread's, in a model where identifiers are reused.
fn given_id(index: usize) -> u32 {
    let fresh = fresh_id(generation(), index);
    if std::thread::panicking() || !with(|execution| execution.settings.reuses_ids) {
        return fresh;
    }
    touch_kernel(true);
    with(|execution| {
        let threads = &execution.threads;
        let mut ended = threads.iter().filter(|thread| !thread.lives);
        let free = |id: &u32| *id != 0 && !is_held(execution, *id);
        ended
            .find_map(|thread| Some(thread.record.id.get()).filter(free))
            .unwrap_or(fresh)
    })
}

/// Whether a living thread has that identifier, or will have it.
fn is_held(execution: &Execution, id: u32) -> bool {
    let here = execution.generation;
    let threads = execution.threads.iter().enumerate();
    let mut living = threads.filter(|(_, thread)| thread.lives);
    living.any(|(index, thread)| {
        let record = &thread.record;
        let is_settled = record.generation.get() == here;
        id == if is_settled {
            record.id.get()
        } else {
            fresh_id(here, index)
        }
    })
}

/// The calling thread's words.
#[must_use]
pub fn thread() -> &'static ThreadRecord {
    let record: *const ThreadRecord = with(|execution| &raw const *execution.me().record);
    // SAFETY: the words are boxed and live until the execution ends, and with it
    // all of its threads; the type is not `Sync`, so the reference stays here.
    unsafe { &*record }
}

/// Whether threads count their read locks: from the beginning in a model that says so, otherwise
/// once [required](count_reads).
#[must_use]
pub fn counts_reads() -> bool {
    with(|execution| execution.settings.counts_reads)
}

/// Turns that on.
pub fn count_reads() {
    with(|execution| execution.settings.counts_reads = true);
}

/// Whether a reader considers a bias: each one in a model that says so.
#[must_use]
pub fn finds_readers() -> bool {
    with(|execution| execution.settings.biases)
}

/// Whether a lock's change to bias is paced: a model takes every opportunity.
#[must_use]
pub const fn is_paced() -> bool {
    false
}

/// The number of the calling thread in this process: a forking thread has another one in the child.
#[must_use]
pub fn thread_id() -> u32 {
    let me = thread();
    me.settle();
    me.id()
}

/// The calling thread's own number above its identifier.
#[must_use]
pub fn thread_number() -> u64 {
    let me = thread();
    me.settle();
    let own = fresh_id(me.generation.get(), me.index);
    u64::from(own) << ID_BITS | u64::from(me.id())
}

/// Whether threads are in one cache group.
fn one_group() -> bool {
    with(|execution| execution.settings.one_group || execution.settings.two_cpus)
}

/// How many cache groups threads are in: several, except in a model of
/// [one](super::Model::one_group).
#[must_use]
pub fn cache_groups() -> usize {
    if one_group() { 1 } else { 2 }
}

/// The CPU of the calling thread. All are one here, so that each waiter at a condition is requeued
/// to its mutex, and models cover that too.
#[must_use]
pub const fn cpu() -> u32 {
    0
}

/// The calling thread's priority under a real-time policy: equal for all threads here.
#[must_use]
pub const fn priority() -> u32 {
    0
}

/// The cohort of the calling thread. The first and the third thread are neighbours, the second is
/// elsewhere; a fourth shares its core, and a fifth the first one's.
#[must_use]
pub fn cohort(level: Level) -> usize {
    if std::thread::panicking() {
        return 0;
    }
    let me = thread();
    if me.wanders.get() {
        me.core.set(me.core.get() ^ 1);
    }
    let core = me.core.get();
    match level {
        Level::Core => core,
        Level::CacheGroup if one_group() => 0,
        Level::CacheGroup | Level::Numa | Level::Package | Level::Blade => core % 2,
    }
}

/// Makes the calling thread a rare waiter.
pub fn visit() {
    thread().visits.set(true);
}

/// Whether it is.
pub(super) fn visits() -> bool {
    thread().visits.get()
}

/// Lets the calling thread move between two cohorts, at each look-up.
pub fn wander() {
    thread().wanders.set(true);
}

/// The distance of two cohorts: the even ones are near each other, and so are the odd ones.
#[must_use]
pub const fn distance(one: usize, other: usize) -> u8 {
    match one.abs_diff(other) {
        0 => 0,
        apart if apart % 2 == 0 => 1,
        _ => 2,
    }
}

/// Whether this process has no thread with that number.
#[must_use]
pub fn is_gone(id: u32) -> bool {
    if std::thread::panicking() {
        return false;
    }
    touch_kernel(true);
    with(|execution| !is_held(execution, id))
}
