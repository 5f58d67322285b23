//! `hclh`: a `clh` queue for each NUMA node, whose first waiter splices all of it into the
//! one for the whole system, so that neighbours hold the lock in a row (Luchangco,
//! Nussbaum and Shavit 2006; Dice et al. 2015 §1, §5.1).
//!
//! **Not for** few waiters to a node: the first to come waits for others that do not
//! come, and nothing then stands against that delay (Dice et al. 2015 §1).  Nor for more runnable
//! threads than CPUs unless its waiters may sleep, as `clh`.
//!
//! | field | written by | meaning |
//! |---|---|---|
//! | `local` of a NUMA node | arrivals; the master, which takes all | the last arrival that is in no other queue; null: the next arrival is a master |
//! | `tail` | masters; the thread that finds the lock free; the holder, if it is the last | null: free; else the last node of the queue |
//! | a node's `released` | its owner | whether its successor, which owns it from then on, holds the lock |
//! | a node's `ends` | its owner, when fresh; then the master | whether it was the last to be spliced with others, or alone |
//!
//! A waiter that finds nobody before it is the master of all that come until it has
//! spliced them.  It waits a while for others, unless the lock is free, and puts the whole
//! queue at the end of the global one by one exchange, whatever its length: each waiter
//! knows which node it waits for, and the master alone has still to learn that.  Only a node that
//! ends what was spliced may be the lock's last; so releases to a neighbour leave the
//! global tail, which is everybody's line, alone.
//!
//! In the published lock a spliced node stays the tail of its local queue.  It then has
//! two successors: the next master of the system, which will use the node again, and the
//! next arrival of the NUMA node, which has to learn from it in time that it was spliced
//! (a flag), or that it is somewhere else by now (the cluster's number, in the same word).
//! That holds only as long as threads stay where they are (Dice et al. 2015 §1 found exclusion and
//! progress to fail otherwise), and no program promises it.  Here the master takes the
//! local queue away by an exchange: every node has one successor, and where a thread runs
//! decides nothing but its place in the order.

use super::EachNode;
use crate::basic::clh::{Inherited, Owned, pointer};
use crate::door::{AtomicPtr, Cell, Order, Spinner, constructor, flaws, mutant, orders};
use crate::host::{Arena, Pool, pooled_forms};
use crate::padded::CachePadded;
use crate::wait::{MayPark, Parking, SpinOnly, WaitCell};
use cohort_raw::{
    DetectsWaiters, Fair, Inherit, RawLock, RawTry, ThreadOblivious, TwoForms, standalone,
};
use core::ptr;

orders! {
    /// Publishes the fresh node to the successor that will look at it and to the master
    /// that will mark it; sees the fresh node before it.
    HCLH_ARRIVE = AcqRel;
    /// Sees the last arrival's fresh node before marking it.
    HCLH_COLLECT = Acquire;
    /// Acquires what the last holder did if the queue was empty, or the fresh node before
    /// it; publishes the node that now ends the queue to the next master.
    HCLH_SPLICE = AcqRel;
    /// What the holder did is seen by its successor.
    HCLH_RELEASE = Release;
    /// Sees it.
    HCLH_RELEASED = Acquire;
    /// What the holder did is seen by the thread that finds the lock free.
    HCLH_LEAVE = Release;
    /// Sees what the last holder did; publishes the fresh node.
    HCLH_TRY = AcqRel;
}

flaws! {
    FORGET_FOLLOWERS = "hclh.forget-followers";
    STAY_BEHIND = "hclh.stay-behind";
    FORGET_END = "hclh.forget-end";
}

const NO: u32 = 0;
const YES: u32 = 1;
const CLASS: u32 = 1;

/// A waiter's node: what its successor looks at.
#[derive(Debug, Default)]
pub struct HclhNode<P: Parking = MayPark> {
    released: WaitCell<P>,
    ends: Cell<bool>,
}

impl<P: Parking> HclhNode<P> {
    fn set_ends(&self, ends: bool) {
        // SAFETY: its owner calls, of a node that nobody has seen; or the master, of one
        // whose owner waits, behind the master or as the master.
        self.ends.with_mut(|own| unsafe { *own = ends });
    }

    fn ends(&self) -> bool {
        // SAFETY: its owner asks, which holds the lock, as its master does or did.
        self.ends.with(|ends| unsafe { *ends })
    }
}

pooled_forms! { nodes: HclhNode, [cache 5], [cache 6] }

/// Bytes of all nodes made so far.
pub(crate) fn pool_bytes() -> usize {
    PARKING.bytes() + SPINNING.bytes()
}

impl<P: Form> Inherited for HclhNode<P> {
    fn pool() -> &'static (impl Pool<Self> + 'static) {
        P::nodes()
    }

    #[inline]
    fn renew(&self) {
        self.released.reset(NO);
        self.set_ends(false);
    }
}

type Tail<P> = AtomicPtr<HclhNode<P>>;

/// The lock; all zero when new.  A master waits for others for up to `WINDOW` nanoseconds;
/// the usual window is that of `fc-mcs`, and as little tuned.
///
/// ```
/// use cohort::{Mutex, numa::Hclh};
///
/// static TOTAL: Mutex<u64, Hclh> = Mutex::from_raw(Hclh::new(), 1);
/// *TOTAL.lock() += 1;
/// assert_eq!(*TOTAL.lock(), 2);
/// ```
#[derive(Debug)]
#[repr(C)]
pub struct Hclh<P: Form = MayPark, const WINDOW: u64 = 1_000> {
    tail: CachePadded<Tail<P>>,
    local: EachNode<HclhNode<P>>,
}

