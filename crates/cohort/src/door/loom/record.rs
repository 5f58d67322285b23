//! A thread's record.

use super::super::{Cache, Shown};
use core::cell::Cell;

/// How many arenas may keep a cache in each thread: a power of two.
pub const CACHES: usize = 16;

/// The words of one thread.
#[derive(Debug)]
pub struct ThreadRecord {
    /// The process in which `id` and the caches are valid; 0 at first.
    pub(super) generation: Cell<u32>,
    pub(super) id: Cell<u32>,
    pub(super) index: usize,
    /// Its place.
    pub(super) core: Cell<usize>,
    /// Whether it moves at each look-up of its place.
    pub(super) wanders: Cell<bool>,
    /// Whether it seldom waits, in a model where others wait often.
    pub(super) visits: Cell<bool>,
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
    /// What precedes the thread's next wait in a queue, for `FutexHmcs`.
    pub rest: Cell<u32>,
    /// When a gate of `FutexHmcs` last admitted the thread after a sleep; 0: never.
    pub admitted: Cell<u64>,
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
            rest: Default::default(),
            admitted: Default::default(),
            inside: Cell::new(0),
            gated: Cell::new(false),
            caches: Default::default(),
        }
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
