//! `cc-synch`: threads bring their sections to a queue by one exchange, and the first in it runs
//! those behind it (Fatourou and Kallimanis 2012; Zhang et al. 2017 §1, §2.1).
//!
//! **Not for** sections that wait for other threads, which may be those that they wait for; nor
//! for more runnable threads than CPUs unless its waiters may sleep, since the first in the
//! queue runs all.
//!
//! | field | meaning | written by |
//! |---|---|---|
//! | `tail` | the node in which the next arrival brings its section; null: nobody has come yet | arrivals, by an exchange |
//! | a node's `section`, `here` | the section; whether its owner is to run it: 1, or 0 if not | the arrival that found the node |
//! | a node's `next` | the node after it, where the next one brings its section; null: nothing is brought here yet | the same, last |
//! | a node's `state` | see below | the combiner |
//!
//! | `state` | meaning |
//! |---|---|
//! | `WAIT` | its section is to be run |
//! | `DONE` | it has been |
//! | `COMBINE` | the thread that brings a section here runs it, and those behind it |
//!
//! An arrival leaves a fresh node for the next one and takes the one that it found, which is its
//! own until it returns.  A combiner runs `MOST` sections at most, and then leaves its part to
//! the node that it has come to: to the thread that waits there, or to the one that comes next.
//! So the lock is free if and only if `COMBINE` stands in the last node, and its releases need no
//! look at anything else.
//!
//! A child of a fork cannot go on with one that others had come to: their nodes are in its queue.

use super::{may_serve, run};
use crate::door::{
    AtomicPtr, AtomicU32, Cell, Order, Tallied, flaws, orders, pool, tally, tally_moment,
};
use crate::host::Pool;
use crate::wait::{MayPark, Parking, SpinOnly, WaitCell};
use cohort_raw::{Delegate, Section};
use core::marker::PhantomData;
use core::ptr;

orders! {
    /// Publishes the fresh node to the next arrival; sees the one that is found there fresh.
    CC_ARRIVE = AcqRel;
    /// The section is seen with what its thread did before.
    CC_BRING = Release;
    /// Sees it.
    CC_BROUGHT = Acquire;
    /// What the section did is seen by its thread, or what all of them did by the next combiner.
    CC_ANSWER = Release;
    /// Sees it.
    CC_ANSWERED = Acquire;
}

flaws! {
    /// A combiner that is in a section of another lock runs those of others here.
    SERVE_INSIDE = "cc-synch.serve-inside";
}

const WAIT: u32 = 0;
const DONE: u32 = 1;
const COMBINE: u32 = 2;

/// One waits for a node.
const CLASS: u32 = 1;

/// A place in the queue.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Node {
    state: WaitCell<MayPark>,
    here: AtomicU32,
    section: Cell<Option<Section<'static>>>,
    next: AtomicPtr<Node>,
}

pool! {
    /// Nodes change hands with each section, so no frame owns one.
    static NODES: Node, cache 9
}

/// The lock.  A combiner runs `MOST` sections, its own among them.
///
/// ```
/// use cohort::{Delegated, delegation::CcSynch};
///
/// let total: Delegated<u64, CcSynch> = Delegated::from(1);
/// total.run(|total| *total += 1);
/// assert_eq!(total.run(|total| *total), 2);
/// ```
#[derive(Debug)]
#[repr(C)]
pub struct CcSynch<P: Parking = MayPark, const MOST: u32 = 256> {
    tail: AtomicPtr<Node>,
    parking: PhantomData<P>,
}

impl<P: Parking, const MOST: u32> Default for CcSynch<P, MOST> {
    fn default() -> Self {
        Self {
            tail: AtomicPtr::null(),
            parking: PhantomData,
        }
    }
}

impl Node {
    /// A node in that state, which nobody else has.
    fn fresh(state: u32) -> &'static Self {
        let node = NODES.take();
        node.next.store(ptr::null_mut(), Order::RELAXED);
        node.state.reset(state);
        node
    }

    /// Runs its section.
    ///
    /// # Safety
    /// The caller is the combiner, and a section was brought.
    unsafe fn serve(&self) {
        // SAFETY: a section that was brought is the combiner's.
        if let Some(section) = self.section.with_mut(|place| unsafe { (*place).take() }) {
            // SAFETY: there is one combiner.
            unsafe { run(section) };
        }
    }
}

