//! Memory for nodes, from the run's arena; and values that exist once per run.

use crate::host::{Census, Pool};
use cohort_machine::door;
use core::alloc::Layout;
use core::ptr::NonNull;

/// As natively: nodes in an arena's first segment.
pub const ARENA_FIRST_SEGMENT: u32 = 64;

/// As natively: cached nodes of one arena per thread.
pub const ARENA_CACHED: u32 = 8;

/// As natively: nodes in use before an arena searches for orphans.
pub const ARENA_FIRST_SEARCH: u32 = 256;

/// As natively: bytes for the context of any lock.
pub const CONTEXT_BYTES: usize = 112;

/// As natively: queues that order a lock's waiters.
pub const QUEUES: usize = 256;

/// Threads that can announce themselves as readers.
pub const READER_SLOTS: usize = 256;

/// As natively: distinct cache groups in such a queue.
pub const QUEUE_GROUPS: usize = 64;

/// As natively: distinct NUMA nodes in such a queue.
pub const QUEUE_NODES: usize = 16;

/// As natively: distinct cache groups in the count of an inflated lock's waiters.
pub const FAT_GROUPS: usize = 16;

/// Places in one lock for NUMA nodes: 64 CPUs each on the largest machine, of 4,096.
#[must_use]
pub const fn node_places(_usual: usize) -> usize {
    64
}

/// Places in a tree for cohorts of its smallest level: a cohort for each CPU of the largest machine.
#[must_use]
pub const fn leaf_places(_usual: usize) -> usize {
    4096
}

/// Places in a tree for cohorts of all other levels together: three levels of a quarter of its
/// leaves.
#[must_use]
pub const fn inner_places(usual: usize) -> usize {
    if usual == 0 { 0 } else { 3 * 1024 }
}

/// As natively: uncontended looks before a group's arrivals need no registration.
pub const CALM_LOOKS: u32 = 64;

/// For loom's backend, which creates it before there are threads.
pub const fn beforehand<T>(_: &OfRun<T>) {}

/// Room for `count` slots, all atoms zero, as long as the run's memory lives; `None` outside of a
/// run. `make` creates a slot where zero bytes are none.
#[must_use]
pub fn map_slots<S>(count: usize, _make: fn() -> S) -> Option<NonNull<S>> {
    let layout = Layout::array::<S>(count).ok()?;
    door::allocate(layout).map(NonNull::cast)
}

/// Natively, unmaps that room, still unused.
pub const fn unmap_slots<S>(_slots: NonNull<S>, _count: usize) {}

/// The input for a hash of an object's address: the offset in the run's memory, so that no result
/// depends on where the host has put that memory. Never 0, as no address is.
#[must_use]
pub fn key_of(address: usize) -> usize {
    door::offset(address).map_or(address, |offset| FIRST_KEY + offset)
}

/// As natively, where the first page is empty.
const FIRST_KEY: usize = 4096;

/// A static of the native backend: created in each run by its first user.
#[derive(Debug)]
pub struct OfRun<T>(fn() -> T);

impl<T: 'static> OfRun<T> {
    /// Wraps the function that creates it.
    #[must_use]
    pub const fn new(make: fn() -> T) -> Self {
        Self(make)
    }

    /// The run's own.
    ///
    /// # Panics
    /// Outside of a run.
    pub fn get(&self) -> &'static T {
        let place = core::ptr::from_ref(self) as usize;
        let at = door::once(place, self.0).expect("locks with nodes live inside a run");
        // SAFETY: it lives in the run's memory, which outlives the run, and locks that can reach it
        // are used only inside the run.
        unsafe { at.as_ref() }
    }
}

// SAFETY: every call goes to the run's own pool.
unsafe impl<N: 'static, P: Pool<N> + 'static> Pool<N> for OfRun<P> {
    fn take(&self) -> &'static N {
        self.get().take()
    }

    unsafe fn give(&self, node: &'static N) {
        // Locks may be dropped after their run, and its memory took the nodes along.
        if cohort_machine::is_running() {
            // SAFETY: passed on.
            unsafe { self.get().give(node) };
        }
    }

    unsafe fn leave(&self, node: &'static N) {
        // SAFETY: passed on.
        unsafe { self.get().leave(node) };
    }

    unsafe fn return_left(&self, node: &'static N) {
        // As `give`.
        if cohort_machine::is_running() {
            // SAFETY: passed on.
            unsafe { self.get().return_left(node) };
        }
    }

    fn number(&self, node: &'static N) -> u32 {
        self.get().number(node)
    }

    unsafe fn at(&self, number: u32) -> &'static N {
        // SAFETY: passed on.
        unsafe { self.get().at(number) }
    }

    fn bytes(&self) -> usize {
        self.get().bytes()
    }
}

impl<N: 'static, P: Census<N> + 'static> Census<N> for OfRun<P> {
    fn each(&self, look: &mut dyn FnMut(&'static N)) {
        self.get().each(look);
    }
}
