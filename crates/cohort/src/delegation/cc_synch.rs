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
//! | a node's `section`, `marks` | the section; whether its owner is to run it, or may give up | the arrival that found the node |
//! | a node's `next` | the node after it, where the next one brings its section; null: nothing is brought here yet | the same, last |
//! | a node's `process` | the process of the arrival that left the node | that arrival, before others see it |
//! | a node's `told` | see [`told`](super::told): by `YOURS` its thread is the combiner | the combiner; its thread, as it gives up |
//!
//! An arrival leaves a fresh node for the next one and takes the one that it found, which is its
//! own until it returns.  A combiner runs `MOST` sections at most, and then leaves its part to
//! the node that it has come to: to the thread that waits there, or to the one that comes next.
//! So the lock is free if and only if `YOURS` stands in the last node, and its releases need no
//! look at anything else.  A node of a thread that has given up stays in the queue, and the combiner that
//! comes to it gives it back.
//!
//! To leave the lock is the last that a combiner does to it.  The last user may drop the lock once its section
//! has run: the drop waits until the combiner has come to the last node.
//!
//! A child of a fork cannot go on with one that others had come to: their nodes are in its queue.

use super::told::{Told, WAIT, YOURS};
use super::{may_serve, run};
use crate::door::{
    AtomicPtr, AtomicU32, Cell, Order, Tallied, flaws, generation, mutant, orders, outlast, pool,
    tally, tally_moment,
};
use crate::host::Pool;
use crate::wait::{MayPark, Parking, SpinOnly};
use cohort_raw::{AbortableDelegate, Delegate, Outcome, Patience, Section};
use core::marker::PhantomData;
use core::ptr;

orders! {
    /// Publishes the fresh node to the next arrival; sees the one that is found there fresh.
    CC_ARRIVE = AcqRel;
    /// The section is seen with what its thread did before.
    CC_BRING = Release;
    /// Sees it.
    CC_BROUGHT = Acquire;
}

flaws! {
    /// A combiner that is in a section of another lock runs those of others here.
    SERVE_INSIDE = "cc-synch.serve-inside";
    /// The lock is dropped while a combiner is about to leave it.
    DROP_AT_ONCE = "cc-synch.drop-at-once";
}

/// Marks of a node: its thread runs its section.
pub(super) const HERE: u32 = 1;
/// Its thread may give up.
const MAY_GO: u32 = 2;

/// A place in the queue.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Node {
    told: Told,
    marks: AtomicU32,
    process: AtomicU32,
    section: Cell<Option<Section<'static>>>,
    next: AtomicPtr<Node>,
}

pool! {
    /// Nodes change hands with each section, so no frame owns one.
    static NODES: Node, cache 9
}

/// Bytes of all of them made so far.
pub(super) fn pool_bytes() -> usize {
    NODES.bytes()
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
    /// A node that says so, which nobody else has.
    fn fresh(told: u32) -> &'static Self {
        let node = NODES.take();
        node.next.store(ptr::null_mut(), Order::RELAXED);
        node.process.store(generation(), Order::RELAXED);
        node.told.reset(told);
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

    /// The node behind it, if a section is brought here.
    fn next(&self) -> Option<&'static Self> {
        // SAFETY: a node that is linked stays until its thread is answered, and the last one
        // until somebody has brought a section there.
        unsafe { self.next.load(CC_BROUGHT).cast_const().as_ref() }
    }

    /// Whether a thread of this process has left it: then a combiner that is to come to it is of
    /// this process, too.
    fn is_of_here(&self) -> bool {
        self.process.load(Order::RELAXED) == generation()
    }

    /// Gives it back; what is left in it is nobody's.
    ///
    /// # Safety
    /// It is the caller's: nobody goes past it any more, and its thread has left it, or is the caller.
    unsafe fn give(&'static self) {
        // SAFETY: it came from this pool, and the caller says the rest.
        unsafe { NODES.give(self) };
    }
}

impl<P: Parking, const MOST: u32> CcSynch<P, MOST> {
    /// The node in which the next arrival brings its section, if one has come yet.
    fn last(&self) -> Option<&'static Node> {
        // SAFETY: the last node stays until a section is brought there.
        unsafe { self.tail.load(CC_BROUGHT).cast_const().as_ref::<'static>() }
    }

    /// Whether a thread of this process has come.
    pub(super) fn is_used_here(&self) -> bool {
        self.last().is_some_and(Node::is_of_here)
    }

