//! `h-synch`: the threads of each NUMA node bring their sections to a queue of their own, as to
//! [`cc-synch`](super::cc_synch), and the thread that runs those of a queue has a lock that all
//! share (Fatourou and Kallimanis 2012; Zhang et al. 2017 §2.1, §2.2).
//!
//! **Not for** sections that wait for other threads, which may be those that they wait for; nor
//! where the threads of a node seldom want it at once: then the lock goes from node to node with
//! one section or two, and each waits for two queues.
//!
//! | field | meaning | written by |
//! |---|---|---|
//! | `lock` | its holder runs sections, its own among them | its queue |
//! | `clusters` | the queue of each NUMA node; nodes beyond their number share | its threads |
//!
//! A combiner takes the lock before it runs the first section and releases it once it has left its
//! part to the next of its queue, which takes it by itself: behind the other nodes that wait.
//!
//! No thread can give up: one that is to combine waits in the queue of `lock`, which lets nobody go, and its
//! whole node waits behind it.
//!
//! The last user may drop the lock once its section has run: the drop waits for the combiner that has the
//! lock, by acquiring that.
//!
//! A child of a fork cannot go on with one that others had come to: their nodes are in its queues.

use super::CcSynch;
use super::cc_synch::HERE;
use crate::basic::Mcs;
use crate::door::{Level, NODES, cohort, flaws, mutant, others_go_on};
use crate::padded::CachePadded;
use crate::wait::{MayPark, Parking, SpinOnly};
use cohort_raw::{Delegate, RawLock, Section, TwoForms};

flaws! {
    /// The queues of two nodes run sections at once.
    FORGET_LOCK = "h-synch.forget-lock";
    /// The lock is dropped while a combiner is about to release it.
    DROP_AT_ONCE = "h-synch.drop-at-once";
}

/// The lock.  A combiner runs `MOST` sections of its node, its own among them.
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
    /// Blocks until the section has been run, by the calling thread if it is marked `HERE`.
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

// SAFETY: sections are run while the lock is held, which excludes and orders them; each by the one
// combiner of its queue, before its thread is answered.
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
