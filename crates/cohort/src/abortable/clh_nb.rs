//! `clh-nb`: a queue that waiters leave without waiting for another thread (Scott 2002; the `A-CLH`
//! of Dice et al. 2015 §5.1.6).  Its nodes follow Chabbi et al. 2017 §6.2: each context has a list
//! that it scans.
//!
//! **Not for** use: it serves as a comparison.  Only the next waiter finds an abandoned node, so a
//! context needs more nodes the more of its neighbours give up.  `hmcs-t-1` and the clh lock of
//! `a-c-bo-clh` do the same in bounded steps.
//!
//! | a node's `state` | written by | meaning |
//! |---|---|---|
//! | `BUSY` | its owner, before it enters | its owner waits or holds |
//! | `ABANDONED` | its owner, the last time | its owner has left; the follower continues at `before` |
//! | `RELEASED` | its owner, the last time | the lock is the follower's |
//!
//! | field | written by | meaning |
//! |---|---|---|
//! | `tail` | arrivals; the last of the queue, when it leaves | the last node; the lock is free if it is null, or a released node behind abandoned ones or none |
//! | a node's `before` | its owner, before `ABANDONED` | the node at which it waited |
//!
//! The thread that passes a node marks it as free.  The last of the queue removes its own.

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
    /// follower.
    CLH_NB_ENQUEUE = AcqRel;
    /// What the holder did is seen by its follower.
    CLH_NB_RELEASE = Release;
    /// Publishes the node at which the follower continues.
    CLH_NB_ABANDON = Release;
    /// Sees both.
    CLH_NB_RELEASED = Acquire;
    /// What the holder did is seen by a thread that finds the queue empty.
    CLH_NB_LEAVE = Release;
    /// Sees what the last holder did; publishes the fresh node.
    CLH_NB_TRY = AcqRel;
}

flaws! {
    /// A waiter that gives up leaves its node as if it had been released.
    LEAVE_AS_RELEASED = "clh-nb.leave-as-released";
}

const BUSY: u32 = 0;
const ABANDONED: u32 = 1;
const RELEASED: u32 = 2;
const CLASS: u32 = 1;

/// A waiter's node, which its follower looks at.
#[derive(Debug, Default)]
pub struct ClhNbNode<P: Parking> {
    state: WaitCell<P>,
    before: AtomicPtr<ClhNbNode<P>>,
    link: Link<ClhNbNode<P>>,
}

impl<P: Parking> ClhNbNode<P> {
    fn pointer(&self) -> *mut Self {
        ptr::from_ref(self).cast_mut()
    }
}

pooled_forms! { nodes: ClhNbNode, [placed], [placed] }

impl<P: Form> Swept for ClhNbNode<P> {
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
/// use cohort::{Mutex, abortable::ClhNb};
/// use std::time::Duration;
///
/// let total: Mutex<u64, ClhNb> = Mutex::from_raw(ClhNb::new(), 1);
/// let soon = Duration::from_millis(1);
/// total.locking(|_| assert_eq!(total.try_locking_for(soon, |total| *total), None));
/// assert_eq!(total.try_locking_for(soon, |total| *total), Some(1));
/// ```
#[derive(Debug, Default)]
#[repr(C)]
pub struct ClhNb<P: Form = MayPark> {
    tail: AtomicPtr<ClhNbNode<P>>,
}

impl<P: Form> ClhNb<P> {
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

impl<P: Form> ClhNb<P> {
    /// Waits at that node until the lock is held or patience runs out.
    fn wait(
        &self,
        mut before: &'static ClhNbNode<P>,
        node: &'static ClhNbNode<P>,
        patience: &Patience,
    ) -> Outcome {
        loop {
            let ended = |state| state != BUSY;
            if !before
                .state
                .wait_within(CLH_NB_RELEASED, CLASS, ended, patience)
            {
                self.leave(before, node);
                return Outcome::GaveUp;
            }
            let released = before.state.value(Order::RELAXED) == RELEASED;
            let next = before.before.load(Order::RELAXED);
            recycle(before);
            if released {
                return Outcome::Acquired;
            }
            // SAFETY: nodes live for ever, and this one stays in the queue until its follower,
            // which is now the caller, has passed it.
            before = unsafe { &*next };
        }
    }

