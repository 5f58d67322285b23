//! A thread's record: a few words, all zero at first.

use super::super::{Cache, Shown};
use super::atoms::{AtomicBool, Ordering};
use super::spin_budget::SpinBudget;
use core::cell::Cell;

/// How many arenas may keep a cache in each thread: a power of two. In a process with several locks
/// for its objects, each further lock has four more.
pub const CACHES: usize = if cfg!(feature = "several") { 32 } else { 16 };

/// The words of one thread.
#[derive(Debug)]
#[repr(C)]
pub struct ThreadRecord {
    /// The process in which `id` and the caches are valid; 0 at first.
    pub(super) generation: Cell<u32>,
    pub(super) id: Cell<u32>,
    /// How many [counted](counts_reads) read locks of `RwLock` the thread holds.
    pub reading: Cell<u32>,
    /// The cohort that counts it meanwhile.
    pub row: Cell<u32>,
    /// Counts reads of locks that others read; see [`super::finds_readers`].
    pub(super) found: Cell<u32>,
    /// The biased lock that the thread reads by its slot, for `RwLock`; 0: none.
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
    /// Releases since the last positive [`super::is_long_quiet`], and whether a
    /// [request](super::request_extension) stands.
    pub(super) quiet: Cell<u32>,
    /// The count of [revocations](super::revocations) at that time.
    pub(super) revoked: Cell<u32>,
    /// Calls of [`super::is_worth_a_try`].
    pub(super) tries: Cell<u32>,
    /// Random state of [`super::is_counted`].
    pub(super) lots: Cell<u32>,
    /// The CPU it ran on when [`super::cohort`] last asked the kernel.
    pub(super) cpu: Cell<u32>,
    /// How many more times that is trusted.
    pub(super) believed: Cell<u32>,
    /// Consecutive untaken turns that it has yielded.
    pub(super) untaken: Cell<u8>,
    /// Consecutive turns taken by others.
    pub(super) taken: Cell<u8>,
    /// Whether the last one took as long as a time slice.
    pub(super) slice: Cell<bool>,
    /// How many of its waits in a row did not end by spinning, up to a few.
    pub(super) vain: Cell<u8>,
    /// Whether it [looks](super::spin_before_sleep) before it sleeps.
    pub(super) spin_budget: SpinBudget,
    /// When waiting writers first refused it a read lock in a try, for `RwLock`; 0: never.
    pub refused: Cell<u64>,
    /// When it last ended a wait, as set by [`super::has_waited`].
    pub(super) waited: Cell<u64>,
    /// Which of its last waits began soon after the previous one, a bit each.
    pub(super) gaps: Cell<u8>,
    /// Whether its waits may [keep a contended CPU](super::keep_cpu).
    pub(super) keeps_cpu: Cell<bool>,
    /// Whether such a wait has [lost it](super::has_lost_cpu).
    pub(super) lost_cpu: Cell<bool>,
    /// Whether its present wait is at a `Gate`, or admitted by one.
    pub gated: Cell<bool>,
    /// The flag by which its present wait shows that it has yielded its CPU.
    pub shown: Shown,
    /// The address of the thread's last mutex, if it is still locked, or 0; only a named lock's
    /// host and the mutexes of `cohort.h` maintain it.
    pub holds: Cell<usize>,
    /// Which of its held locks the thread acquired by a queue, for `FutexHmcs`.
    pub queued: [Cell<u32>; 4],
    /// What precedes the thread's next wait in a queue, for `FutexHmcs`.
    pub rest: Cell<u32>,
    /// When a gate of `FutexHmcs` last admitted the thread after a sleep; 0: never.
    pub admitted: Cell<u64>,
    /// How many delegated sections the thread is in.
    pub inside: Cell<u32>,
    /// The address of the lock of its [request](super::request_extension), or 0.
    pub(super) asks_for: Cell<usize>,
    /// Whether it may make one.
    pub(super) extension: Cell<u8>,
    /// The thread's [name](Self::name); 0 before its first use.
    pub(super) name: Cell<usize>,
    /// Each arena's cached nodes.
    pub caches: [Cache; CACHES],
    /// The state of its generator, 0 at first; see [`super::chaos`].
    #[cfg(feature = "chaos")]
    pub(super) chaos: Cell<u64>,
}

static READS_COUNTED: AtomicBool = AtomicBool::new(false);

/// Whether threads of this process count their read locks, in [`ThreadRecord::reading`]: off until
/// a lock [requires it](count_reads).
#[inline(always)]
#[must_use]
pub fn counts_reads() -> bool {
    READS_COUNTED.load(Ordering::Relaxed)
}

/// Turns that on.
#[cold]
pub fn count_reads() {
    READS_COUNTED.store(true, Ordering::Relaxed);
}
