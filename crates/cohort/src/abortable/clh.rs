//! `clh` with waiters that can leave the queue, and a holder that can hand something over to a waiter
//! that stays: the local lock of `a-c-bo-clh` (Dice et al. 2015 §3.4.2, which has no code, on the
//! queue of Scott 2002).
//!
//! **Not for** waiters without a deadline: [`Clh`](crate::basic::Clh) has a plain store where this
//! lock has a compare-exchange.
//!
//! Each waiter looks at its predecessor's node.  A waiter that leaves marks that node first, then
//! writes its address into its own; its follower continues there, and owns the abandoned node.  The
//! last of the queue removes its own node and leaves none.
//!
//! | a node's `state` | written by | meaning |
//! |---|---|---|
//! | `BUSY` | its owner, before it enters; its new follower, over `GONE` | its owner waits or holds, and its follower, if any, stays |
//! | `GONE` | its follower, over `BUSY` | the same, and the follower has left or is about to |
//! | `ABANDONED` | its owner, the last time | its owner has left; the follower continues at `before` |
//! | `RELEASED` | its owner, the last time | the lock is the follower's |
//! | `RELEASED` + n | its owner, over `BUSY`, the last time | the same, with that number |
//!
//! | field | written by | meaning |
//! |---|---|---|
//! | `tail` | arrivals; the last of the queue, when it leaves | as in `clh`; at a released or abandoned node the lock is free |
//! | a node's `before` | its owner, before `ABANDONED` | the node at which it waited |
//!
//! `GONE` is *successor-aborted* of Dice et al. 2015, in one word with the state, as there.  The
//! holder hands over by a compare-exchange from `BUSY`, which fails if the follower has gone.  If
//! it succeeds, the follower's own compare-exchange to `GONE` fails.  So the follower finds the
//! lock handed over and acquires it, even after its deadline.
//!
//! **A release need not see `GONE`**, and is a plain store where waiters never sleep.  Every other
//! write to that word is a compare-exchange from `BUSY` or `GONE`: it precedes `RELEASED`, or
//! fails.  The releaser does the same for both values: a leaving follower abandons its node to the
//! next one or removes it.  In both cases the next arrival gets to the predecessor, and finds
//! `RELEASED`.
//!
//! **Where the paper is silent.**  The follower of an abandoned node continues at a node with
//! `GONE`, which would stay for ever.  So it restores `BUSY`, since it waits there itself; so does
//! an arrival behind a removed node.  Until then, the holder sees no waiter that stays, which only
//! costs a release.
//!
//! **Bounds.**  After its deadline a waiter passes the abandoned nodes directly before its own,
//! looks once at the next, and leaves.  An abandoned node stays in the queue until the next waiter
//! behind it looks.

use crate::basic::clh::{Inherited, Owned, pointer, return_left};
use crate::door::{AtomicPtr, Order, constructor, flaws, mutant, orders};
use crate::host::{Arena, Pool, pooled_forms};
use crate::wait::{MayPark, Parking, SpinOnly, WaitCell};
use cohort_raw::{
    Abortable, BoundedAbort, Fair, HandOver, HandsOver, Inherit, Outcome, Patience, RawLock,
    RawTry, ThreadOblivious, TwoForms, standalone,
};
use core::ptr;

orders! {
    /// Acquires what the last holder did if the queue was empty; publishes the fresh node to the
    /// follower.
    A_CLH_ENQUEUE = AcqRel;
    /// What the holder did is seen by its follower.
    A_CLH_RELEASE = Release;
    /// The same, by a hand-over.
    A_CLH_HAND_OVER = Release;
    /// Publishes the node at which the follower continues.
    A_CLH_ABANDON = Release;
    /// Sees all three.
    A_CLH_RELEASED = Acquire;
    /// What the holder did is seen by a thread that finds the queue empty.
    A_CLH_LEAVE = Release;
    /// The next arrival at the predecessor sees `GONE`, and restores `BUSY`: otherwise the node
    /// would look released.
    A_CLH_RETURN = Release;
    /// Sees what the last holder did; publishes the fresh node.
    A_CLH_TRY = AcqRel;
}

flaws! {
    /// A waiter leaves without marking its predecessor.
    LEAVE_UNTOLD = "a-clh.leave-untold";
    /// A holder hands over even if its follower has gone.
    HAND_OVER_BLINDLY = "a-clh.hand-over-blindly";
}

const BUSY: u32 = 0;
const GONE: u32 = 1;
const ABANDONED: u32 = 2;
const RELEASED: u32 = 3;
const CLASS: u32 = 1;

/// A waiter's node, which its follower looks at.
#[derive(Debug, Default)]
pub struct AClhNode<P: Parking> {
    state: WaitCell<P>,
    before: AtomicPtr<AClhNode<P>>,
}

