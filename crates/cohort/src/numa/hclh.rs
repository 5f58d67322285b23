//! `hclh`: a `clh` queue for each NUMA node, which its first waiter splices as a whole into the
//! queue for the system, so that neighbours hold the lock in a row (Luchangco, Nussbaum and Shavit
//! 2006; Dice et al. 2015 §1, §5.1).
//!
//! **Not for** few waiters to a node: the first waiter waits for further arrivals, and nothing
//! makes up for the delay if there are none (Dice et al. 2015 §1).  Nor for more runnable threads
//! than CPUs unless its waiters may sleep, as `clh`.
//!
//! | field | written by | meaning |
//! |---|---|---|
//! | `local` of a NUMA node | arrivals; the master | the last unspliced arrival; null: none |
//! | `tail` | masters; an arrival; a holder | null: free; else the last node of the queue |
//! | a node's `released` | its owner | whether its successor, its next owner, holds the lock |
//! | a node's `ends` | its owner; then the master | whether it ended a spliced queue, or was alone |
//!
//! An arrival at an empty local queue is the master of that queue.  It waits for a window, unless
//! the lock becomes free, and appends the whole local queue to the global one by one exchange.
//! Each other waiter already has its predecessor; only the master learns its own from the exchange.
//! Only a node that ends a spliced queue may be the lock's last.  So releases to a neighbour do not
//! touch the global tail, which all nodes share.
//!
//! In the published lock a spliced node stays the tail of its local queue.  It then has two
//! successors: the next global master, which reuses the node, and the next arrival of the NUMA
//! node.  That arrival must read in time that the node was spliced (a flag) or reused elsewhere
//! (the cluster's number, in the same word).  This requires threads that do not migrate,
//! which no program guarantees; otherwise exclusion and progress fail (Dice et al. 2015 §1).  Here
//! the master takes the local queue by an exchange: every node has one successor, and a thread's
//! CPU affects only its place in the order.

use super::EachNode;
use crate::basic::clh::{Inherited, Owned, pointer};
use crate::door::{AtomicPtr, Cell, Order, Spinner, constructor, flaws, mutant, orders};
use crate::host::{Arena, Pool, pooled_forms};
use crate::support::padded::CachePadded;
use crate::wait::{MayPark, Parking, SpinOnly, WaitCell};
use cohort_raw::{
    DetectsWaiters, Fair, Inherit, RawLock, RawTry, ThreadOblivious, TwoForms, standalone,
};
use core::ptr;

orders! {
    /// Publishes the fresh node to the successor that will read it and to the master that will mark
    /// it; sees the fresh node before it.
    HCLH_ARRIVE = AcqRel;
    /// Sees the last arrival's fresh node before marking it.
    HCLH_COLLECT = Acquire;
    /// Sees the last holder's work if the queue was empty, or the fresh node before it; publishes
    /// the queue's new last node to the next master.
    HCLH_SPLICE = AcqRel;
    /// Publishes the holder's work to its successor.
    HCLH_RELEASE = Release;
    /// As above, on the successor's side.
    HCLH_RELEASED = Acquire;
    /// Publishes the holder's work to a thread that finds the lock free.
    HCLH_LEAVE = Release;
    /// Sees the last holder's work; publishes the fresh node.
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

/// A waiter's node, at which its successor waits.
#[derive(Debug, Default)]
pub struct HclhNode<P: Parking = MayPark> {
    released: WaitCell<P>,
    ends: Cell<bool>,
}

impl<P: Parking> HclhNode<P> {
    fn set_ends(&self, ends: bool) {
        // SAFETY: its owner calls, before the node is published; or the master, while the node's
        // owner waits behind it or is the master itself.
        self.ends.with_mut(|own| unsafe { *own = ends });
    }

    fn ends(&self) -> bool {
        // SAFETY: its owner calls as the holder, after its master's write.
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

/// The lock; all zero when new.  A master waits for up to `WINDOW` nanoseconds; the default window
/// is not tuned.
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

    /// Appends the local queue to the global one; returns its predecessor there, or null.
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
            // SAFETY: nodes are never freed, and the last one's owner waits or is the master.
            unsafe { &*last }.set_ends(true);
        }
        self.tail().swap(last, HCLH_SPLICE)
    }
}

// SAFETY: each waiter waits for the release of its one predecessor; its owner sets it once, after
// its own work.  A node has at most one successor, since the master empties the local queue.
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
        // SAFETY: nodes are never freed, and this one passes to its successor.
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

// SAFETY: an empty queue is a free lock, and one exchange acquires it.
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

/// An arrival enters the queue after at most its master's window, behind the nodes already there.
impl<P: Form, const WINDOW: u64> Fair for Hclh<P, WINDOW> {}

// SAFETY: the holder's node is the global tail until a local queue is spliced behind it and is
// served from there; an unspliced local queue may be missed.
unsafe impl<P: Form, const WINDOW: u64> DetectsWaiters for Hclh<P, WINDOW> {
    #[inline]
    unsafe fn has_waiters(&self, cx: &Self::Context) -> bool {
        cx.node()
            .is_some_and(|node| self.tail().load(Order::RELAXED) != pointer(node))
    }
}

// SAFETY: afterwards the queue is empty or the holder's node alone, and the local queues are empty.
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
