//! `mcs-nb`: a queue with waiters that poll their own nodes, and leave without waiting for another
//! thread (Scott 2002).  Its nodes follow Chabbi et al. 2017 §6.2: each context has a list that it
//! scans.
//!
//! **Not for** use: it serves as a comparison.  Unlike in `hmcs-t-1`, a waiter that returns has
//! lost its place, and a release may pass any number of abandoned nodes.
//!
//! | a node's `status` | written by | meaning |
//! |---|---|---|
//! | `WAITING` | its owner, before it enters | waits, or holds an empty queue |
//! | `LEFT` | its owner, over `WAITING` | its owner has left |
//! | `GRANTED` | a releaser, by exchange | the lock is its owner's; or that had left, and the releaser continues |
//!
//! | field | written by | meaning |
//! |---|---|---|
//! | `tail` | arrivals; the last to leave | as in `mcs` |
//! | a node's `next` | its successor, by exchange; a releaser | the successor; `IMPATIENT`: released before the successor had linked itself, which therefore holds the lock |
//!
//! The last thread that needs a node marks it as free: the releaser that has passed it, or the
//! successor that finds `IMPATIENT` there.

use super::swept::{Link, List, Swept, recycle};
use crate::door::{AtomicPtr, Order, constructor, flaws, mutant, orders};
use crate::host::{Arena, Pool, pooled_forms};
use crate::wait::{MayPark, Parking, SpinOnly, WaitCell};
use cohort_raw::{
    Abortable, Fair, Inherit, Outcome, Patience, RawLock, RawTry, ThreadOblivious, TwoForms,
    standalone,
};
use core::ptr;

orders! {
    /// Acquires what the last holder did if the queue was empty; publishes the fresh node to the
    /// successor that will write `next`.
    MCS_NB_ENQUEUE = AcqRel;
    /// Publishes the fresh node to the thread that grants it; sees the work of a releaser that has
    /// not waited for it.
    MCS_NB_LINK = AcqRel;
    /// Sees that fresh node before writing its status.
    MCS_NB_SUCCESSOR = Acquire;
    /// What the holder did is seen by its successor.
    MCS_NB_GRANT = Release;
    /// Sees it.
    MCS_NB_GRANTED = Acquire;
    /// What the holder did is seen by the thread that finds the queue empty.
    MCS_NB_LEAVE = Release;
    /// What the holder did is seen by the successor that finds the mark.
    MCS_NB_IMPATIENT = Release;
    /// Sees what the last holder did; publishes the fresh node.
    MCS_NB_TRY = AcqRel;
}

flaws! {
    /// A waiter that finds the mark waits nevertheless.
    IGNORE_MARK = "mcs-nb.ignore-mark";
    /// A waiter that gives up overwrites a grant.
    OVERWRITE_GRANT = "mcs-nb.overwrite-grant";
}

const WAITING: u32 = 0;
const LEFT: u32 = 1;
const GRANTED: u32 = 2;
const CLASS: u32 = 1;

/// How often a release looks for the link of a successor in the queue.
const LOOKS: u32 = 2;

/// In a node's `next`: its releaser has not waited for the successor.
const IMPATIENT: usize = 1;

/// A waiter's node.
#[derive(Debug, Default)]
pub struct McsNbNode<P: Parking> {
    next: AtomicPtr<McsNbNode<P>>,
    status: WaitCell<P>,
    link: Link<McsNbNode<P>>,
}

impl<P: Parking> McsNbNode<P> {
    fn pointer(&self) -> *mut Self {
        ptr::from_ref(self).cast_mut()
    }

    fn mark() -> *mut Self {
        ptr::without_provenance_mut(IMPATIENT)
    }

    fn renew(&self) {
        self.next.store(ptr::null_mut(), Order::RELAXED);
        self.status.reset(WAITING);
    }
}

pooled_forms! { nodes: McsNbNode, [placed], [placed] }

impl<P: Form> Swept for McsNbNode<P> {
    fn link(&self) -> &Link<Self> {
        &self.link
    }

    fn pool() -> &'static (impl Pool<Self> + 'static) {
        P::nodes()
    }
}

/// The lock; all zero when new.
///
/// ```
/// use cohort::{Mutex, abortable::McsNb};
/// use std::time::Duration;
///
/// let total: Mutex<u64, McsNb> = Mutex::from_raw(McsNb::new(), 1);
/// let soon = Duration::from_millis(1);
/// total.locking(|_| assert_eq!(total.try_locking_for(soon, |total| *total), None));
/// assert_eq!(total.try_locking_for(soon, |total| *total), Some(1));
/// ```
#[derive(Debug, Default)]
#[repr(C)]
pub struct McsNb<P: Form = MayPark> {
    tail: AtomicPtr<McsNbNode<P>>,
}

impl<P: Form> McsNb<P> {
    constructor! {
        /// A free lock.
        #[must_use]
        pub fn new() -> Self {
            Self {
                tail: AtomicPtr::null(),
            }
        }
    }
}

