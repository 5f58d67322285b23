//! `cc-synch`: threads publish their critical sections in a queue by one exchange, and the queue
//! head runs the sections behind it (Fatourou and Kallimanis 2012; Zhang et al. 2017 §1, §2.1).
//!
//! **Not for** sections that wait for other threads: the combiner may have such a thread's section
//! pending. Nor for more runnable threads than CPUs unless the waiters may sleep, since all wait
//! for the combiner.
//!
//! | field | meaning | written by |
//! |---|---|---|
//! | `tail` | the node for the next arrival's section; null: unused | arrivals, by an exchange |
//! | a node's `section`, `marks` | the section; whether its thread runs it itself, or may give up | the arrival that found the node |
//! | a node's `next` | the node after it, for the next section; null: no section is here yet | the same, last |
//! | a node's `process` | the process of the arrival that appended the node | that arrival, before it publishes the node |
//! | a node's `told` | see [`told`](super::told); `YOURS` makes its thread the combiner | the combiner; its thread, as it gives up |
//!
//! An arrival appends a fresh node for the next arrival, and owns the node that it found until it
//! returns. A combiner runs at most `MOST` sections. Then it hands the lock to the thread of the
//! next node, whether it waits there or has still to arrive. So the lock is free if and only if the
//! last node contains `YOURS`, and a release accesses only this node. The node of a thread that
//! gave up stays in the queue, and the combiner that reaches it returns it to the pool.
//!
//! Notifying the next node is a combiner's last access to the lock. The last user may drop the lock
//! once its section has run: the drop waits until the combiner has reached the last node.
//!
//! A child of a fork cannot use a lock with arrivals of its parent: their nodes are in its queue.

use super::told::{Told, WAIT, YOURS};
use super::{StepsDown, TriesTurn, enter, leave, may_serve, run};
use crate::door::{
    AtomicPtr, AtomicU32, Cell, Order, Tallied, constructor, flaws, generation, mutant, orders,
    outlast, pool, tally, tally_moment,
};
use crate::host::Pool;
use crate::wait::{MayPark, Parking, SpinOnly};
use cohort_raw::{AbortableDelegate, Delegate, Outcome, Patience, Section, TryDelegate};
use core::marker::PhantomData;
use core::ptr;

orders! {
    /// Publishes the fresh node to the next arrival; acquires the node found in `tail`.
    CC_ARRIVE = AcqRel;
    /// Publishes the section, and what its thread wrote before.
    CC_BRING = Release;
    /// Reads a section or a node.
    CC_BROUGHT = Acquire;
}

flaws! {
    /// A combiner inside another lock's section runs sections of other threads here.
    SERVE_INSIDE = "cc-synch.serve-inside";
    /// The lock is dropped while a combiner is about to release it.
    DROP_AT_ONCE = "cc-synch.drop-at-once";
    /// The code between `lock` and `unlock` does not count as a section.
    FORGET_LOCKED = "cc-synch.forget-locked";
}

/// Mark of a node: its thread runs its section.
pub(super) const HERE: u32 = 1;
/// Mark of a node: its thread may give up.
const MAY_GO: u32 = 2;

/// A node of the queue.
#[derive(Debug, Default)]
#[repr(C)]
pub struct CcSynchNode {
    told: Told,
    marks: AtomicU32,
    process: AtomicU32,
    section: Cell<Option<Section<'static>>>,
    next: AtomicPtr<CcSynchNode>,
}

pool! {
    /// From a pool, since nodes change owners with each section.
    static NODES: CcSynchNode, cache 9
}

/// Bytes of all nodes made so far.
pub(super) fn pool_bytes() -> usize {
    NODES.bytes()
}

/// The lock. A combiner runs at most `MOST` sections, its own among them.
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
    tail: AtomicPtr<CcSynchNode>,
    parking: PhantomData<P>,
}

