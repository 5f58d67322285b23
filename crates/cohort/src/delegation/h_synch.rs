//! `h-synch`: the threads of each NUMA node publish their critical sections in their node's queue,
//! as in [`cc-synch`](super::cc_synch). The combiner of a queue acquires a lock shared by all nodes
//! (Fatourou and Kallimanis 2012; Zhang et al. 2017 §2.1, §2.2).
//!
//! **Not for** sections that wait for other threads: the combiner may have such a thread's section
//! pending. Nor for low contention within a node: then the lock changes nodes after one or two
//! sections, and each thread waits in two queues.
//!
//! | field | meaning | written by |
//! |---|---|---|
//! | `lock` | its holder runs sections, its own among them | its queue |
//! | `clusters` | the queue of each NUMA node; nodes beyond their number share a queue | its threads |
//!
//! A combiner acquires the lock before its first section. It releases the lock after it has handed
//! its queue to the next combiner, which acquires the lock anew, behind other waiting nodes.
//!
//! No thread can give up: a new combiner waits in the queue of `lock`, whose waiters cannot give
//! up, and its whole node waits behind it.
//!
//! The last user may drop the lock once its section has run: the drop acquires `lock`, and so waits
//! for the current combiner.
//!
//! A child of a fork cannot use a lock with arrivals of its parent: their nodes are in its queues.

use super::CcSynch;
use super::cc_synch::HERE;
use crate::basic::Mcs;
use crate::door::{Level, NODES, cohort, flaws, mutant, others_go_on};
use crate::support::padded::CachePadded;
use crate::wait::{MayPark, Parking, SpinOnly};
use cohort_raw::{Delegate, RawLock, Section, TwoForms};

flaws! {
    /// The queues of two NUMA nodes run sections at the same time.
    FORGET_LOCK = "h-synch.forget-lock";
    /// The lock is dropped while a combiner is about to release it.
    DROP_AT_ONCE = "h-synch.drop-at-once";
}

/// The lock. A combiner runs at most `MOST` sections of its NUMA node, its own among them.
///
/// ```
/// use cohort::{Delegated, delegation::HSynch};
///
/// let total: Delegated<u64, HSynch> = Delegated::from(1);
/// total.run(|total| *total += 1);
/// assert_eq!(total.run(|total| *total), 2);
/// ```
#[derive(Debug)]
#[repr(C)]
pub struct HSynch<
    L: RawLock = Mcs,
    P: Parking = MayPark,
    const MOST: u32 = 256,
    const CLUSTERS: usize = NODES,
> {
    lock: CachePadded<L>,
    clusters: [CachePadded<CcSynch<P, MOST>>; CLUSTERS],
}

impl<L: RawLock, P: Parking, const MOST: u32, const CLUSTERS: usize> Default
    for HSynch<L, P, MOST, CLUSTERS>
{
    fn default() -> Self {
        Self {
            lock: CachePadded::default(),
            clusters: core::array::from_fn(|_| CachePadded::default()),
        }
    }
}

impl<L: RawLock, P: Parking, const MOST: u32, const CLUSTERS: usize> HSynch<L, P, MOST, CLUSTERS> {
    /// Blocks until the section has been run; if marked `HERE`, by the calling thread.
    fn bring(&self, cx: &L::Context, section: Section<'_>, marks: u32) {
        let cluster = &self.clusters[cohort(Level::Numa) % CLUSTERS].0;
        cluster.bring(section, marks, |combine| {
            if mutant(flaw::FORGET_LOCK) {
                return combine();
            }
            // SAFETY: a call has its context for itself, and sections do not unwind.
            unsafe {
                self.lock.0.acquire(cx);
                combine();
                self.lock.0.release(cx);
            }
        });
    }
}

// SAFETY: sections run while the lock is held, which excludes and orders them. The one combiner of
// a queue runs each, before it answers the section's thread.
unsafe impl<L: RawLock, P: Parking, const MOST: u32, const CLUSTERS: usize> Delegate
    for HSynch<L, P, MOST, CLUSTERS>
{
    type Context = L::Context;

    fn run(&self, cx: &mut L::Context, section: Section<'_>) {
        self.bring(cx, section, 0);
    }

    fn run_here(&self, cx: &mut L::Context, section: Section<'_>) {
        self.bring(cx, section, HERE);
    }
}

impl<L: RawLock, P: Parking, const MOST: u32, const CLUSTERS: usize> Drop
    for HSynch<L, P, MOST, CLUSTERS>
{
    fn drop(&mut self) {
        let mut clusters = self.clusters.iter();
        // A thread of a parent process would never release it.
        let is_used = others_go_on() && clusters.any(|cluster| cluster.0.is_used_here());
        if is_used && !mutant(flaw::DROP_AT_ONCE) {
            let cx = L::Context::default();
            // SAFETY: a new context, by which the lock is released before the frame ends.
            unsafe {
                self.lock.0.acquire(&cx);
                self.lock.0.release(&cx);
            }
        }
    }
}

impl<L, const MOST: u32, const CLUSTERS: usize> super::InTwoForms
    for HSynch<L, MayPark, MOST, CLUSTERS>
where
    L: RawLock + TwoForms,
{
    type Spinning = HSynch<L::Spinning, SpinOnly, MOST, CLUSTERS>;
}