impl<P: Form, const WINDOW: u64> Default for Hclh<P, WINDOW> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: Form, const WINDOW: u64> Hclh<P, WINDOW> {
    constructor! {
        /// A free lock.
        #[must_use]
        pub fn new() -> Self {
            Self {
                tail: CachePadded(AtomicPtr::null()),
                local: EachNode::new(),
            }
        }
    }

    fn tail(&self) -> &Tail<P> {
        &self.tail.0
    }

    /// Puts the local queue behind the global one; the node before it, null if there is
    /// none.
    fn splice(&self, local: &Tail<P>, master: &'static HclhNode<P>) -> *mut HclhNode<P> {
        if WINDOW > 0 {
            Spinner::new().watch(WINDOW, || self.is_locked());
        }
        let last = if mutant(flaw::FORGET_FOLLOWERS) {
            local.store(ptr::null_mut(), Order::RELAXED);
            pointer(master)
        } else if mutant(flaw::STAY_BEHIND) {
            local.load(HCLH_COLLECT)
        } else {
            local.swap(ptr::null_mut(), HCLH_COLLECT)
        };
        if !mutant(flaw::FORGET_END) {
            // SAFETY: nodes live for ever, and the last one's owner waits or is the master.
            unsafe { &*last }.set_ends(true);
        }
        self.tail().swap(last, HCLH_SPLICE)
    }
}

// SAFETY: each waiter waits for the release of the one node before its own, which that
// node's owner sets once, after its own work; each node is before one other at most,
// since a queue that was spliced is no longer its NUMA node's.
unsafe impl<P: Form, const WINDOW: u64> RawLock for Hclh<P, WINDOW> {
    type Context = Owned<HclhNode<P>>;

    #[inline]
    unsafe fn acquire(&self, cx: &Self::Context) {
        // SAFETY: the caller's.
        if unsafe { self.try_acquire(cx) } {
            return;
        }
        let node = cx.fresh();
        let local = self.local.here();
        let mut predecessor = local.swap(pointer(node), HCLH_ARRIVE);
        if predecessor.is_null() {
            predecessor = self.splice(local, node);
            if predecessor.is_null() {
                return;
            }
        }
        // SAFETY: nodes live for ever, and this one is left to its successor.
        let predecessor = unsafe { &*predecessor };
        predecessor
            .released
            .wait_for(HCLH_RELEASED, CLASS, |released| released == YES);
        cx.succeed(predecessor);
    }

    #[inline]
    unsafe fn release(&self, cx: &Self::Context) {
        let Some(node) = cx.node() else {
            unreachable!("a context that holds the lock owns a node")
        };
        let freed = node.ends()
            && self
                .tail()
                .compare_exchange(pointer(node), ptr::null_mut(), HCLH_LEAVE, Order::RELAXED)
                .is_ok();
        if freed {
            cx.forget_predecessor();
        } else {
            cx.leave();
            node.released.set(YES, HCLH_RELEASE);
        }
    }

    fn is_locked(&self) -> bool {
        !self.tail().load(Order::RELAXED).is_null()
    }
}

standalone! {
    [P: Form, const WINDOW: u64] Hclh<P, WINDOW>:
    Hosted { node_bytes: Arena::<HclhNode<P>>::NODE_BYTES },
    LowLock,
    HighLock
}

// SAFETY: an empty queue is nobody's lock, and one exchange takes it.
unsafe impl<P: Form, const WINDOW: u64> RawTry for Hclh<P, WINDOW> {
    #[inline]
    unsafe fn try_acquire(&self, cx: &Self::Context) -> bool {
        if self.is_locked() {
            return false;
        }
        let node = cx.fresh();
        node.set_ends(true);
        self.tail()
            .compare_exchange(ptr::null_mut(), pointer(node), HCLH_TRY, Order::RELAXED)
            .is_ok()
    }
}

// SAFETY: release reads and writes the lock, the context and its nodes alone.
unsafe impl<P: Form, const WINDOW: u64> ThreadOblivious for Hclh<P, WINDOW> {}

/// An arrival is in the queue once its master has waited its while, behind those that
/// were there before.
impl<P: Form, const WINDOW: u64> Fair for Hclh<P, WINDOW> {}

// SAFETY: the holder's node is the tail of the global queue until a local queue is spliced in
// behind it, which is served from there; one not yet spliced may go unseen.
unsafe impl<P: Form, const WINDOW: u64> DetectsWaiters for Hclh<P, WINDOW> {
    #[inline]
    unsafe fn has_waiters(&self, cx: &Self::Context) -> bool {
        cx.node()
            .is_some_and(|node| self.tail().load(Order::RELAXED) != pointer(node))
    }
}

// SAFETY: afterwards the queue is empty or the holder's node alone, and nobody arrives.
unsafe impl<P: Form, const WINDOW: u64> Inherit for Hclh<P, WINDOW> {
    unsafe fn inherit(&self, holder: Option<&Self::Context>) {
        for local in self.local.all() {
            local.store(ptr::null_mut(), Order::RELAXED);
        }
        let node = holder.and_then(Owned::node);
        if let Some(node) = node {
            node.released.reset(NO);
            node.set_ends(true);
        }
        self.tail()
            .store(node.map_or(ptr::null_mut(), pointer), Order::RELAXED);
    }
}

impl<P: Form, const WINDOW: u64> TwoForms for Hclh<P, WINDOW> {
    type Spinning = Hclh<SpinOnly, WINDOW>;
}
