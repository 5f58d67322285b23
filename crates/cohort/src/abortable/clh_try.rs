//! `clh-try`: `clh` with waiters that leave in agreement with their neighbours, and keep their
//! nodes (Scott and Scherer 2001: one of two locks with blocking timeouts).
//!
//! **Not for** use: it serves as a comparison.  A waiter that gives up waits for the threads behind
//! it to look, and its predecessor waits for all of them.  So a preempted waiter keeps others in
//! the queue, the holder among them.  `hmcs-t-1` and the clh lock of `a-c-bo-clh` leave in bounded
//! steps, `clh-nb` without waiting for another thread.
//!
//! A waiter that leaves first pins its predecessor in the queue, then has its own follower continue
//! at that node, and unpins the predecessor.
//!
//! | a node's `state` | written by | meaning |
//! |---|---|---|
//! | `BUSY` | its owner, before it enters; its follower, over `PINNED` | its owner waits or holds |
//! | `PINNED` | its follower, over `BUSY` | the follower is leaving: meanwhile the owner neither leaves nor releases |
//! | `LEFT` | its owner, over `BUSY` | its owner is leaving; the follower continues at `before` |
//! | `PASSED` | its follower, over `LEFT`, the last time | the follower has passed, and has finished with the node |
//! | `CLOSED` | its owner, over `BUSY` | its owner is about to release, and the follower stays |
//! | `RELEASED` | its owner, over `CLOSED`, the last time | the lock and the node are the follower's |
//!
//! | field | written by | meaning |
//! |---|---|---|
//! | `tail` | arrivals; the last of the queue, when it leaves or releases | as in `clh` |
//! | a node's `before` | its owner, before `LEFT` | the node at which it waited |
//!
//! **The order of waiting.**  A leaving waiter waits for a follower that leaves too, and then for
//! the remaining follower to look; a release waits for a follower that leaves.  All of these are
//! further back in the queue, and the last thread waits for none.  There is one exception: a waiter
//! may find its predecessor `PINNED` by a thread that has left the queue, and has one store left to
//! do.
//!
//! **The last of the queue** removes its node.  A follower does so while its predecessor is
//! `PINNED`, and unpins it afterwards.  When its node cannot be pinned again, the owner looks at
//! `tail` once more.  If it is alone, it waits for the unpinning, which would otherwise hit a
//! reused node.

use crate::basic::clh::{Inherited, Owned, pointer};
use crate::door::{AtomicPtr, Cell, Order, constructor, flaws, mutant, orders};
use crate::host::{Arena, Pool, pooled_forms};
use crate::wait::{MayPark, SpinOnly, WaitCell};
use cohort_raw::{
    Abortable, Fair, Inherit, Outcome, Patience, RawLock, RawTry, ThreadOblivious, TwoForms,
    standalone,
};
use core::ptr;

orders! {
    /// Acquires what the last holder did if the queue was empty; publishes the fresh node to the
    /// follower.
    CLH_TRY_ENQUEUE = AcqRel;
    /// What the holder did is seen by its follower.
    CLH_TRY_RELEASE = Release;
    /// Sees it, or the node at which the follower continues.
    CLH_TRY_SEEN = Acquire;
    /// What the holder did is seen by a thread that finds the queue empty; sees that a follower
    /// which removed its node had pinned this one.
    CLH_TRY_LEAVE = AcqRel;
    /// The same, from that follower's side.
    CLH_TRY_RETURN = Release;
    /// The predecessor, if it leaves or releases next, sees that it is the last.
    CLH_TRY_UNPIN = Release;
    /// Publishes the node at which the follower continues; sees that the follower removed its own.
    CLH_TRY_DEPART = AcqRel;
    /// Sees the same, before a release.
    CLH_TRY_CLOSE = Acquire;
    /// The follower's read of `before` precedes the owner's next write.
    CLH_TRY_PASS = Release;
    /// The same, from the owner's side.
    CLH_TRY_PASSED = Acquire;
    /// Sees what the last holder did; publishes the fresh node.
    CLH_TRY_TAKE = AcqRel;
}

flaws! {
    /// A waiter leaves without pinning its predecessor.
    LEAVE_UNPINNED = "clh-try.leave-unpinned";
    /// A leaving waiter does not wait until its follower has passed.
    LEAVE_UNPASSED = "clh-try.leave-unpassed";
    /// A release does not check again whether all followers have left.
    CLOSE_BLINDLY = "clh-try.close-blindly";
    /// A lone thread returns before its former follower has unpinned the node.
    GO_PINNED = "clh-try.go-pinned";
}

