//! What each thread keeps.

use super::super::{Bed, Cache, Level, Shown};
use super::execution::{generation, touch_kernel, with};
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
    index: usize,
    /// Where it runs.
    core: Cell<usize>,
    /// Whether it runs elsewhere each time it asks.
    wanders: Cell<bool>,
    /// How many read locks the thread holds, for `RwLock`.
    pub reading: Cell<u32>,
    /// The cohort in which it is counted while it does.
    pub row: Cell<u32>,
    /// Since when waiting writers have refused it a read lock, as natively.
    pub refused: Cell<u64>,
    /// Where its present wait shows that it has given its CPU away.
    pub shown: Shown,
    /// Its place among the sleepers that another thread may wake by its word.
    pub bed: Bed,
    /// Where the thread came by a queue to locks that it holds, for `FutexHmcs`.
    pub queued: [Cell<u32>; 4],
    /// How many sections of delegates the thread is in.
    pub inside: Cell<u32>,
    /// Whether its present wait is one at a gate or inside of one, for `Gate`.
    pub gated: Cell<bool>,
    /// Each arena's cached nodes.
    pub caches: [Cache; CACHES],
}

impl ThreadRecord {
    pub(super) fn new(index: usize) -> Self {
        Self {
            generation: Cell::new(0),
            index,
            core: Cell::new([0, 1, 2, 1][index % 4]),
            wanders: Cell::new(false),
            reading: Cell::new(0),
            row: Cell::new(0),
            refused: Cell::new(0),
            shown: Shown::default(),
            bed: Bed::default(),
            queued: Default::default(),
            inside: Cell::new(0),
            gated: Cell::new(false),
            caches: Default::default(),
        }
    }

    /// Forgets what was true in the parent process.
    pub fn settle(&self) {
        if !self.is_settled() {
            self.generation.set(generation());
            self.caches.iter().for_each(Cache::forget);
        }
    }

    /// Whether nothing was to be forgotten.
    pub fn is_settled(&self) -> bool {
        self.generation.get() == generation()
    }

    /// The thread's number in this process; good once [settled](Self::settle).
    pub fn id(&self) -> u32 {
        self.generation.get() * 0x100 + self.index as u32
    }
}

/// The calling thread's words.
#[must_use]
pub fn thread() -> &'static ThreadRecord {
    let record: *const ThreadRecord = with(|execution| &raw const *execution.me().record);
    // SAFETY: the words are boxed and live until the execution ends, and with it
    // all of its threads; the type is not `Sync`, so the reference stays here.
    unsafe { &*record }
}

/// Whether threads count their read locks: in a model in which they have been found to need it, and
/// in every other from there on.
#[must_use]
pub fn counts_reads() -> bool {
    with(|execution| execution.settings.counts_reads)
}

/// From here on they do.
pub fn count_reads() {
    with(|execution| execution.settings.counts_reads = true);
}

/// The number of the calling thread in this process: a thread that forks has
/// another one in the child.
#[must_use]
pub fn thread_id() -> u32 {
    let me = thread();
    me.settle();
    me.id()
}

/// How many cache groups threads are in: more than one, but in a model of
/// [one](super::Model::one_group).
#[must_use]
pub fn cache_groups() -> usize {
    if one_group() { 1 } else { 2 }
}

/// The CPU on which the calling thread runs.  They are one here, so that each waiter at a condition
/// is offered to its mutex, and models see that too.
#[must_use]
pub const fn cpu() -> u32 {
    0
}

/// The cohort of the calling thread.  The first and the third thread are neighbours, the
/// second is elsewhere; a fourth shares its core, and a fifth the first one's.
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

/// Lets the calling thread be moved between two cohorts, each time it asks.
pub fn wander() {
    thread().wanders.set(true);
}

/// How far two cohorts are from each other: the even ones, as the odd ones, are near.
#[must_use]
pub const fn distance(one: usize, other: usize) -> u8 {
    match one.abs_diff(other) {
        0 => 0,
        apart if apart % 2 == 0 => 1,
        _ => 2,
    }
}

/// Whether no thread of this process has that number any more.
#[must_use]
pub fn is_gone(id: u32) -> bool {
    if std::thread::panicking() {
        return false;
    }
    touch_kernel(true);
    with(|execution| {
        let (generation, index) = (id / 0x100, id as usize % 0x100);
        generation != execution.generation || !execution.threads[index].lives
    })
}
