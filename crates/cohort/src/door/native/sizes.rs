//! Sizes of the locks' tables, and values that exist once per process.

use crate::host::Pool;

/// Nodes in an arena's first segment: a page, at a cache line each. Segments are mapped on demand,
/// since a program may have all its memory locked.
pub const ARENA_FIRST_SEGMENT: u32 = 64;

/// Cached nodes of one arena per thread, so that most acquisitions touch no shared list.
pub const ARENA_CACHED: u32 = 8;

/// Nodes before the first search for orphans. A search costs a system call for each owner, so the
/// next one waits until the arena has doubled.
pub const ARENA_FIRST_SEARCH: u32 = 256;

/// Bytes for the context of any lock: two lines of its own, with a pool's tag.
pub const CONTEXT_BYTES: usize = 112;

/// Queues that order a lock's waiters: more than a program has heavily contended locks.
pub const QUEUES: usize = 256;

/// Threads that can announce themselves as readers; further ones count themselves.
pub const READER_SLOTS: usize = 1024;

/// Distinct cache groups in such a queue; further groups share.
pub const QUEUE_GROUPS: usize = 64;

/// Distinct NUMA nodes in such a queue; further nodes share.
pub const QUEUE_NODES: usize = 16;

/// Distinct cache groups in the count of an inflated lock's waiters; further groups share.
pub const FAT_GROUPS: usize = 16;

/// Places in one lock for NUMA nodes, where the lock is to have that many; further nodes share.
#[must_use]
pub const fn node_places(usual: usize) -> usize {
    usual
}

/// Places in a tree for cohorts of its smallest level, where it is to have that many.
#[must_use]
pub const fn leaf_places(usual: usize) -> usize {
    usual
}

/// Places in a tree for cohorts of all other levels together, where it is to have that many.
#[must_use]
pub const fn inner_places(usual: usize) -> usize {
    usual
}

/// How often a holder finds groups uncontended before their arrivals need no registration.
pub const CALM_LOOKS: u32 = 64;

/// A value that exists once per process.
#[derive(Debug)]
pub struct OfProcess<T>(T);

impl<T> OfProcess<T> {
    /// Wraps the value.
    pub const fn new(value: T) -> Self {
        Self(value)
    }

    /// The value.
    #[inline(always)]
    pub const fn get(&'static self) -> &'static T {
        &self.0
    }
}

// SAFETY: every call goes to the process's own pool.
unsafe impl<N: 'static, P: Pool<N>> Pool<N> for OfProcess<P> {
    fn take(&self) -> &'static N {
        self.0.take()
    }

    unsafe fn give(&self, node: &'static N) {
        // SAFETY: passed on.
        unsafe { self.0.give(node) };
    }

    unsafe fn leave(&self, node: &'static N) {
        // SAFETY: passed on.
        unsafe { self.0.leave(node) };
    }

    unsafe fn return_left(&self, node: &'static N) {
        // SAFETY: passed on.
        unsafe { self.0.return_left(node) };
    }

    fn number(&self, node: &'static N) -> u32 {
        self.0.number(node)
    }

    unsafe fn at(&self, number: u32) -> &'static N {
        // SAFETY: passed on.
        unsafe { self.0.at(number) }
    }

    fn bytes(&self) -> usize {
        self.0.bytes()
    }
}

/// For loom's backend, which creates it before there are threads.
pub const fn beforehand<T>(_: &OfProcess<T>) {}

/// The input for a hash of an object's address.
#[inline(always)]
#[must_use]
pub const fn key_of(address: usize) -> usize {
    address
}