const BUSY: u32 = 0;
const PINNED: u32 = 1;
const LEFT: u32 = 2;
const PASSED: u32 = 3;
const CLOSED: u32 = 4;
const RELEASED: u32 = 5;
const CLASS: u32 = 1;

/// A waiter's node, which its follower looks at.
#[derive(Debug)]
pub struct ClhTryNode<P: Form> {
    state: WaitCell<P>,
    before: Cell<Option<&'static ClhTryNode<P>>>,
}

impl<P: Form> Default for ClhTryNode<P> {
    fn default() -> Self {
        Self {
            state: WaitCell::default(),
            before: Cell::new(None),
        }
    }
}

impl<P: Form> ClhTryNode<P> {
    /// Blocks while the follower is leaving.
    fn await_unpinning(&self) {
        self.state
            .wait_for(Order::RELAXED, CLASS, |state| state != PINNED);
    }

    /// Replaces `BUSY`; no follower can then leave by this node.
    fn close(&self, to: u32, order: Order) {
        while !self.state.change(BUSY, to, order) {
            self.await_unpinning();
        }
    }

    /// Holds its owner in the queue, unless that has left or is about to release.
    fn pin(&self) -> bool {
        loop {
            if self
                .state
                .exchange(BUSY, PINNED, Order::RELAXED, Order::RELAXED)
            {
                return true;
            }
            if self.state.value(Order::RELAXED) > PINNED {
                return false;
            }
            self.await_unpinning();
        }
    }

    /// The node at which the follower of this abandoned one continues; the owner may then return.
    fn pass(&self) -> &'static Self {
        // SAFETY: its owner wrote it before it left, and waits for what is written next.
        let before = self.before.with(|before| unsafe { *before });
        self.state.set(PASSED, CLH_TRY_PASS);
        match before {
            Some(before) => before,
            None => unreachable!("a node is left behind another"),
        }
    }
}

pooled_forms! { nodes: ClhTryNode, [placed], [placed] }

impl<P: Form> Inherited for ClhTryNode<P> {
    fn pool() -> &'static (impl Pool<Self> + 'static) {
        P::nodes()
    }

    fn renew(&self) {
        self.state.reset(BUSY);
    }
}

/// The lock; all zero when new.
///
/// ```
/// use cohort::{Mutex, abortable::ClhTry};
/// use std::time::Duration;
///
/// let total: Mutex<u64, ClhTry> = Mutex::from_raw(ClhTry::new(), 1);
/// let soon = Duration::from_millis(1);
/// total.locking(|_| assert_eq!(total.try_locking_for(soon, |total| *total), None));
/// assert_eq!(total.try_locking_for(soon, |total| *total), Some(1));
/// ```
#[derive(Debug, Default)]
#[repr(C)]
pub struct ClhTry<P: Form = MayPark> {
    tail: AtomicPtr<ClhTryNode<P>>,
}

impl<P: Form> ClhTry<P> {
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

impl<P: Form> ClhTry<P> {
    /// Waits at that node until the lock is held or patience runs out.
    fn wait(
        &self,
        mut before: &'static ClhTryNode<P>,
        node: &'static ClhTryNode<P>,
        cx: &Owned<ClhTryNode<P>>,
        patience: &Patience,
    ) -> Outcome {
        loop {
            let ended = |state| state == LEFT || state == RELEASED;
            let in_time = before
                .state
                .wait_within(CLH_TRY_SEEN, CLASS, ended, patience);
            if !in_time && self.leave(before, node) {
                return Outcome::GaveUp;
            }
            match before.state.value(CLH_TRY_SEEN) {
                LEFT => before = before.pass(),
                RELEASED => {
                    cx.succeed(before);
                    return Outcome::Acquired;
                }
                // About to be released.
                _ => {
                    before.state.wait_for(CLH_TRY_SEEN, CLASS, ended);
                }
            }
        }
    }

