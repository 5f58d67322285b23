//! `fc-mcs`: the arrivals of each NUMA node are collected by one of them, which appends
//! them to one `mcs` queue together, so that neighbours hold the lock in a row (Dice,
//! Marathe and Shavit 2011; Dice et al. 2015 §1, §5.1).
//!
//! **Not for** loads that it was not tuned for (Dice et al. 2015 §5.1.1): how long to collect
//! depends on the machine, the section and the crowd.  Nor for more runnable threads than CPUs
//! unless its waiters may sleep, as `mcs`.
//!
//! | field | written by | meaning |
//! |---|---|---|
//! | `arrivals` of a NUMA node | arrivals; the collector, which takes all | the last arrival, and by `next` those before it |
//! | `tail` | collectors; the holder, if it is the last | as in `mcs` |
//! | a node's `next` | its owner, as an arrival; then the collector; its successor in the queue | the arrival before it; then its successor in the queue |
//! | a node's `granted` | its predecessor | whether it holds the lock |
//!
//! An arrival that finds nobody before it is the collector.  It waits a while for others,
//! unless the lock is free; takes all arrivals; turns their order round, so that it comes
//! first itself; and puts them in the queue by one exchange.  In the published lock each
//! thread has a record in a list that collectors look through, several times over; here
//! the list holds the threads that want the lock and no others, and nothing is left in it.

use super::{EachNode, linked};
use crate::door::{AtomicPtr, Order, Spinner, constructor, flaws, mutant, orders};
use crate::padded::CachePadded;
use crate::wait::{MayPark, Parking, SpinOnly, WaitCell};
use cohort_raw::{
    DetectsWaiters, Fair, Inherit, RawLock, RawTry, ThreadOblivious, TwoForms, standalone,
};
use core::ptr;

orders! {
    /// Publishes the fresh node to the collector.
    FC_ARRIVE = Release;
    /// Sees the fresh nodes of all arrivals.
    FC_COLLECT = Acquire;
    /// Acquires what the last holder did if the queue was empty, and publishes that the
    /// last node has no successor to the collector that will write its `next`.
    FC_APPEND = AcqRel;
    /// Publishes the appended nodes to the threads that will grant them.
    FC_LINK = Release;
    /// Sees them.
    FC_SUCCESSOR = Acquire;
    /// What the holder did is seen by its successor.
    FC_GRANT = Release;
    /// Sees it.
    FC_GRANTED = Acquire;
    /// What the holder did is seen by the thread that finds the queue empty.
    FC_LEAVE = Release;
    /// Sees what the last holder did; publishes the fresh node.
    FC_TRY = AcqRel;
}

flaws! {
    FORGET_FOLLOWERS = "fc-mcs.forget-followers";
}

const NO: u32 = 0;
const YES: u32 = 1;
const CLASS: u32 = 1;

/// A waiter's place.
#[derive(Debug, Default)]
#[repr(C)]
pub struct FcMcsNode<P: Parking = MayPark> {
    next: AtomicPtr<FcMcsNode<P>>,
    granted: WaitCell<P>,
}

impl<P: Parking> FcMcsNode<P> {
    fn pointer(&self) -> *mut Self {
        ptr::from_ref(self).cast_mut()
    }

    fn renew(&self) {
        self.next.store(ptr::null_mut(), Order::RELAXED);
        self.granted.reset(NO);
    }
}

type List<P> = AtomicPtr<FcMcsNode<P>>;

/// The usual window, in nanoseconds: tuned for LBench on the simulated sparc-t5440, 1 to 256
/// threads alike, and used everywhere, as Dice et al. 2015 §5.1.1 does.  It is twice as long as
/// what a thread does there between two sections, so nearly all of a node are in the list when
/// it closes; windows of 4 to 64 µs are within 2 % of it, 2 µs has 7 % less in the mean, 1 µs 16
/// %.  The example `tune` of `cohort-lab` repeats it.
pub const FOR_T5440: u64 = 8_000;

/// The lock; all zero when new.  A collector waits for others for up to `WINDOW`
/// nanoseconds.
///
/// ```
/// use cohort::{Mutex, numa::FcMcs};
///
/// static TOTAL: Mutex<u64, FcMcs> = Mutex::from_raw(FcMcs::new(), 1);
/// *TOTAL.lock() += 1;
/// assert_eq!(*TOTAL.lock(), 2);
/// ```
#[derive(Debug)]
#[repr(C)]
pub struct FcMcs<P: Parking = MayPark, const WINDOW: u64 = FOR_T5440> {
    tail: CachePadded<List<P>>,
    arrivals: EachNode<FcMcsNode<P>>,
}

impl<P: Parking, const WINDOW: u64> Default for FcMcs<P, WINDOW> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: Parking, const WINDOW: u64> FcMcs<P, WINDOW> {
    constructor! {
        /// A free lock.
        #[must_use]
        pub fn new() -> Self {
            Self {
                tail: CachePadded(AtomicPtr::null()),
                arrivals: EachNode::new(),
            }
        }
    }

    fn tail(&self) -> &List<P> {
        &self.tail.0
    }

