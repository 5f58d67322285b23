//! The cohorts of one lock, by level.  A cohort is made at its first acquisition and stays with the
//! lock.  So a lock's memory depends on where it is used, not on the size of the machine.
//!
//! Cohorts beyond the number of places share one.  For a lock that keeps its waiters' way up in
//! their cohorts, that is slower, but safe.

use crate::door::{AtomicPtr, constructor, inner_places, leaf_places, orders, repeated};
use crate::host::Pool;
use core::ptr;

orders! {
    /// Publishes a new cohort, and what is above it.
    TREE_MAKE = Release;
    /// Sees it.
    TREE_FIND = Acquire;
}

/// Places of a tree with a level of cores.
pub(crate) const LEAVES: usize = leaf_places(512);

/// Places of its other levels, if they are two or chosen at construction.
pub(crate) const INNER: usize = inner_places(128);

/// Places of a tree's only level, of NUMA nodes.
pub(crate) const NODE_LEAVES: usize = leaf_places(16);

/// Places of a tree's only other level, of NUMA nodes.
pub(crate) const INNER_NODES: usize = inner_places(16);

/// Places for `LEAVES` cohorts of the smallest level and `INNER` of all others together.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Tree<C, const LEAVES: usize, const INNER: usize> {
    leaves: [AtomicPtr<C>; LEAVES],
    inner: [AtomicPtr<C>; INNER],
}

impl<C, const LEAVES: usize, const INNER: usize> Tree<C, LEAVES, INNER> {
    constructor! {
        /// Without a cohort.
        pub(crate) fn new() -> Self {
            Self {
                leaves: repeated!(AtomicPtr::null(), LEAVES),
                inner: repeated!(AtomicPtr::null(), INNER),
            }
        }
    }
}

impl<C: 'static, const LEAVES: usize, const INNER: usize> Tree<C, LEAVES, INNER> {
    /// Whether each of so many levels has at least one place.
    pub(crate) const fn has_room_for(levels: usize) -> bool {
        levels == 0 || LEAVES >= 1 && INNER + 1 >= levels
    }

    /// The cohort with that number, at level `level` of `levels`; null if it does not exist yet.
    #[inline]
    pub(crate) fn find(&self, level: usize, levels: usize, cohort: usize) -> *mut C {
        self.place(level, levels, cohort).load(TREE_FIND)
    }

    #[inline]
    fn place(&self, level: usize, levels: usize, cohort: usize) -> &AtomicPtr<C> {
        if level == 0 {
            return &self.leaves[cohort % LEAVES];
        }
        // The levels are interleaved, so that no two share a place.
        let inner = levels - 1;
        &self.inner[cohort % (INNER / inner) * inner + level - 1]
    }

    /// Stores a finished cohort from `pool` where [`find`](Self::find) found none; returns the
    /// cohort stored there, which may be another thread's.
    pub(crate) fn put(
        &self,
        (level, levels, cohort): (usize, usize, usize),
        new: &'static C,
        pool: &impl Pool<C>,
    ) -> *mut C {
        let place = self.place(level, levels, cohort);
        let pointer = ptr::from_ref(new).cast_mut();
        match place.compare_exchange(ptr::null_mut(), pointer, TREE_MAKE, TREE_FIND) {
            Ok(_) => pointer,
            Err(theirs) => {
                // SAFETY: taken by the caller, and not yet shared.
                unsafe { pool.give(new) };
                theirs
            }
        }
    }

    /// All existing cohorts.
    pub(crate) fn all(&self) -> impl Iterator<Item = &'static C> {
        let places = self.leaves.iter().chain(&self.inner);
        // SAFETY: cohorts are nodes of a pool, which stay, and null is none.
        places.filter_map(|place| unsafe { place.load(TREE_FIND).as_ref() })
    }

    /// Returns all cohorts of a lock that is being dropped.
    pub(crate) fn give_back(&self, pool: &impl Pool<C>) {
        for cohort in self.all() {
            // SAFETY: put here for this lock alone.
            unsafe { pool.give(cohort) };
        }
    }
}
