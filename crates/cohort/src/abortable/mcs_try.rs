//! `mcs-try`: `mcs` with waiters that leave in agreement with their neighbours, and keep their
//! nodes (Scott and Scherer 2001: one of two locks with blocking timeouts).
//!
//! **Not for** use: it serves as a comparison.  A waiter that gives up waits for its successor to
//! look; so does its predecessor, if it releases or leaves meanwhile.  So a preempted waiter keeps
//! others in the queue, the holder among them.  `hmcs-t-1` leaves in bounded steps, `mcs-nb`
//! without waiting for another thread.
//!
//! A link, a node's `next`, is taken by one exchange for null: by the owner, to grant the lock or
//! to leave, or by the successor, to leave.  So only one of them takes it.
//!
//! | a node's `next` | written by | meaning |
//! |---|---|---|
//! | null | its owner, before it enters; the thread that takes the link | no successor, or an unlinked one, or the link is taken |
//! | a node | its successor | the successor's |
//!
//! | a node's `status` | written by | meaning |
//! |---|---|---|
//! | `WAITING` | its owner | waits, or holds a queue that was empty |
//! | `LEAVING` | its owner, over `WAITING` | its owner may access the predecessor's link, and leaves if it takes that |
//! | `GRANTED` | the holder, which has the link | the lock is its owner's |
//! | `MOVED` | the predecessor, which is leaving and has the link | its owner must link itself to the node in the predecessor's `before` |
//! | `PASSED` | the successor, if it was `LEAVING` or `MOVED` | the successor has finished with this node |
//!
//! | field | written by | meaning |
//! |---|---|---|
//! | `tail` | arrivals; the last of the queue, when it leaves or releases | as in `mcs` |
//! | a node's `before` | its owner, before it takes its own link to leave | the node behind which it waited |
//!
//! **A waiter that leaves** takes its predecessor's link.  The predecessor then waits for another
//! link, as for that of an arrival.  If the leaving waiter is the last, it resets the tail to the
//! predecessor.  Otherwise it takes its own link too, and has the successor link itself to the
//! predecessor.
//!
//! **Nodes are in their owners' frames**, so no thread touches the node of an owner that may be
//! gone.  An owner that has taken its link returns after the successor has answered.  It need not
//! wait if it granted the lock to a successor that was `WAITING`, which cannot become `LEAVING`
//! after that.
//!
//! **The order of waiting.**  An owner that leaves or releases without a link waits for threads
//! behind it in the queue; the last waits for none.  A waiter that finds the link to its node taken
//! waits for the owner that took it, which has one exchange left to do.

use crate::door::{AtomicPtr, Cell, Order, Spinner, constructor, flaws, mutant, orders};
use crate::wait::{MayPark, Parking, SpinOnly, WaitCell};
use cohort_raw::{
    Abortable, Fair, Inherit, Outcome, Patience, RawLock, RawTry, ThreadOblivious, TwoForms,
    standalone,
};
use core::ptr;

orders! {
    /// Acquires what the last holder did if the queue was empty; publishes the fresh node to the
    /// successor that will write `next`.
    MCS_TRY_ENQUEUE = AcqRel;
    /// Publishes the node's status to its next writer.
    MCS_TRY_LINK = Release;
    /// Sees it.
    MCS_TRY_SUCCESSOR = Acquire;
    /// What the holder did is seen by its successor.
    MCS_TRY_GRANT = Release;
    /// Publishes the node for the new link.
    MCS_TRY_MOVE = Release;
    /// Sees both.
    MCS_TRY_TOLD = Acquire;
    /// The successor's last access to the node precedes its owner's next use.
    MCS_TRY_PASS = Release;
    /// The same, from the owner's side.
    MCS_TRY_PASSED = Acquire;
    /// What the holder did is seen by the thread that finds the queue empty.  The arrival that
    /// makes the next link sees that a leaving waiter took the last one; the owner sees the same of
    /// a successor that has left.
    MCS_TRY_LEAVE = AcqRel;
    /// Sees what the last holder did; publishes the fresh node.
    MCS_TRY_TAKE = AcqRel;
}

flaws! {
    /// A waiter that gives up takes the predecessor's link even if that is taken.
    LEAVE_BLINDLY = "mcs-try.leave-blindly";
    /// A waiter that has moved its successor does not wait until that is done.
    LEAVE_UNPASSED = "mcs-try.leave-unpassed";
    /// A moved successor links itself to no node.
    FORGET_LINK = "mcs-try.forget-link";
    /// A releaser returns although its `LEAVING` successor may touch its node.
    GO_UNPASSED = "mcs-try.go-unpassed";
}