/// An acquisition by [`CcSynch::lock`].
#[derive(Debug)]
#[must_use]
pub struct Turn(&'static CcSynchNode);

impl<P: Parking, const MOST: u32> CcSynch<P, MOST> {
    constructor! {
        /// A free lock, for statics.
        ///
        /// ```
        /// use cohort::{Delegated, delegation::CcSynch};
        ///
        /// static TOTAL: Delegated<u64, CcSynch> = Delegated::with_lock(1, CcSynch::new());
        /// assert_eq!(TOTAL.run(|total| *total), 1);
        /// ```
        #[must_use]
        pub fn new() -> Self {
            Self {
                tail: AtomicPtr::null(),
                parking: PhantomData,
            }
        }
    }
}

impl<P: Parking, const MOST: u32> Default for CcSynch<P, MOST> {
    fn default() -> Self {
        Self {
            tail: AtomicPtr::null(),
            parking: PhantomData,
        }
    }
}

impl CcSynchNode {
    /// Returns a fresh node with this notification, owned by the caller.
    fn fresh(told: u32) -> &'static Self {
        let node = NODES.take();
        node.next.store(ptr::null_mut(), Order::RELAXED);
        node.process.store(generation(), Order::RELAXED);
        node.told.reset(told);
        node
    }

    /// Runs the node's section.
    ///
    /// # Safety
    /// The caller is the combiner, and a section was published here.
    unsafe fn serve(&self) {
        // SAFETY: a published section is the combiner's.
        if let Some(section) = self.section.with_mut(|place| unsafe { (*place).take() }) {
            // SAFETY: there is one combiner.
            unsafe { run(section) };
        }
    }

    /// Returns the next node, if a section was published in this one.
    fn next(&self) -> Option<&'static Self> {
        // SAFETY: a linked node stays until its thread is answered, and the last node until a
        // section is published there.
        unsafe { self.next.load(CC_BROUGHT).cast_const().as_ref() }
    }

    /// Returns whether a thread of this process appended the node; then the combiner that will
    /// reach it is of this process, too.
    fn is_of_here(&self) -> bool {
        self.process.load(Order::RELAXED) == generation()
    }

    /// Returns the node to the pool; its contents are dead.
    ///
    /// # Safety
    /// It is the caller's: all other threads have passed it, and its thread has left it, or is the
    /// caller.
    unsafe fn give(&'static self) {
        // SAFETY: it came from this pool; the rest is the caller's.
        unsafe { NODES.give(self) };
    }
}

impl<P: Parking, const MOST: u32> CcSynch<P, MOST> {
    /// Returns the node for the next arrival, if the lock has been used.
    fn last(&self) -> Option<&'static CcSynchNode> {
        // SAFETY: the last node stays until a section is published there.
        unsafe { self.tail.load(CC_BROUGHT).cast_const().as_ref::<'static>() }
    }

    /// Returns whether a thread of this process has used the lock.
    pub(super) fn is_used_here(&self) -> bool {
        self.last().is_some_and(CcSynchNode::is_of_here)
    }

    /// Blocks until the section has been run; if marked `HERE`, by the calling thread. A thread
    /// that becomes the combiner combines inside `under`.
    pub(super) fn bring(
        &self,
        section: Section<'_>,
        marks: u32,
        under: impl FnOnce(&mut dyn FnMut()),
    ) {
        let mine = self.arrive(Some(section), marks);
        let told = mine.told.wait::<P>();
        self.end(mine, told, under);
    }

    /// Acquires the lock for a section in place that spans several calls.
    pub fn lock(&self) -> Turn {
        // A combiner never answers a node with that mark, so its thread becomes the combiner.
        let mine = self.arrive(None, HERE);
        let _ = mine.told.wait::<P>();
        if !mutant(flaw::FORGET_LOCKED) {
            enter();
        }
        Turn(mine)
    }

