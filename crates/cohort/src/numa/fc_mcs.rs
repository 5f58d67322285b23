//! `fc-mcs`: the first arrival of a NUMA node collects the node's arrivals and appends them
//! together to one `mcs` queue, so that neighbours hold the lock in a row (Dice, Marathe and Shavit
//! 2011; Dice et al. 2015 §1, §5.1).
//!
//! **Not for** loads that it was not tuned for (Dice et al. 2015 §5.1.1): the best collection
//! window depends on the machine, the critical section and the contention.  Nor for more runnable
//! threads than CPUs unless its waiters may sleep, as `mcs`.
//!
//! | field | written by | meaning |
//! |---|---|---|
//! | `arrivals` of a NUMA node | arrivals; the collector | the last arrival, linked to earlier ones |
//! | `tail` | collectors; a holder without successor | as in `mcs` |
//! | a node's `next` | owner; collector; successor | the previous arrival; once collected, as in `mcs` |
//! | a node's `granted` | its predecessor | whether it holds the lock |
//!
//! An arrival at an empty list is the collector.  It waits for a window, unless the lock becomes
//! free, and takes the list.  It reverses the order, so that it is first itself, and appends all by
//! one exchange.  The published lock keeps a record for each thread in a list that collectors scan
//! several times.  Here the list holds only waiting threads, and is empty afterwards.

use super::{EachNode, linked};
use crate::door::{AtomicPtr, Order, Spinner, constructor, flaws, mutant, orders};
use crate::support::padded::CachePadded;
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
    /// Sees the last holder's work if the queue was empty; publishes the last node's null link to
    /// the collector that will write its `next`.
    FC_APPEND = AcqRel;
    /// Publishes the appended nodes to the threads that will grant them.
    FC_LINK = Release;
    /// Sees those nodes.
    FC_SUCCESSOR = Acquire;
    /// Publishes the holder's work to its successor.
    FC_GRANT = Release;
    /// As above, on the successor's side.
    FC_GRANTED = Acquire;
    /// Publishes the holder's work to a thread that finds the queue empty.
    FC_LEAVE = Release;
    /// Sees the last holder's work; publishes the fresh node.
    FC_TRY = AcqRel;
}

flaws! {
    FORGET_FOLLOWERS = "fc-mcs.forget-followers";
}

const NO: u32 = 0;
const YES: u32 = 1;
const CLASS: u32 = 1;

/// A waiter's node.
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

/// The default window in nanoseconds, used everywhere, as in Dice et al. 2015 §5.1.1.  It was tuned
/// for LBench on the simulated sparc-t5440, with equal weight for 1 to 256 threads.  It is twice a
/// thread's work between two critical sections there, so the list holds nearly all threads of a
/// node when it closes.  The mean throughput with 4 to 64 µs is within 2 % of it; with 2 µs it is
/// 7 % lower, with 1 µs 16 %.  The example `tune` of `cohort-lab` repeats the tuning.
pub const FOR_T5440: u64 = 8_000;

/// The lock; all zero when new.  A collector waits for up to `WINDOW` nanoseconds.
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

    /// Enters a list; whether it was empty.  One exchange, stored link second: a compare-exchange
    /// loop could be overtaken for ever.
    fn arrive(list: &List<P>, node: &FcMcsNode<P>) -> bool {
        let before = list.swap(node.pointer(), FC_ARRIVE);
        if before.is_null() {
            return true;
        }
        node.next.store(before, Order::RELAXED);
        false
    }

    /// Appends the list to the queue, the collector first; whether the collector holds the lock.
    fn collect(&self, list: &List<P>, collector: &FcMcsNode<P>) -> bool {
        if WINDOW > 0 {
            Spinner::new().watch(WINDOW, || self.is_locked());
        }
        let last = list.swap(ptr::null_mut(), FC_COLLECT);
        // From the last arrival to the collector, the first one.
        let (mut node, mut after) = (last, ptr::null_mut());
        while node != collector.pointer() {
            // SAFETY: an arrival waits until it is granted.
            let arrival = unsafe { &*node };
            // No ordering: the exchange of the list publishes the nodes.
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

// SAFETY: the head of the queue is the holder's node; every other node waits for its flag, which
// only its predecessor sets, once, after its own work.
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

// SAFETY: an empty queue is a free lock, and one exchange acquires it.
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

/// An arrival enters the queue after at most its collector's window, behind the nodes already
/// there.
impl<P: Parking, const WINDOW: u64> Fair for FcMcs<P, WINDOW> {}

// SAFETY: a tail other than the holder's node is a node that a collector appended behind it, and
// stays until it is granted; a waiter that is still in a list is missed.
unsafe impl<P: Parking, const WINDOW: u64> DetectsWaiters for FcMcs<P, WINDOW> {
    #[inline]
    unsafe fn has_waiters(&self, node: &FcMcsNode<P>) -> bool {
        self.tail().load(Order::RELAXED) != node.pointer()
    }
}

// SAFETY: afterwards the queue is empty or the holder's node alone, and the lists are empty.
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