    /// Leaves the queue.
    fn leave(&self, before: &'static ClhNbNode<P>, node: &'static ClhNbNode<P>) {
        let alone = self.tail.load(Order::RELAXED) == node.pointer()
            && self
                .tail
                // All exchanges of the tail are one release sequence: the next arrival sees what
                // the previous node's owner has written into it.
                .compare_exchange(
                    node.pointer(),
                    before.pointer(),
                    Order::RELAXED,
                    Order::RELAXED,
                )
                .is_ok();
        if alone {
            return recycle(node);
        }
        let left = if mutant(flaw::LEAVE_AS_RELEASED) {
            RELEASED
        } else {
            ABANDONED
        };
        node.before.store(before.pointer(), Order::RELAXED);
        node.state.set(left, CLH_NB_ABANDON);
    }
}

// SAFETY: each waiter waits for the release of the node before its own, or of an earlier one if its
// owner has left; that node's owner releases it once, after its own work, and one waiter at a time
// looks at it.
unsafe impl<P: Form> RawLock for ClhNb<P> {
    type Context = List<ClhNbNode<P>>;

    #[inline]
    unsafe fn acquire(&self, cx: &Self::Context) {
        // SAFETY: the caller's.
        let _ = unsafe { self.acquire_within(cx, &Patience::ENDLESS) };
    }

    #[inline]
    unsafe fn release(&self, cx: &Self::Context) {
        let node = cx.current();
        let alone = self.tail.load(Order::RELAXED) == node.pointer()
            && self
                .tail
                .compare_exchange(
                    node.pointer(),
                    ptr::null_mut(),
                    CLH_NB_LEAVE,
                    Order::RELAXED,
                )
                .is_ok();
        if alone {
            recycle(node);
        } else {
            node.state.set(RELEASED, CLH_NB_RELEASE);
        }
    }

    fn is_locked(&self) -> bool {
        let mut at = self.tail.load(Order::RELAXED);
        // SAFETY: nodes live for ever; an abandoned one gives a stale answer.
        while let Some(node) = unsafe { at.as_ref() } {
            match node.state.value(CLH_NB_RELEASED) {
                BUSY => return true,
                ABANDONED => at = node.before.load(Order::RELAXED),
                _ => return false,
            }
        }
        false
    }
}

standalone!([P: Form] ClhNb<P>: Hosted { node_bytes: Arena::<ClhNbNode<P>>::NODE_BYTES }, QuickRelease, HighLock, Resumable);

// SAFETY: a null tail is a free lock, and one exchange takes it; otherwise the attempt is an
// acquisition without patience.
unsafe impl<P: Form> RawTry for ClhNb<P> {
    unsafe fn try_acquire(&self, cx: &Self::Context) -> bool {
        if !self.tail.load(Order::RELAXED).is_null() {
            // SAFETY: the caller's.
            return unsafe { self.acquire_within(cx, &Patience::NONE) } == Outcome::Acquired;
        }
        let node = cx.take();
        node.state.reset(BUSY);
        let taken = self
            .tail
            .compare_exchange(ptr::null_mut(), node.pointer(), CLH_NB_TRY, Order::RELAXED)
            .is_ok();
        if !taken {
            recycle(node);
        }
        taken
    }
}

// SAFETY: a waiter that gives up has left its node to its follower, or taken it out of the queue.
unsafe impl<P: Form> Abortable for ClhNb<P> {
    #[inline]
    unsafe fn acquire_within(&self, cx: &Self::Context, patience: &Patience) -> Outcome {
        let node = cx.take();
        node.state.reset(BUSY);
        let before = self.tail.swap(node.pointer(), CLH_NB_ENQUEUE);
        // SAFETY: nodes live for ever, and this one is left to its follower.
        match unsafe { before.as_ref() } {
            None => Outcome::Acquired,
            Some(before) => self.wait(before, node, patience),
        }
    }
}

// SAFETY: release reads and writes the lock and the context alone.
unsafe impl<P: Form> ThreadOblivious for ClhNb<P> {}

impl<P: Form> Fair for ClhNb<P> {}

// SAFETY: afterwards the tail is null or the holder's node.
unsafe impl<P: Form> Inherit for ClhNb<P> {
    unsafe fn inherit(&self, holder: Option<&Self::Context>) {
        let node = holder.map_or(ptr::null_mut(), |cx| {
            cx.current().state.reset(BUSY);
            cx.current().pointer()
        });
        self.tail.store(node, Order::RELAXED);
    }
}

/// Returns the nodes left in the queue to the pool.
impl<P: Form> Drop for ClhNb<P> {
    fn drop(&mut self) {
        let mut at = self.tail.load(Order::RELAXED);
        // SAFETY: nodes live for ever, and no other thread uses the lock.
        while let Some(node) = unsafe { at.as_ref() } {
            at = match node.state.value(CLH_NB_RELEASED) {
                // The node of a holder that is gone.
                BUSY => return,
                ABANDONED => node.before.load(Order::RELAXED),
                _ => ptr::null_mut(),
            };
            recycle(node);
        }
    }
}

impl<P: Form> TwoForms for ClhNb<P> {
    type Spinning = ClhNb<SpinOnly>;
}