impl<P: Form> AClhNode<P> {
    /// Makes the caller the follower of this node.
    fn follow(&self) {
        if self.state.value(Order::RELAXED) == GONE {
            // If it fails, the owner has made its last write.
            let _ = self
                .state
                .exchange(GONE, BUSY, Order::RELAXED, Order::RELAXED);
        }
    }
}

pooled_forms! { nodes: AClhNode, [cache 14], [cache 15] }

impl<P: Form> Inherited for AClhNode<P> {
    #[inline]
    fn pool() -> &'static (impl Pool<Self> + 'static) {
        P::nodes()
    }

    #[inline]
    fn renew(&self) {
        self.state.reset(BUSY);
    }
}

/// Bytes of all nodes made.
pub(crate) fn pool_bytes() -> usize {
    PARKING.bytes() + SPINNING.bytes()
}

/// The lock; all zero when new.
///
/// ```
/// use cohort::{Mutex, abortable::AClh};
/// use std::time::Duration;
///
/// let total: Mutex<u64, AClh> = Mutex::from_raw(AClh::new(), 1);
/// let soon = Duration::from_millis(1);
/// total.locking(|_| assert_eq!(total.try_locking_for(soon, |total| *total), None));
/// assert_eq!(total.try_locking_for(soon, |total| *total), Some(1));
/// ```
#[derive(Debug, Default)]
#[repr(C)]
pub struct AClh<P: Form = MayPark> {
    tail: AtomicPtr<AClhNode<P>>,
}

impl<P: Form> AClh<P> {
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

impl<P: Form> AClh<P> {
    /// Waits at that node until the lock is held or patience runs out.
    fn wait(
        &self,
        mut before: &'static AClhNode<P>,
        node: &'static AClhNode<P>,
        cx: &Owned<AClhNode<P>>,
        patience: &Patience,
    ) -> Outcome {
        loop {
            before.follow();
            let ended = |state| state > GONE;
            let in_time = before
                .state
                .wait_within(A_CLH_RELEASED, CLASS, ended, patience);
            if !in_time && self.leave(before, node, cx) {
                return Outcome::GaveUp;
            }
            if before.state.value(A_CLH_RELEASED) != ABANDONED {
                cx.succeed(before);
                return Outcome::Acquired;
            }
            // SAFETY: nodes live for ever, and this one stays in the queue until its follower,
            // which is now the caller, has passed it.
            let next = unsafe { &*before.before.load(Order::RELAXED) };
            return_left(before);
            before = next;
        }
    }

    /// Leaves the queue, unless the node before has been released or abandoned.
    fn leave(
        &self,
        before: &'static AClhNode<P>,
        node: &'static AClhNode<P>,
        cx: &Owned<AClhNode<P>>,
    ) -> bool {
        let tells = !mutant(flaw::LEAVE_UNTOLD);
        if tells
            && !before
                .state
                .exchange(BUSY, GONE, Order::RELAXED, A_CLH_RELEASED)
        {
            return false;
        }
        let last = self.tail.load(Order::RELAXED) == pointer(node)
            && self
                .tail
                .compare_exchange(pointer(node), pointer(before), A_CLH_RETURN, Order::RELAXED)
                .is_ok();
        if !last {
            // In this order: the follower owns the node as soon as it sees the state.
            cx.abandon(node);
            node.before.store(pointer(before), Order::RELAXED);
            node.state.set(ABANDONED, A_CLH_ABANDON);
        }
        true
    }

    fn node(cx: &Owned<AClhNode<P>>) -> &'static AClhNode<P> {
        match cx.node() {
            Some(node) => node,
            None => unreachable!("a context that holds the lock owns a node"),
        }
    }
}

// SAFETY: each waiter waits for the release of the node before its own, or of an earlier one if its
// owner has left; that node's owner releases it once, after its own work, and one waiter at a time
// looks at it.
unsafe impl<P: Form> RawLock for AClh<P> {
    type Context = Owned<AClhNode<P>>;

    #[inline]
    unsafe fn acquire(&self, cx: &Self::Context) {
        // SAFETY: the caller's.
        let _ = unsafe { self.acquire_within(cx, &Patience::ENDLESS) };
    }

    #[inline]
    unsafe fn release(&self, cx: &Self::Context) {
        let node = Self::node(cx);
        let alone = self.tail.load(Order::RELAXED) == pointer(node)
            && self
                .tail
                .compare_exchange(pointer(node), ptr::null_mut(), A_CLH_LEAVE, Order::RELAXED)
                .is_ok();
        if alone {
            cx.forget_predecessor();
        } else {
            cx.leave();
            node.state.set(RELEASED, A_CLH_RELEASE);
        }
    }

