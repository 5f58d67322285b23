//! `clh-published`: `clh` as it was published: a free lock keeps the last holder's node.  So a
//! release is one store to the own node, without a look at the queue's end (Craig 1993; Landin and
//! Hagersten 1994; Chehab et al. 2021 §2.1).
//!
//! **Not for** programs: a free lock owns a node, which a zeroed mutex cannot.  It serves as a
//! comparison with `clh`.
//!
//! | `tail` | state |
//! |---|---|
//! | null | free, and never acquired |
//! | a released node | free |
//! | the holder's node | held, no waiter |
//! | another node | held; that node is the last waiter's |
//!
//! A node's `released` is written by its owner and read by its successor, which owns the node from
//! then on.

use super::clh::{ClhContext, ClhNode, NO, YES, discard, pointer};
use crate::door::{AtomicPtr, Order, constructor, orders};
use cohort_raw::{DetectsWaiters, Fair, Inherit, RawLock, RawTry, ThreadOblivious, standalone};
use core::ptr;

orders! {
    /// Publishes the fresh node to the successor, and sees the predecessor's as it was renewed.
    CLHP_ENQUEUE = AcqRel;
    /// Sees the last node as it was renewed, for a thread that looks at it without queueing behind
    /// it.
    CLHP_LOOK = Acquire;
    /// What the holder did is seen by its successor.
    CLHP_RELEASE = Release;
    /// Sees it.
    CLHP_RELEASED = Acquire;
}

/// The lock; all zero when new.
///
/// ```
/// use cohort::{Mutex, basic::ClhPublished};
///
/// static TOTAL: Mutex<u64, ClhPublished> = Mutex::from_raw(ClhPublished::new(), 1);
/// *TOTAL.lock() += 1;
/// assert_eq!(*TOTAL.lock(), 2);
/// ```
#[derive(Debug, Default)]
#[repr(C)]
pub struct ClhPublished {
    tail: AtomicPtr<ClhNode>,
}

impl ClhPublished {
    constructor! {
        /// A free lock.
        #[must_use]
        pub fn new() -> Self {
            Self {
                tail: AtomicPtr::null(),
            }
        }
    }

    /// The last node of the queue, if there ever was one.
    fn last(&self) -> Option<&'static ClhNode> {
        // SAFETY: nodes live for ever.
        unsafe { self.tail.load(CLHP_LOOK).as_ref() }
    }

    /// Blocks until `predecessor`, the node before the caller's, is released.
    fn follow(cx: &ClhContext, predecessor: *mut ClhNode) {
        // SAFETY: nodes live for ever, and this one is left to its successor.
        let Some(predecessor) = (unsafe { predecessor.as_ref() }) else {
            return cx.forget_predecessor();
        };
        predecessor.await_release(CLHP_RELEASED);
        cx.succeed(predecessor);
    }
}

impl Drop for ClhPublished {
    fn drop(&mut self) {
        // The node of a holder that never released belongs to its context.
        discard(self.last().filter(|last| last.state() == YES));
    }
}

// SAFETY: each waiter waits for the release of the one node before its own, which that node's owner
// sets once, after its own work.
unsafe impl RawLock for ClhPublished {
    type Context = ClhContext;

    #[inline]
    unsafe fn acquire(&self, cx: &ClhContext) {
        let node = cx.fresh();
        Self::follow(cx, self.tail.swap(pointer(node), CLHP_ENQUEUE));
    }

    #[inline]
    unsafe fn release(&self, cx: &ClhContext) {
        let Some(node) = cx.node() else {
            unreachable!("a context that holds the lock owns a node")
        };
        cx.leave();
        node.release(YES, CLHP_RELEASE);
    }

    fn is_locked(&self) -> bool {
        self.last().is_some_and(|last| last.state() == NO)
    }
}

standalone! {
    [] ClhPublished:
    Hosted { node_bytes: crate::host::Arena::<ClhNode>::NODE_BYTES },
    QuickRelease,
    LowLock,
    HighLock
}

// SAFETY: the caller's node follows a released one, or none; if that node was renewed meanwhile,
// the caller waits for it.
unsafe impl RawTry for ClhPublished {
    #[inline]
    unsafe fn try_acquire(&self, cx: &ClhContext) -> bool {
        let last = self.last();
        if last.is_some_and(|last| last.state() == NO) {
            return false;
        }
        let last = last.map_or(ptr::null_mut(), pointer);
        let taken = self
            .tail
            .compare_exchange(last, pointer(cx.fresh()), CLHP_ENQUEUE, Order::RELAXED)
            .is_ok();
        if taken {
            Self::follow(cx, last);
        }
        taken
    }
}

// SAFETY: release reads and writes the context alone.
unsafe impl ThreadOblivious for ClhPublished {}

impl Fair for ClhPublished {}

// SAFETY: a thread that has linked itself waits, and leaves with the lock.
unsafe impl DetectsWaiters for ClhPublished {
    #[inline]
    unsafe fn has_waiters(&self, cx: &ClhContext) -> bool {
        cx.node()
            .is_some_and(|node| self.tail.load(Order::RELAXED) != pointer(node))
    }
}

// SAFETY: afterwards the tail is null or the holder's node.
unsafe impl Inherit for ClhPublished {
    unsafe fn inherit(&self, holder: Option<&ClhContext>) {
        let node = holder.and_then(ClhContext::node);
        if let Some(node) = node {
            node.hold();
        }
        self.tail
            .store(node.map_or(ptr::null_mut(), pointer), Order::RELAXED);
    }
}