const WAITING: u32 = 0;
const LEAVING: u32 = 1;
const GRANTED: u32 = 2;
const MOVED: u32 = 3;
const PASSED: u32 = 4;
const CLASS: u32 = 1;

/// A waiter's place in the queue.
#[derive(Debug, Default)]
#[repr(C)]
pub struct McsTryNode<P: Parking = MayPark> {
    next: AtomicPtr<McsTryNode<P>>,
    status: WaitCell<P>,
    before: Cell<Predecessor<P>>,
}

/// A node's address, for any thread.
#[derive(Debug)]
struct Predecessor<P: Parking>(*const McsTryNode<P>);

impl<P: Parking> Clone for Predecessor<P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P: Parking> Copy for Predecessor<P> {}

impl<P: Parking> Default for Predecessor<P> {
    fn default() -> Self {
        Self(ptr::null())
    }
}

// SAFETY: it is an address, and any thread may access nodes.
unsafe impl<P: Parking> Send for Predecessor<P> {}

impl<P: Parking> McsTryNode<P> {
    constructor! {
        /// A node outside any queue.
        #[must_use]
        pub fn new() -> Self {
            Self {
                next: AtomicPtr::null(),
                status: WaitCell::new(),
                before: Cell::new(Predecessor(ptr::null())),
            }
        }
    }
}

impl<P: Parking> McsTryNode<P> {
    fn pointer(&self) -> *mut Self {
        ptr::from_ref(self).cast_mut()
    }

    fn renew(&self) {
        self.next.store(ptr::null_mut(), Order::RELAXED);
        self.status.reset(WAITING);
    }

    /// Takes the link to that node; whether it was there.
    fn unlink(&self, next: *mut Self, order: Order) -> bool {
        self.next
            .compare_exchange(next, ptr::null_mut(), order, Order::RELAXED)
            .is_ok()
    }

    /// Blocks until the successor has finished with it.
    fn await_passing(&self) {
        self.status
            .wait_for(MCS_TRY_PASSED, CLASS, |status| status == PASSED);
    }

    /// Links itself to the predecessor of the leaving node; its owner may then return; the new
    /// predecessor.
    fn follow<'a>(&self, leaving: &'a Self) -> &'a Self {
        // SAFETY: its owner wrote it before `MOVED`, and waits for what is written next.
        let Predecessor(before) = leaving.before.with(|before| unsafe { *before });
        self.status.reset(WAITING);
        // SAFETY: its owner does not leave or release without the link that is made here.
        let before = unsafe { &*before };
        if !mutant(flaw::FORGET_LINK) {
            before.next.store(self.pointer(), MCS_TRY_LINK);
        }
        leaving.status.set(PASSED, MCS_TRY_PASS);
        before
    }
}

/// The lock; all zero when new.
///
/// ```
/// use cohort::{Mutex, abortable::McsTry};
/// use std::time::Duration;
///
/// let total: Mutex<u64, McsTry> = Mutex::from_raw(McsTry::new(), 1);
/// let soon = Duration::from_millis(1);
/// total.locking(|_| assert_eq!(total.try_locking_for(soon, |total| *total), None));
/// assert_eq!(total.try_locking_for(soon, |total| *total), Some(1));
/// ```
#[derive(Debug, Default)]
#[repr(C)]
pub struct McsTry<P: Parking = MayPark> {
    tail: AtomicPtr<McsTryNode<P>>,
}

impl<P: Parking> McsTry<P> {
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

impl<P: Parking> McsTry<P> {
    /// Removes a node from the queue's end, which is `elsewhere` from then on; or takes its link
    /// and returns the successor, which stays.
    fn take_out(
        &self,
        node: &McsTryNode<P>,
        elsewhere: *mut McsTryNode<P>,
    ) -> Option<&McsTryNode<P>> {
        let mut spinner = Spinner::new();
        loop {
            let next = node.next.load(Order::RELAXED);
            if !next.is_null() {
                if node.unlink(next, MCS_TRY_SUCCESSOR) {
                    // SAFETY: a successor leaves by taking the link, which is taken.
                    return Some(unsafe { &*next });
                }
                continue;
            }
            if self
                .tail
                .compare_exchange(node.pointer(), elsewhere, MCS_TRY_LEAVE, Order::RELAXED)
                .is_ok()
            {
                return None;
            }
            spinner.moment();
        }
    }