    /// [`lock`](Self::lock) if the lock is free: the last node then contains `YOURS`.
    ///
    /// The node may change hands between the look and the exchange. Then this thread gives it up.
    pub fn try_lock(&self) -> Option<Turn> {
        let found = self.tail.load(CC_BROUGHT);
        // SAFETY: nodes are never freed, whichever lock uses them.
        let place = unsafe { found.cast_const().as_ref::<'static>() };
        if !place.is_none_or(|node| node.told.says_first()) {
            return None;
        }
        let next = CcSynchNode::fresh(WAIT);
        let new = ptr::from_ref(next).cast_mut();
        let came = self
            .tail
            .compare_exchange(found, new, CC_ARRIVE, Order::RELAXED);
        if came.is_err() {
            // SAFETY: never published.
            unsafe { next.give() };
            return None;
        }
        let mine = Self::publish(found, next, None, HERE);
        mine.told.wait_within::<P>(&Patience::NONE)?;
        if !mutant(flaw::FORGET_LOCKED) {
            enter();
        }
        Some(Turn(mine))
    }

    /// Runs the sections published meanwhile, and releases the lock.
    ///
    /// # Safety
    /// The turn is of this lock, and the caller's.
    pub unsafe fn unlock(&self, turn: Turn) {
        if !mutant(flaw::FORGET_LOCKED) {
            leave();
        }
        self.end(turn.0, YOURS, |combine| combine());
    }

    /// Publishes the section, if any, and returns its node.
    fn arrive(&self, section: Option<Section<'_>>, marks: u32) -> &'static CcSynchNode {
        let next = CcSynchNode::fresh(WAIT);
        let found = self.tail.swap(ptr::from_ref(next).cast_mut(), CC_ARRIVE);
        Self::publish(found, next, section, marks)
    }

    /// Publishes the section, if any, in the node found in `tail`, or in a fresh node if the lock
    /// was unused. `next` is already visible to other arrivals.
    fn publish(
        found: *mut CcSynchNode,
        next: &'static CcSynchNode,
        section: Option<Section<'_>>,
        marks: u32,
    ) -> &'static CcSynchNode {
        // SAFETY: a node stays while it is in the queue; this one is now the caller's.
        let mine = unsafe { found.cast_const().as_ref::<'static>() };
        let mine = mine.unwrap_or_else(|| CcSynchNode::fresh(YOURS));
        // SAFETY: the caller waits until it has been run, or takes it back.
        let section = section.map(|section| unsafe { section.outliving() });
        // SAFETY: unpublished until the next node is linked.
        mine.section.with_mut(|place| unsafe { *place = section });
        mine.marks.store(marks, Order::RELAXED);
        mine.next.store(ptr::from_ref(next).cast_mut(), CC_BRING);
        mine
    }

    /// Combines, if the caller was notified as the combiner, and frees its node.
    fn end(&self, mine: &'static CcSynchNode, told: u32, under: impl FnOnce(&mut dyn FnMut())) {
        if told == YOURS {
            under(&mut || self.combine(mine));
        }
        // SAFETY: the thread that notified it has passed it.
        unsafe { mine.give() };
    }

    /// Runs the sections from the caller's node on, and hands the lock over.
    fn combine(&self, mine: &'static CcSynchNode) {
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
                // SAFETY: this thread was notified as the combiner.
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

// SAFETY: one node at a time makes its thread the combiner: the node that the last combiner
// reached. The combiner takes each section out of its node before it answers its thread.
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

// SAFETY: as above; one exchange decides whether an abandoned section is its thread's or the
// combiner's.
unsafe impl<P: Parking, const MOST: u32> AbortableDelegate for CcSynch<P, MOST> {
    fn run_within(&self, (): &mut (), section: Section<'_>, patience: &Patience) -> Outcome {
        let mine = self.arrive(Some(section), MAY_GO);
        let Some(told) = mine.told.wait_within::<P>(patience) else {
            return Outcome::GaveUp;
        };
        self.end(mine, told, |combine| combine());
        Outcome::Acquired
    }
}

// SAFETY: as above.
unsafe impl<P: Parking, const MOST: u32> StepsDown for CcSynch<P, MOST> {
    type Turn = Turn;

    fn take_turn(&self) -> Turn {
        self.lock()
    }

    unsafe fn end_turn(&self, turn: Turn) {
        // SAFETY: the caller's.
        unsafe { self.unlock(turn) };
    }
}

// SAFETY: as above.
unsafe impl<P: Parking, const MOST: u32> TriesTurn for CcSynch<P, MOST> {
    fn try_turn(&self) -> Option<Turn> {
        self.try_lock()
    }
}

// SAFETY: as above.
unsafe impl<P: Parking, const MOST: u32> TryDelegate for CcSynch<P, MOST> {
    fn try_run(&self, (): &mut (), section: Section<'_>) -> bool {
        let Some(turn) = self.try_lock() else {
            return false;
        };
        // SAFETY: the turn excludes, and is of this lock.
        unsafe {
            section.run();
            self.unlock(turn);
        }
        true
    }
}

impl<P: Parking, const MOST: u32> Drop for CcSynch<P, MOST> {
    fn drop(&mut self) {
        let Some(last) = self.last() else { return };
        // A parent's combiner would have reached it; no combiner of this process will.
        outlast(|| !last.is_of_here() || last.told.is_left() || mutant(flaw::DROP_AT_ONCE));
        if !last.is_of_here() && !last.told.is_left() {
            return;
        }
        // SAFETY: the lock has no users left, and its last node is its own.
        unsafe { last.give() };
    }
}

impl<P: Parking, const MOST: u32> super::InTwoForms for CcSynch<P, MOST> {
    type Spinning = CcSynch<SpinOnly, MOST>;
}