    /// Blocks until the section has been run, by the calling thread if it is marked `HERE`.  If that
    /// thread has become the combiner, it runs what `under` is given, inside of it.
    pub(super) fn bring(
        &self,
        section: Section<'_>,
        marks: u32,
        under: impl FnOnce(&mut dyn FnMut()),
    ) {
        let mine = self.arrive(section, marks);
        let told = mine.told.wait::<P>();
        self.end(mine, told, under);
    }

    /// Brings the section; the node in which it stands.
    fn arrive(&self, section: Section<'_>, marks: u32) -> &'static Node {
        let next = Node::fresh(WAIT);
        let found = self.tail.swap(ptr::from_ref(next).cast_mut(), CC_ARRIVE);
        // SAFETY: a node stays as long as it is in the queue; this one is now the caller's.
        let mine = unsafe { found.cast_const().as_ref::<'static>() };
        let mine = mine.unwrap_or_else(|| Node::fresh(YOURS));
        // SAFETY: the caller waits until it has been run, or takes it back.
        let section = unsafe { section.outliving() };
        // SAFETY: nobody looks there until the next node is known.
        mine.section
            .with_mut(|place| unsafe { *place = Some(section) });
        mine.marks.store(marks, Order::RELAXED);
        mine.next.store(ptr::from_ref(next).cast_mut(), CC_BRING);
        mine
    }

    /// Combines, if that is what the caller was told of its node, and gives it back.
    fn end(&self, mine: &'static Node, told: u32, under: impl FnOnce(&mut dyn FnMut())) {
        if told == YOURS {
            under(&mut || self.combine(mine));
        }
        // SAFETY: the thread that told of it has gone past it.
        unsafe { mine.give() };
    }

    /// Runs the sections from the caller's node on, and leaves that to another.
    fn combine(&self, mine: &'static Node) {
        let most = if may_serve(flaw::SERVE_INSIDE) {
            MOST
        } else {
            1
        };
        let moment = tally_moment();
        tally(Tallied::Nominations, 1);
        let mut node = mine;
        for _ in 0..most {
            let Some(next) = node.next() else {
                break;
            };
            let marks = node.marks.load(Order::RELAXED);
            if ptr::eq(node, mine) {
                // SAFETY: this thread was told that it combines.
                unsafe { node.serve() };
            } else if marks & HERE != 0 {
                break;
            } else if marks & MAY_GO == 0 || node.told.begin::<P>() {
                // SAFETY: as above.
                unsafe { node.serve() };
                tally(Tallied::Served, 1);
                node.told.answer::<P>();
            } else {
                // SAFETY: its thread has given up.
                unsafe { node.give() };
            }
            node = next;
        }
        tally(Tallied::Serving, tally_moment() - moment);
        while !node.told.hand::<P>() {
            let Some(next) = node.next() else {
                unreachable!("a thread that gives up has brought something");
            };
            // SAFETY: as above.
            unsafe { node.give() };
            node = next;
        }
    }
}

// SAFETY: one node at a time says that its owner combines: the one that the last combiner came
// to; each section is taken out of its node by that owner, before its thread is answered.
unsafe impl<P: Parking, const MOST: u32> Delegate for CcSynch<P, MOST> {
    type Context = ();

    #[inline]
    fn run(&self, (): &mut (), section: Section<'_>) {
        self.bring(section, 0, |combine| combine());
    }

    fn run_here(&self, (): &mut (), section: Section<'_>) {
        self.bring(section, HERE, |combine| combine());
    }
}

// SAFETY: as above; one exchange decides whether a section that is given up is its thread's or the
// combiner's.
unsafe impl<P: Parking, const MOST: u32> AbortableDelegate for CcSynch<P, MOST> {
    fn run_within(&self, (): &mut (), section: Section<'_>, patience: &Patience) -> Outcome {
        let mine = self.arrive(section, MAY_GO);
        let Some(told) = mine.told.wait_within::<P>(patience) else {
            return Outcome::GaveUp;
        };
        self.end(mine, told, |combine| combine());
        Outcome::Acquired
    }
}

impl<P: Parking, const MOST: u32> Drop for CcSynch<P, MOST> {
    fn drop(&mut self) {
        let Some(last) = self.last() else { return };
        // A parent's combiner would have come to it; none of this process does.
        outlast(|| !last.is_of_here() || last.told.is_left() || mutant(flaw::DROP_AT_ONCE));
        if !last.is_of_here() && !last.told.is_left() {
            return;
        }
        // SAFETY: nobody uses this lock any more, and its last node is its own.
        unsafe { last.give() };
    }
}

impl<P: Parking, const MOST: u32> super::InTwoForms for CcSynch<P, MOST> {
    type Spinning = CcSynch<SpinOnly, MOST>;
}