    /// Leaves the queue, unless the predecessor is leaving too or about to release.
    fn leave(&self, before: &'static ClhTryNode<P>, node: &'static ClhTryNode<P>) -> bool {
        if !mutant(flaw::LEAVE_UNPINNED) && !before.pin() {
            return false;
        }
        // SAFETY: no thread reads it before `LEFT`.
        node.before
            .with_mut(|place| unsafe { *place = Some(before) });
        node.close(LEFT, CLH_TRY_DEPART);
        if !self.ends_at(node, pointer(before), CLH_TRY_RETURN) && !mutant(flaw::LEAVE_UNPASSED) {
            let passed = |state| state == PASSED;
            node.state.wait_for(CLH_TRY_PASSED, CLASS, passed);
        }
        before.state.set(BUSY, CLH_TRY_UNPIN);
        true
    }

    /// Whether the queue ended at that node; if so, it ends `elsewhere` from then on.
    fn ends_at(
        &self,
        node: &'static ClhTryNode<P>,
        elsewhere: *mut ClhTryNode<P>,
        order: Order,
    ) -> bool {
        self.tail.load(Order::RELAXED) == pointer(node)
            && self
                .tail
                .compare_exchange(pointer(node), elsewhere, order, Order::RELAXED)
                .is_ok()
    }
}

// SAFETY: each waiter waits for the release of the node before its own, or of an earlier one if its
// owner has left; that node's owner releases it once, after its own work, and one waiter at a time
// looks at it.
unsafe impl<P: Form> RawLock for ClhTry<P> {
    type Context = Owned<ClhTryNode<P>>;

    #[inline]
    unsafe fn acquire(&self, cx: &Self::Context) {
        // SAFETY: the caller's.
        let _ = unsafe { self.acquire_within(cx, &Patience::ENDLESS) };
    }

    #[inline]
    unsafe fn release(&self, cx: &Self::Context) {
        let Some(node) = cx.node() else {
            unreachable!("a context that holds the lock owns a node")
        };
        let alone = || self.ends_at(node, ptr::null_mut(), CLH_TRY_LEAVE);
        let alone = alone() || {
            node.close(CLOSED, CLH_TRY_CLOSE);
            !mutant(flaw::CLOSE_BLINDLY) && alone()
        };
        if alone {
            if !mutant(flaw::GO_PINNED) {
                node.await_unpinning();
            }
            cx.forget_predecessor();
        } else {
            cx.leave();
            node.state.set(RELEASED, CLH_TRY_RELEASE);
        }
    }

    fn is_locked(&self) -> bool {
        !self.tail.load(Order::RELAXED).is_null()
    }
}

standalone!([P: Form] ClhTry<P>: Hosted { node_bytes: Arena::<ClhTryNode<P>>::NODE_BYTES }, QuickRelease, HighLock, Resumable);

// SAFETY: a null tail is a free lock, and one exchange takes it.
unsafe impl<P: Form> RawTry for ClhTry<P> {
    unsafe fn try_acquire(&self, cx: &Self::Context) -> bool {
        if self.is_locked() {
            return false;
        }
        let node = pointer(cx.fresh());
        let taken = self
            .tail
            .compare_exchange(ptr::null_mut(), node, CLH_TRY_TAKE, Order::RELAXED)
            .is_ok();
        if taken {
            cx.forget_predecessor();
        }
        taken
    }
}

// SAFETY: a waiter that gives up is its node's only user again: its follower has passed it, or
// there was none.
unsafe impl<P: Form> Abortable for ClhTry<P> {
    #[inline]
    unsafe fn acquire_within(&self, cx: &Self::Context, patience: &Patience) -> Outcome {
        let node = cx.fresh();
        let before = self.tail.swap(pointer(node), CLH_TRY_ENQUEUE);
        // SAFETY: nodes live for ever, and this one's owner stays until its follower has seen its
        // final state.
        match unsafe { before.as_ref() } {
            None => {
                cx.forget_predecessor();
                Outcome::Acquired
            }
            Some(before) => self.wait(before, node, cx, patience),
        }
    }
}

// SAFETY: release reads and writes the lock and the context alone.
unsafe impl<P: Form> ThreadOblivious for ClhTry<P> {}

impl<P: Form> Fair for ClhTry<P> {}

// SAFETY: afterwards the tail is null or the holder's node.
unsafe impl<P: Form> Inherit for ClhTry<P> {
    unsafe fn inherit(&self, holder: Option<&Self::Context>) {
        let node = holder.and_then(Owned::node);
        if let Some(node) = node {
            node.renew();
        }
        self.tail
            .store(node.map_or(ptr::null_mut(), pointer), Order::RELAXED);
    }
}

impl<P: Form> TwoForms for ClhTry<P> {
    type Spinning = ClhTry<SpinOnly>;
}
