//! A thread's record.

use super::super::{Cache, ID_BITS, Level, Shown};
use super::execution::{Execution, generation, touch_kernel, with};
use super::spinner::one_group;
use super::std;
use core::cell::Cell;

/// How many arenas may keep a cache in each thread: a power of two.
pub const CACHES: usize = 16;

/// The words of one thread.
#[derive(Debug)]
pub struct ThreadRecord {
    /// The process in which `id` and the caches are valid; 0 at first.
    generation: Cell<u32>,
    id: Cell<u32>,
    index: usize,
    /// Its place.
    core: Cell<usize>,
    /// Whether it moves at each look-up of its place.
    wanders: Cell<bool>,
    /// Whether it seldom waits, in a model where others wait often.
    visits: Cell<bool>,
    /// How many read locks the thread holds, for `RwLock`.
    pub reading: Cell<u32>,
    /// The cohort that counts it meanwhile.
    pub row: Cell<u32>,
    /// The biased lock that the thread reads by its slot, as natively.
    pub announced: Cell<usize>,
    /// The lock that it last found biased.
    pub biased: Cell<usize>,
    /// The index of its slot.
    pub slot: Cell<u32>,
    /// The process in which it has that slot, plus 1; 0: none.
    pub slot_of: Cell<u32>,
    /// Its `id` there.
    pub slot_owner: Cell<u32>,
    /// How often it has found no slot.
    pub slot_tries: Cell<u32>,
    /// When waiting writers first refused it a read lock, as natively.
    pub refused: Cell<u64>,
    /// The flag by which its present wait shows that it has yielded its CPU.
    pub shown: Shown,
    /// Which of its held locks the thread acquired by a queue, for `FutexHmcs`.
    pub queued: [Cell<u32>; 4],
    /// How many delegated sections the thread is in.
    pub inside: Cell<u32>,
    /// Whether its present wait is at a `Gate`, or admitted by one.
    pub gated: Cell<bool>,
    /// Each arena's cached nodes.
    pub caches: [Cache; CACHES],
}

impl ThreadRecord {
    pub(super) fn new(index: usize) -> Self {
        Self {
            generation: Cell::new(0),
            id: Cell::new(0),
            index,
            core: Cell::new([0, 1, 2, 1][index % 4]),
            wanders: Cell::new(false),
            visits: Cell::new(false),
            reading: Cell::new(0),
            row: Cell::new(0),
            announced: Cell::new(0),
            biased: Cell::new(0),
            slot: Cell::new(0),
            slot_of: Cell::new(0),
            slot_owner: Cell::new(0),
            slot_tries: Cell::new(0),
            refused: Cell::new(0),
            shown: Shown::default(),
            queued: Default::default(),
            inside: Cell::new(0),
            gated: Cell::new(false),
            caches: Default::default(),
        }
    }

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

    /// The thread's number in this process; valid once [settled](Self::settle).
    pub fn id(&self) -> u32 {
        self.id.get()
    }

    /// The thread's name in the objects that it owns, as natively.
    pub fn name(&self) -> usize {
        self.index + 1
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