impl<P: Form> McsNb<P> {
    /// The next node, once linked; `None` if the lock is free from then on, or belongs to a
    /// successor that is slow to link itself.
    fn successor(&self, node: &'static McsNbNode<P>) -> Option<&'static McsNbNode<P>> {
        loop {
            let next = node.next.load(MCS_NB_SUCCESSOR);
            // SAFETY: a linked successor stays until it is granted, and nodes live for ever.
            if let Some(next) = unsafe { next.as_ref() } {
                return Some(next);
            }
            if self
                .tail
                .compare_exchange(
                    node.pointer(),
                    ptr::null_mut(),
                    MCS_NB_LEAVE,
                    Order::RELAXED,
                )
                .is_ok()
            {
                recycle(node);
                return None;
            }
            let linked = || !node.next.load(Order::RELAXED).is_null();
            if (0..LOOKS).any(|_| linked()) {
                continue;
            }
            if node
                .next
                .compare_exchange(
                    ptr::null_mut(),
                    McsNbNode::mark(),
                    MCS_NB_IMPATIENT,
                    Order::RELAXED,
                )
                .is_ok()
            {
                return None;
            }
        }
    }
}

// SAFETY: a waiter is granted the lock by one thread: the holder, or the releaser that passes a
// waiter that has left, at the head of the queue.  Or it finds that its predecessor has released
// the lock and left.
unsafe impl<P: Form> RawLock for McsNb<P> {
    type Context = List<McsNbNode<P>>;

    #[inline]
    unsafe fn acquire(&self, cx: &Self::Context) {
        // SAFETY: the caller's.
        let _ = unsafe { self.acquire_within(cx, &Patience::ENDLESS) };
    }

    #[inline]
    unsafe fn release(&self, cx: &Self::Context) {
        let mut at = cx.current();
        while let Some(successor) = self.successor(at) {
            // First of all: the successor waits for this alone.
            let waits = successor.status.swap(GRANTED, MCS_NB_GRANT) == WAITING;
            recycle(at);
            if waits {
                return;
            }
            at = successor;
        }
    }

    fn is_locked(&self) -> bool {
        !self.tail.load(Order::RELAXED).is_null()
    }
}

standalone!([P: Form] McsNb<P>: Hosted { node_bytes: Arena::<McsNbNode<P>>::NODE_BYTES }, QuickRelease, HighLock, Resumable);

// SAFETY: a null tail is a free lock, and one exchange takes it.
unsafe impl<P: Form> RawTry for McsNb<P> {
    unsafe fn try_acquire(&self, cx: &Self::Context) -> bool {
        if self.is_locked() {
            return false;
        }
        let node = cx.take();
        node.renew();
        let taken = self
            .tail
            .compare_exchange(ptr::null_mut(), node.pointer(), MCS_NB_TRY, Order::RELAXED)
            .is_ok();
        if !taken {
            recycle(node);
        }
        taken
    }
}

// SAFETY: a waiter that gives up has left its node to the releaser that passes it and grants the
// lock to the next one.
unsafe impl<P: Form> Abortable for McsNb<P> {
    #[inline]
    unsafe fn acquire_within(&self, cx: &Self::Context, patience: &Patience) -> Outcome {
        let node = cx.take();
        node.renew();
        let predecessor = self.tail.swap(node.pointer(), MCS_NB_ENQUEUE);
        // SAFETY: nodes live for ever, and a predecessor stays in use until this link is made.
        let Some(predecessor) = (unsafe { predecessor.as_ref() }) else {
            return Outcome::Acquired;
        };
        let found = predecessor.next.swap(node.pointer(), MCS_NB_LINK);
        if found == McsNbNode::mark() && !mutant(flaw::IGNORE_MARK) {
            recycle(predecessor);
            return Outcome::Acquired;
        }
        let granted = |status| status != WAITING;
        if node
            .status
            .wait_within(MCS_NB_GRANTED, CLASS, granted, patience)
        {
            return Outcome::Acquired;
        }
        if mutant(flaw::OVERWRITE_GRANT) {
            node.status.reset(LEFT);
            return Outcome::GaveUp;
        }
        if node
            .status
            .exchange(WAITING, LEFT, Order::RELAXED, MCS_NB_GRANTED)
        {
            Outcome::GaveUp
        } else {
            Outcome::Acquired
        }
    }
}

// SAFETY: release reads and writes the lock and the context alone.
unsafe impl<P: Form> ThreadOblivious for McsNb<P> {}

impl<P: Form> Fair for McsNb<P> {}

// SAFETY: afterwards the tail is null or the holder's node, without a successor.
unsafe impl<P: Form> Inherit for McsNb<P> {
    unsafe fn inherit(&self, holder: Option<&Self::Context>) {
        let node = holder.map_or(ptr::null_mut(), |cx| {
            cx.current().renew();
            cx.current().pointer()
        });
        self.tail.store(node, Order::RELAXED);
    }
}

impl<P: Form> TwoForms for McsNb<P> {
    type Spinning = McsNb<SpinOnly>;
}
