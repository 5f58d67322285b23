//! `ahmcs-3`, `ahmcs-4`: the tree of `hmcs`, entered at the level of recent contention instead of
//! the leaf (Chabbi and Mellor-Crummey 2016; Chehab et al. 2021 §6).
//!
//! **Not for** permanently contended locks: `hmcs` starts at the level that this lock has to find.
//! Nor for contexts that serve several locks in turn, as a program's mutexes do, if contention
//! differs: what is learnt from one lock is applied to all.
//!
//! A context begins at the system's queue, so an uncontended thread pays for one `mcs` lock,
//! whatever the number of levels.  Each acquisition sets the entry level of the next one, at most
//! one level away.  It moves towards the level below the first one with another thread in the
//! queue:
//!
//! | first level with another thread | entry level of the next acquisition |
//! |---|---|
//! | the entry level | one lower, since the others may be neighbours |
//! | one above the entry level | the same |
//! | higher, or none | one higher, if the previous acquisition agrees |
//!
//! An entry one level below the contention costs one queue more than needed.  Only from there does
//! a thread see that no contender is nearer.  Single steps, and the confirmation of a step up, are
//! the hysteresis: a thread that once finds its queue empty stays with its neighbours, since
//! leaving them costs more than an empty queue.  The published lock uses other signs to the same
//! end.
//!
//! | field of a context | written by | meaning |
//! |---|---|---|
//! | `depth` | its acquisitions | levels from the system's down to the next entry |
//! | `lonely` | as above | the last acquisition suggested a higher entry |
//!
//! All else is `hmcs`, as is the argument: a queue treats nodes of threads and cohorts alike, and
//! has one head; hand-offs are counted for each queue.

use super::Hmcs;
use super::hmcs::Entry;
use super::shape::ChosenShape;
use crate::compose::{CacheGroup, Core, INNER, INNER_NODES, LEAVES, Numa};
use crate::door::{Cell, mutant, policies};
use crate::wait::MayPark;

policies! {
    /// Each acquisition enters at the system's queue.
    LEARN_NOTHING = "ahmcs.learn-nothing";
}

/// The entry level, learnt from recent contention.
#[derive(Debug, Default)]
pub struct WhereMet(Cell<Learnt>);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Learnt {
    depth: usize,
    lonely: bool,
}

impl WhereMet {
    fn learnt(&self) -> Learnt {
        // SAFETY: only the acquisition that owns the context accesses it.
        self.0.with(|learnt| unsafe { *learnt })
    }
}

impl Learnt {
    fn level(self, top: usize) -> usize {
        // The depth may have been learnt from a higher tree.
        top.saturating_sub(self.depth)
    }
}

// SAFETY: see `level`.
unsafe impl Entry for WhereMet {
    const LEARNS: bool = true;

    #[inline]
    fn level(&self, top: usize) -> usize {
        self.learnt().level(top)
    }

    #[inline]
    fn learn(&self, top: usize, met: usize) {
        let learnt = self.learnt();
        let entered = learnt.level(top);
        let should = if met == entered {
            entered.saturating_sub(1)
        } else {
            (entered + 1).min(met - 1).min(top)
        };
        let lonely = should > entered && !learnt.lonely;
        let next = if lonely { entered } else { should };
        let now = Learnt {
            depth: top - next,
            lonely,
        };
        // Rarely written: the level seldom changes.
        if now != learnt && !mutant(policy::LEARN_NOTHING) {
            // SAFETY: as above.
            self.0.with_mut(|place| unsafe { *place = now });
        }
    }
}

/// `ahmcs-3@core,numa,system`.
///
/// ```
/// use cohort::{Mutex, numa::Ahmcs3};
///
/// let total: Mutex<u64, Ahmcs3> = Mutex::from(1);
/// *total.lock() += 1;
/// assert_eq!(total.into_inner(), 2);
/// ```
pub type Ahmcs3<P = MayPark> = Hmcs<(Core, Numa), LEAVES, INNER_NODES, P, 128, WhereMet>;
/// `ahmcs-4@core,cache,numa,system`.
///
/// ```
/// use cohort::{Mutex, numa::Ahmcs4};
///
/// let total: Mutex<u64, Ahmcs4> = Mutex::from(1);
/// *total.lock() += 1;
/// assert_eq!(total.into_inner(), 2);
/// ```
pub type Ahmcs4<P = MayPark> = Hmcs<(Core, CacheGroup, Numa), LEAVES, INNER, P, 128, WhereMet>;
/// The lock with levels chosen at construction.
///
/// ```
/// use cohort::{Mutex, numa::AnyAhmcs};
///
/// let total: Mutex<u64, AnyAhmcs> = Mutex::from(1);
/// *total.lock() += 1;
/// assert_eq!(total.into_inner(), 2);
/// ```
pub type AnyAhmcs<P = MayPark, S = ChosenShape> = Hmcs<S, LEAVES, INNER, P, 128, WhereMet>;

#[cfg(all(test, not(checker)))]
mod tests {
    use super::*;
    use crate::numa::hmcs::NOWHERE;

    /// Levels with cohorts, below the system's.
    const TOP: usize = 3;

    /// The entry levels of acquisitions while `contended` is the lowest contended level.
    fn entered<const N: usize>(entry: &WhereMet, contended: usize) -> [usize; N] {
        core::array::from_fn(|_| {
            let level = entry.level(TOP);
            entry.learn(TOP, level.max(contended));
            level
        })
    }

    #[test]
    fn a_thread_that_meets_nobody_enters_at_the_top() {
        let entry = WhereMet::default();
        assert_eq!(entered(&entry, NOWHERE), [TOP; 4]);
    }

    #[test]
    fn a_thread_that_meets_neighbours_enters_at_the_leaf_and_comes_back() {
        let entry = WhereMet::default();
        assert_eq!(entered(&entry, 0), [3, 2, 1, 0, 0, 0]);
        assert_eq!(entered(&entry, NOWHERE), [0, 0, 1, 1, 2, 2, 3, 3]);
    }

    #[test]
    fn a_thread_that_meets_others_stays_a_level_below() {
        let entry = WhereMet::default();
        assert_eq!(entered(&entry, TOP), [3, 2, 2, 2]);
        assert_eq!(entered(&entry, 1), [2, 1, 0, 0, 0]);
        assert_eq!(entered(&entry, 2), [0, 0, 1, 1, 1]);
    }

    #[test]
    fn a_thread_that_is_alone_for_once_stays() {
        let entry = WhereMet::default();
        assert_eq!(entered(&entry, 0), [3, 2, 1, 0]);
        for met in [NOWHERE, 0, NOWHERE, 1, NOWHERE, 0] {
            entry.learn(TOP, met);
            assert_eq!(entry.level(TOP), 0);
        }
    }

    #[test]
    fn what_a_higher_tree_has_taught_ends_at_the_leaf() {
        let entry = WhereMet::default();
        assert_eq!(entered(&entry, 0), [3, 2, 1, 0]);
        assert_eq!(entry.level(1), 0);
        assert_eq!(entered(&entry, 0), [0, 0]);
        entry.learn(1, NOWHERE);
        entry.learn(1, NOWHERE);
        assert_eq!(entry.level(1), 1);
    }
}
