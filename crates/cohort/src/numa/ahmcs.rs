//! `ahmcs-3`, `ahmcs-4`: the tree of `hmcs`, which a thread enters at the level where it
//! has found others of late rather than at its leaf (Chabbi and Mellor-Crummey 2016; Chehab et
//! al. 2021 §6).
//!
//! **Not for** locks that many always want: `hmcs` is there at once, and this one gets
//! there.  Nor for contexts that serve several locks in turn, as a program's mutexes use
//! them, where those are not contended alike: what was learnt of one is applied to all.
//!
//! A context begins at the system's queue, so that a thread that meets nobody pays for one
//! `mcs` lock, however many levels there are.  Each acquisition tells where the next one
//! should enter, at most a level away, towards the one below the first at which somebody
//! was in the queue:
//!
//! | somebody was first met | the next acquisition enters |
//! |---|---|
//! | in the queue that it entered | a level lower, where the others may be neighbours |
//! | a level above | at the same level: below it nobody is |
//! | higher up, or nowhere | a level higher, if the one before said so too |
//!
//! One level lower than where others are met is one queue more than needed, and the only
//! place from which it shows that none of them is nearer.  A step at a time, and the second
//! word for a step up, are the hysteresis: a thread that for once finds its queue empty
//! stays with its neighbours, since to leave them costs more than an empty queue.  The
//! published lock looks for other signs to the same end.
//!
//! | field of a context | written by | meaning |
//! |---|---|---|
//! | `depth` | its acquisitions | levels from the system's down to where the next one enters |
//! | `lonely` | as above | the last one would have it enter higher |
//!
//! Everything else is `hmcs`'s, and so is the argument: a queue does not care whose node
//! is in it, a thread's or a cohort's, and has one head; a row is counted for each queue.

use super::Hmcs;
use super::hmcs::Entry;
use super::shape::ChosenShape;
use crate::compose::{CacheGroup, Core, Numa};
use crate::door::Cell;
use crate::wait::MayPark;

/// Where the thread has found others of late.
#[derive(Debug, Default)]
pub struct WhereMet(Cell<Learnt>);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Learnt {
    depth: usize,
    lonely: bool,
}

impl WhereMet {
    fn learnt(&self) -> Learnt {
        // SAFETY: only the acquisition that owns the context touches it.
        self.0.with(|learnt| unsafe { *learnt })
    }
}

impl Learnt {
    fn level(self, top: usize) -> usize {
        // It may have been learnt of a higher tree.
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
        // Mostly there is nothing new.
        if now != learnt {
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
pub type Ahmcs3<P = MayPark> = Hmcs<(Core, Numa), 512, 16, P, 128, WhereMet>;
/// `ahmcs-4@core,cache,numa,system`.
///
/// ```
/// use cohort::{Mutex, numa::Ahmcs4};
///
/// let total: Mutex<u64, Ahmcs4> = Mutex::from(1);
/// *total.lock() += 1;
/// assert_eq!(total.into_inner(), 2);
/// ```
pub type Ahmcs4<P = MayPark> = Hmcs<(Core, CacheGroup, Numa), 512, 128, P, 128, WhereMet>;
/// One that is told when it is made at which levels it is.
///
/// ```
/// use cohort::{Mutex, numa::AnyAhmcs};
///
/// let total: Mutex<u64, AnyAhmcs> = Mutex::from(1);
/// *total.lock() += 1;
/// assert_eq!(total.into_inner(), 2);
/// ```
pub type AnyAhmcs<P = MayPark> = Hmcs<ChosenShape, 512, 128, P, 128, WhereMet>;

#[cfg(all(test, world = "native"))]
mod tests {
    use super::*;
    use crate::numa::hmcs::NOWHERE;

    /// Levels with cohorts; the system's is above them.
    const TOP: usize = 3;

    /// The levels that acquisitions enter while the lowest at which somebody can be met is
    /// that one.
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