    /// Waits behind that node until the lock is held or patience runs out.
    fn wait(
        &self,
        mut before: &McsTryNode<P>,
        node: &McsTryNode<P>,
        patience: &Patience,
    ) -> Outcome {
        let told = |status| status == GRANTED || status == MOVED;
        loop {
            let in_time = node.status.wait_within(MCS_TRY_TOLD, CLASS, told, patience);
            let leaving = !in_time
                && node
                    .status
                    .exchange(WAITING, LEAVING, Order::RELAXED, Order::RELAXED);
            if leaving {
                if before.unlink(node.pointer(), Order::RELAXED) || mutant(flaw::LEAVE_BLINDLY) {
                    self.leave(before, node);
                    return Outcome::GaveUp;
                }
                node.status.wait_for(MCS_TRY_TOLD, CLASS, told);
            }
            if node.status.value(MCS_TRY_TOLD) == MOVED {
                before = node.follow(before);
                continue;
            }
            if leaving {
                before.status.set(PASSED, MCS_TRY_PASS);
            }
            return Outcome::Acquired;
        }
    }

    /// Leaves the queue, after taking the predecessor's link.
    fn leave(&self, before: &McsTryNode<P>, node: &McsTryNode<P>) {
        let place = Predecessor(ptr::from_ref(before));
        // SAFETY: no thread reads it before the successor is `MOVED`.
        node.before.with_mut(|before| unsafe { *before = place });
        if let Some(successor) = self.take_out(node, before.pointer()) {
            // An exchange, since the successor may be replacing the word too: loom does not order
            // two writes that do not read each other.
            successor.status.swap(MOVED, MCS_TRY_MOVE);
            if !mutant(flaw::LEAVE_UNPASSED) {
                node.await_passing();
            }
        }
    }
}

// SAFETY: the node at the head of the queue is the holder's; a successor waits for its status,
// which is `GRANTED` by the holder alone, once, after its own work.
unsafe impl<P: Parking> RawLock for McsTry<P> {
    type Context = McsTryNode<P>;

    #[inline]
    unsafe fn acquire(&self, node: &McsTryNode<P>) {
        // SAFETY: the caller's.
        let _ = unsafe { self.acquire_within(node, &Patience::ENDLESS) };
    }

    #[inline]
    unsafe fn release(&self, node: &McsTryNode<P>) {
        if let Some(successor) = self.take_out(node, ptr::null_mut()) {
            let was = successor.status.swap(GRANTED, MCS_TRY_GRANT);
            if was == LEAVING && !mutant(flaw::GO_UNPASSED) {
                node.await_passing();
            }
        }
    }

    fn is_locked(&self) -> bool {
        !self.tail.load(Order::RELAXED).is_null()
    }
}

standalone!([P: Parking] McsTry<P>: Hosted, QuickRelease, HighLock, Resumable);

// SAFETY: a null tail is a free lock, and one exchange takes it.
unsafe impl<P: Parking> RawTry for McsTry<P> {
    unsafe fn try_acquire(&self, node: &McsTryNode<P>) -> bool {
        node.renew();
        self.tail
            .compare_exchange(
                ptr::null_mut(),
                node.pointer(),
                MCS_TRY_TAKE,
                Order::RELAXED,
            )
            .is_ok()
    }
}

// SAFETY: a waiter that gives up has taken the only link by which it could be granted the lock; its
// successor has passed it, or there was none.
unsafe impl<P: Parking> Abortable for McsTry<P> {
    #[inline]
    unsafe fn acquire_within(&self, node: &McsTryNode<P>, patience: &Patience) -> Outcome {
        node.renew();
        let before = self.tail.swap(node.pointer(), MCS_TRY_ENQUEUE);
        // SAFETY: its owner does not leave or release without the link that is made here.
        let Some(before) = (unsafe { before.as_ref() }) else {
            return Outcome::Acquired;
        };
        before.next.store(node.pointer(), MCS_TRY_LINK);
        self.wait(before, node, patience)
    }
}

// SAFETY: release reads and writes the lock and the context alone.
unsafe impl<P: Parking> ThreadOblivious for McsTry<P> {}

impl<P: Parking> Fair for McsTry<P> {}

// SAFETY: afterwards the queue is empty or the holder's node alone.
unsafe impl<P: Parking> Inherit for McsTry<P> {
    unsafe fn inherit(&self, holder: Option<&McsTryNode<P>>) {
        let tail = holder.map_or(ptr::null_mut(), |node| {
            node.renew();
            node.pointer()
        });
        self.tail.store(tail, Order::RELAXED);
    }
}

impl<P: Parking> TwoForms for McsTry<P> {
    type Spinning = McsTry<SpinOnly>;
}