impl<P: Parking, const MOST: u32> CcSynch<P, MOST> {
    /// Blocks until the section has been run; `here`: by the calling thread.  If that thread has
    /// become the combiner, it runs what `under` is given, inside of it.
    pub(super) fn bring(
        &self,
        section: Section<'_>,
        here: bool,
        under: impl FnOnce(&mut dyn FnMut()),
    ) {
        let next = Node::fresh(WAIT);
        let found = self.tail.swap(ptr::from_ref(next).cast_mut(), CC_ARRIVE);
        // SAFETY: a node stays as long as it is in the queue; this one is now the caller's.
        let mine = unsafe { found.cast_const().as_ref::<'static>() };
        let mine = mine.unwrap_or_else(|| Node::fresh(COMBINE));
        // SAFETY: this call returns once it has been run.
        let section = unsafe { section.outliving() };
        // SAFETY: nobody looks there until the next node is known.
        mine.section
            .with_mut(|place| unsafe { *place = Some(section) });
        mine.here.store(here.into(), Order::RELAXED);
        mine.next.store(ptr::from_ref(next).cast_mut(), CC_BRING);
        let state = mine.state.in_form::<P>();
        state.wait_for(CC_ANSWERED, CLASS, |state| state != WAIT);
        if state.value(CC_ANSWERED) == COMBINE {
            under(&mut || self.combine(mine));
        }
        // SAFETY: it came from this pool; the thread that wrote its state has gone past it.
        unsafe { NODES.give(mine) };
    }

    /// Runs the sections from the caller's node on, and leaves that to another.
    fn combine(&self, mine: &Node) {
        let most = if may_serve(flaw::SERVE_INSIDE) {
            MOST
        } else {
            1
        };
        let moment = tally_moment();
        tally(Tallied::Nominations, 1);
        let mut node = mine;
        for _ in 0..most {
            // SAFETY: a node that is linked stays until its thread is answered, and the last one
            // until somebody has brought a section there.
            let Some(next) = (unsafe { node.next.load(CC_BROUGHT).as_ref() }) else {
                break;
            };
            if ptr::eq(node, mine) {
                // SAFETY: the state says that this thread combines.
                unsafe { node.serve() };
            } else {
                if node.here.load(Order::RELAXED) != 0 {
                    break;
                }
                // SAFETY: as above.
                unsafe { node.serve() };
                tally(Tallied::Served, 1);
                node.state.in_form::<P>().set(DONE, CC_ANSWER);
            }
            node = next;
        }
        tally(Tallied::Serving, tally_moment() - moment);
        node.state.in_form::<P>().set(COMBINE, CC_ANSWER);
    }
}

// SAFETY: one node at a time says that its owner combines: the one that the last combiner came
// to; each section is taken out of its node by that owner, before its thread is answered.
unsafe impl<P: Parking, const MOST: u32> Delegate for CcSynch<P, MOST> {
    type Context = ();

    #[inline]
    fn run(&self, (): &(), section: Section<'_>) {
        self.bring(section, false, |combine| combine());
    }

    fn run_here(&self, (): &(), section: Section<'_>) {
        self.bring(section, true, |combine| combine());
    }
}

impl<P: Parking, const MOST: u32> Drop for CcSynch<P, MOST> {
    fn drop(&mut self) {
        let last = self.tail.load(CC_BROUGHT);
        // SAFETY: nobody uses this lock any more, whose last node is its own.
        if let Some(last) = unsafe { last.cast_const().as_ref::<'static>() } {
            // SAFETY: it came from this pool.
            unsafe { NODES.give(last) };
        }
    }
}

impl<P: Parking, const MOST: u32> super::InTwoForms for CcSynch<P, MOST> {
    type Spinning = CcSynch<SpinOnly, MOST>;
}