    fn is_locked(&self) -> bool {
        let mut at = self.tail.load(Order::RELAXED);
        // SAFETY: nodes live for ever; an abandoned one gives a stale answer.
        while let Some(node) = unsafe { at.as_ref() } {
            match node.state.value(A_CLH_RELEASED) {
                BUSY | GONE => return true,
                ABANDONED => at = node.before.load(Order::RELAXED),
                _ => return false,
            }
        }
        false
    }
}

standalone!([P: Form] AClh<P>: Hosted { node_bytes: Arena::<AClhNode<P>>::NODE_BYTES }, HighLock, Resumable);

// SAFETY: a null tail is a free lock, and one exchange takes it; otherwise the attempt is an
// acquisition without patience.
unsafe impl<P: Form> RawTry for AClh<P> {
    unsafe fn try_acquire(&self, cx: &Self::Context) -> bool {
        if !self.tail.load(Order::RELAXED).is_null() {
            // SAFETY: the caller's.
            return unsafe { self.acquire_within(cx, &Patience::NONE) } == Outcome::Acquired;
        }
        let node = pointer(cx.fresh());
        let taken = self
            .tail
            .compare_exchange(ptr::null_mut(), node, A_CLH_TRY, Order::RELAXED)
            .is_ok();
        if taken {
            cx.forget_predecessor();
        }
        taken
    }
}

// SAFETY: a waiter that gives up has left its node to its follower, or taken it out of the queue.
unsafe impl<P: Form> Abortable for AClh<P> {
    #[inline]
    unsafe fn acquire_within(&self, cx: &Self::Context, patience: &Patience) -> Outcome {
        let node = cx.fresh();
        let before = self.tail.swap(pointer(node), A_CLH_ENQUEUE);
        // SAFETY: nodes live for ever, and this one is left to its follower.
        match unsafe { before.as_ref() } {
            None => {
                cx.forget_predecessor();
                Outcome::Acquired
            }
            Some(before) => self.wait(before, node, cx, patience),
        }
    }
}

// SAFETY: see "Bounds" above: no node enters before the waiter's own.
unsafe impl<P: Form> BoundedAbort for AClh<P> {}

// SAFETY: release reads and writes the lock and the context alone.
unsafe impl<P: Form> ThreadOblivious for AClh<P> {}

impl<P: Form> Fair for AClh<P> {}

// SAFETY: a follower leaves by changing `BUSY`, and so does a hand-over: one of them fails.  If the
// node is not the tail, a follower has entered.  If that had left, the state would be `GONE`, or a
// later follower has restored `BUSY` and not left.  The number is in the predecessor's node, which
// the holder owns and no thread writes; without a predecessor there is none.
unsafe impl<P: Form> HandsOver for AClh<P> {
    const MOST: u32 = WaitCell::<P>::MAX - RELEASED;

    #[inline]
    unsafe fn hand_over(&self, cx: &Self::Context, number: u32) -> HandOver {
        let node = Self::node(cx);
        if self.tail.load(Order::RELAXED) == pointer(node) {
            return HandOver::Kept;
        }
        if mutant(flaw::HAND_OVER_BLINDLY) {
            node.state.set(RELEASED + number, A_CLH_HAND_OVER);
        } else if !node.state.change(BUSY, RELEASED + number, A_CLH_HAND_OVER) {
            return HandOver::Kept;
        }
        cx.leave();
        HandOver::Done
    }

    #[inline]
    unsafe fn handed(&self, cx: &Self::Context) -> u32 {
        cx.predecessor().map_or(0, |node| {
            node.state.value(Order::RELAXED).saturating_sub(RELEASED)
        })
    }
}

// SAFETY: afterwards the tail is null or the holder's node.
unsafe impl<P: Form> Inherit for AClh<P> {
    unsafe fn inherit(&self, holder: Option<&Self::Context>) {
        let node = holder.and_then(Owned::node);
        if let Some(node) = node {
            node.state.reset(BUSY);
        }
        self.tail
            .store(node.map_or(ptr::null_mut(), pointer), Order::RELAXED);
    }
}

/// Returns the nodes left in the queue to the pool.
impl<P: Form> Drop for AClh<P> {
    fn drop(&mut self) {
        let mut node = self.tail.load(Order::RELAXED);
        // SAFETY: nodes live for ever, and no other thread uses the lock.
        while let Some(here) = unsafe { node.as_ref() } {
            match here.state.value(A_CLH_RELEASED) {
                // Owned by a context.
                BUSY | GONE => return,
                ABANDONED => node = here.before.load(Order::RELAXED),
                _ => node = ptr::null_mut(),
            }
            return_left(here);
        }
    }
}

impl<P: Form> TwoForms for AClh<P> {
    type Spinning = AClh<SpinOnly>;
}
