//! A simulated thread's record.

use super::super::{Cache, Counter, Shown};
use super::std;
use cohort_machine::door;
use core::cell::Cell;

/// How many arenas may keep a cache in each thread: a power of two.
pub const CACHES: usize = 16;

/// The words of one thread.
#[derive(Debug, Default)]
pub struct ThreadRecord {
    /// How many read locks the thread holds, for `RwLock`.
    pub reading: Cell<u32>,
    /// The cohort that counts it meanwhile.
    pub row: Cell<u32>,
    /// Counts reads of locks that others read.
    found: Cell<u32>,
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
    /// Releases since the last positive [`super::is_long_quiet`].
    pub(super) quiet: Cell<u32>,
    /// The count of [revocations](super::revocations) at that time.
    pub(super) revoked: Cell<u32>,
    /// Calls of [`super::is_worth_a_try`].
    pub(super) tries: Cell<u32>,
    /// Random state of [`super::is_counted`].
    pub(super) lots: Cell<u32>,
    /// The flag by which its present wait shows that it has yielded its CPU.
    pub shown: Shown,
    /// Its last locked object, for `host::served`.
    pub holds: Cell<usize>,
    /// Which of its held locks the thread acquired by a queue, for `FutexHmcs`.
    pub queued: [Cell<u32>; 4],
    /// What precedes the thread's next wait in a queue, for `FutexHmcs`.
    pub rest: Cell<u32>,
    /// When a gate of `FutexHmcs` last admitted the thread after a sleep; 0: never.
    pub admitted: Cell<u64>,
    /// How many delegated sections the thread is in.
    pub inside: Cell<u32>,
    /// Whether its present wait is at a `Gate`, or admitted by one.
    pub gated: Cell<bool>,
    /// Its counts, by [`Counter`].
    counted: [Cell<u64>; Counter::ALL.len()],
    /// Each arena's cached nodes.
    pub caches: [Cache; CACHES],
}

/// Counts an event of the calling thread, at no cost.
pub fn count(what: Counter, times: u64) {
    let count = &thread().counted[what as usize];
    count.set(count.get() + times);
}

/// The calling thread's count so far.
#[must_use]
pub fn counted(what: Counter) -> u64 {
    thread().counted[what as usize].get()
}

std::thread_local! {
    /// The record of a thread that uses a lock outside of a run.
    static OUTSIDE: &'static ThreadRecord = std::boxed::Box::leak(std::boxed::Box::default());
}

/// The calling thread's words.
#[must_use]
pub fn thread() -> &'static ThreadRecord {
    match door::local::<ThreadRecord>() {
        // SAFETY: the words live as long as the run, and with it all of its threads;
        // the type is not `Sync`, so the reference stays here.
        Some(record) => unsafe { record.as_ref() },
        None => OUTSIDE.with(|record| *record),
    }
}

impl ThreadRecord {
    /// Forgets the parent process's state: there is none.
    pub const fn settle(&self) {}

    /// Whether there is nothing to forget.
    pub const fn is_settled(&self) -> bool {
        true
    }

    /// The thread's number, at least 1.
    pub fn id(&self) -> u32 {
        thread_id()
    }

    /// The thread's name in the objects that it owns, as natively.
    pub fn name(&self) -> usize {
        // Records are not used again.
        core::ptr::from_ref(self).addr()
    }
}

/// Whether threads count their read locks: they do, as natively from the first reader on that
/// has waited behind a writer in vain.
#[inline(always)]
#[must_use]
pub const fn counts_reads() -> bool {
    true
}

/// They do.
pub const fn count_reads() {}

/// As natively: how often a thread finds other readers before it considers what that costs.
const FOUND: u32 = 256;

/// Under random schedules, one reader in so many considers a bias.
const BIAS_CHANCE: u64 = 4;

/// Whether the calling thread has found other readers often enough, as natively; never outside of a
/// run.
#[must_use]
pub fn finds_readers() -> bool {
    if !cohort_machine::is_running() {
        return false;
    }
    if door::chance(BIAS_CHANCE) {
        return true;
    }
    let found = &thread().found;
    found.set(found.get().wrapping_add(1));
    found.get().is_multiple_of(FOUND)
}

/// Whether a lock's change to bias is paced: always in virtual time.
#[must_use]
pub fn is_paced() -> bool {
    !door::chance(2)
}

/// The calling thread's number, at least 1.
#[must_use]
pub fn thread_id() -> u32 {
    door::thread().map_or(u32::MAX - 1, |number| number as u32 + 1)
}

/// Whether this run has no thread with that number.
#[must_use]
pub fn is_gone(id: u32) -> bool {
    door::has_returned(id as usize - 1)
}

/// The calling thread's number, unique in a run.
#[must_use]
pub fn thread_number() -> u64 {
    u64::from(thread_id())
}

/// Whether other threads may go on: none does outside of a run.
pub(crate) fn others_go_on() -> bool {
    door::thread().is_some()
}