    /// Enters a list; whether nobody was in it.  By one exchange, since a thread that had to try
    /// again could be passed over for ever; so the link comes after it.
    fn arrive(list: &List<P>, node: &FcMcsNode<P>) -> bool {
        let before = list.swap(node.pointer(), FC_ARRIVE);
        if before.is_null() {
            return true;
        }
        node.next.store(before, Order::RELAXED);
        false
    }

    /// Appends all in the list to the queue, the collector first; whether it holds the
    /// lock.
    fn collect(&self, list: &List<P>, collector: &FcMcsNode<P>) -> bool {
        if WINDOW > 0 {
            Spinner::new().watch(WINDOW, || self.is_locked());
        }
        let last = list.swap(ptr::null_mut(), FC_COLLECT);
        // From the last to the collector, which came first.
        let (mut node, mut after) = (last, ptr::null_mut());
        while node != collector.pointer() {
            // SAFETY: an arrival waits until it is granted.
            let arrival = unsafe { &*node };
            // Nothing is published by the link: the list is what publishes nodes.
            let before = linked(&arrival.next, Order::RELAXED);
            arrival.next.store(after, Order::RELAXED);
            (node, after) = (before, node);
        }
        if !mutant(flaw::FORGET_FOLLOWERS) {
            collector.next.store(after, Order::RELAXED);
        }
        let predecessor = self.tail().swap(last, FC_APPEND);
        if predecessor.is_null() {
            return true;
        }
        // SAFETY: the predecessor cannot leave before it has read this link.
        unsafe { &*predecessor }
            .next
            .store(collector.pointer(), FC_LINK);
        false
    }
}

// SAFETY: the node at the head of the queue is the holder's; each other waits for its
// flag, which only its predecessor sets, once, after its own work.
unsafe impl<P: Parking, const WINDOW: u64> RawLock for FcMcs<P, WINDOW> {
    type Context = FcMcsNode<P>;

    #[inline]
    unsafe fn acquire(&self, node: &FcMcsNode<P>) {
        // SAFETY: the caller's.
        if unsafe { self.try_acquire(node) } {
            return;
        }
        node.renew();
        let list = self.arrivals.here();
        if Self::arrive(list, node) && self.collect(list, node) {
            return;
        }
        node.granted
            .wait_for(FC_GRANTED, CLASS, |granted| granted == YES);
    }

    #[inline]
    unsafe fn release(&self, node: &FcMcsNode<P>) {
        let mut successor = node.next.load(FC_SUCCESSOR);
        if successor.is_null() {
            if self
                .tail()
                .compare_exchange(node.pointer(), ptr::null_mut(), FC_LEAVE, Order::RELAXED)
                .is_ok()
            {
                return;
            }
            successor = linked(&node.next, FC_SUCCESSOR);
        }
        // SAFETY: a linked successor stays until it is granted.
        unsafe { &*successor }.granted.set(YES, FC_GRANT);
    }

    fn is_locked(&self) -> bool {
        !self.tail().load(Order::RELAXED).is_null()
    }
}

standalone!([P: Parking, const WINDOW: u64] FcMcs<P, WINDOW>: Hosted, LowLock, HighLock);

// SAFETY: an empty queue is nobody's lock, and one exchange takes it.
unsafe impl<P: Parking, const WINDOW: u64> RawTry for FcMcs<P, WINDOW> {
    #[inline]
    unsafe fn try_acquire(&self, node: &FcMcsNode<P>) -> bool {
        if self.is_locked() {
            return false;
        }
        node.renew();
        self.tail()
            .compare_exchange(ptr::null_mut(), node.pointer(), FC_TRY, Order::RELAXED)
            .is_ok()
    }
}

// SAFETY: release reads and writes the lock and its nodes alone.
unsafe impl<P: Parking, const WINDOW: u64> ThreadOblivious for FcMcs<P, WINDOW> {}

/// An arrival is in the queue once its collector has waited its while, behind those
/// that were there before.
impl<P: Parking, const WINDOW: u64> Fair for FcMcs<P, WINDOW> {}

// SAFETY: another tail than the holder's node is the last of those that a collector has put
// behind it, and each of them stays until it is granted; a waiter that is still in a list goes
// unseen.
unsafe impl<P: Parking, const WINDOW: u64> DetectsWaiters for FcMcs<P, WINDOW> {
    #[inline]
    unsafe fn has_waiters(&self, node: &FcMcsNode<P>) -> bool {
        self.tail().load(Order::RELAXED) != node.pointer()
    }
}

// SAFETY: afterwards the queue is empty or the holder's node alone, and nobody arrives.
unsafe impl<P: Parking, const WINDOW: u64> Inherit for FcMcs<P, WINDOW> {
    unsafe fn inherit(&self, holder: Option<&FcMcsNode<P>>) {
        for list in self.arrivals.all() {
            list.store(ptr::null_mut(), Order::RELAXED);
        }
        let tail = holder.map_or(ptr::null_mut(), |node| {
            node.next.store(ptr::null_mut(), Order::RELAXED);
            node.pointer()
        });
        self.tail().store(tail, Order::RELAXED);
    }
}

impl<P: Parking, const WINDOW: u64> TwoForms for FcMcs<P, WINDOW> {
    type Spinning = FcMcs<SpinOnly, WINDOW>;
}
