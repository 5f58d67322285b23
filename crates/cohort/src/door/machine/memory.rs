//! Memory for nodes, from the run's arena; and what is one a run.

use crate::host::{Census, Pool};
use cohort_machine::door;
use core::alloc::Layout;
use core::ptr::NonNull;

/// As natively: nodes of a cache line in an arena's first segment.
pub const ARENA_FIRST_SEGMENT: u32 = 64;

/// As natively: nodes of one arena that one thread may keep.
pub const ARENA_CACHED: u32 = 8;

/// As natively: nodes given out before an arena looks for orphans.
pub const ARENA_FIRST_SEARCH: u32 = 256;

/// As natively: bytes for the context of any lock.
pub const CONTEXT_BYTES: usize = 112;

/// As natively: places for queues that put a lock's waiters in order.
pub const QUEUES: usize = 256;

/// As natively: cache groups that such a queue tells apart.
pub const QUEUE_GROUPS: usize = 64;

/// As natively: NUMA nodes that such a queue tells apart.
pub const QUEUE_NODES: usize = 16;

/// As natively: cache groups that the waiters of an inflated lock are counted by.
pub const FAT_GROUPS: usize = 16;

/// As natively: how often a holder finds groups calm before those that come are not counted as here any more.
pub const CALM_LOOKS: u32 = 64;

/// In loom's world, makes it before there are threads.
pub const fn beforehand<T>(_: &OfRun<T>) {}

/// Room for `count` slots whose atoms are all zero, for as long as the run's memory
/// lives; `None` outside of a run.  `make` says what a slot is where zero bytes are
/// none.
#[must_use]
pub fn map_slots<S>(count: usize, _make: fn() -> S) -> Option<NonNull<S>> {
    let layout = Layout::array::<S>(count).ok()?;
    door::allocate(layout).map(NonNull::cast)
}

/// Natively, gives that room back, which nobody has used.
pub const fn unmap_slots<S>(_slots: NonNull<S>, _count: usize) {}

/// What a hash of an object's address begins with: where the object is in the run's memory, so
/// that no figure depends on where the host has put that memory.  Never 0, as no address is.
#[must_use]
pub fn key_of(address: usize) -> usize {
    door::offset(address).map_or(address, |offset| FIRST_KEY + offset)
}

/// As natively, where nothing lies in the first page.
const FIRST_KEY: usize = 4096;

/// What is static natively, and here made anew in each run by its first user.
#[derive(Debug)]
pub struct OfRun<T>(fn() -> T);

impl<T: 'static> OfRun<T> {
    /// Made by `make`.
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
        // SAFETY: it lives in the run's memory, which outlives the run, and locks
        // that can reach it are used inside the run only.
        unsafe { at.as_ref() }
    }
}

// SAFETY: every call goes to the run's own pool.
unsafe impl<N: 'static, P: Pool<N> + 'static> Pool<N> for OfRun<P> {
    fn take(&self) -> &'static N {
        self.get().take()
    }

    unsafe fn give(&self, node: &'static N) {
        // Locks may be dropped after their run, whose memory takes its nodes along.
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
