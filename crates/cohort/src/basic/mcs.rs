//! `mcs`: a queue lock; each waiter polls a flag in its own node; the holder grants its
//! successor (Mellor-Crummey and Scott; Chehab et al. 2021 §2.1, Chabbi et al. 2017 §2).
//!
//! **Not for** more runnable threads than CPUs unless its waiters may sleep: the next waiter may be
//! preempted, and the others cannot pass it.
//!
//! | `tail` | holder's `next` | state |
//! |---|---|---|
//! | null | | free |
//! | the holder's node | null | held, no waiter |
//! | another node | null | held; a waiter has arrived and is about to link itself |
//! | another node | the successor | held, with a queue |
//!
//! A node's `next` is written once by its successor and read by its owner.  `granted` is written
//! once by its predecessor and read by its owner: 1 plus the number that is carried.

use crate::door::{AtomicPtr, AtomicU32, Order, Spinner, constructor, flaws, mutant, orders};
use crate::wait::{MayPark, Parking, WaitCell};
use cohort_raw::{
    DetectsWaiters, Fair, Inherit, LowLock, RawLock, RawTry, ThreadOblivious, standalone,
};
use core::cell::Cell;
use core::ptr;

orders! {
    /// Acquires what the last holder did if the queue was empty, and publishes
    /// the node's fresh fields to the successor that will write `next`.
    MCS_ENQUEUE = AcqRel;
    /// Publishes the successor's fresh node to the holder that grants it.
    MCS_LINK = Release;
    /// Sees that fresh node before writing its flag.
    MCS_SUCCESSOR = Acquire;
    /// What the holder did is seen by its successor.
    MCS_GRANT = Release;
    /// Sees it.
    MCS_GRANTED = Acquire;
    /// What the holder did is seen by the thread that finds the queue empty.
    MCS_LEAVE = Release;
    /// Sees what the last holder did; publishes the fresh node.
    MCS_TRY = AcqRel;
    /// What the holder did is seen by the thread that finds the queue emptied by the dismissal.
    MCS_DISMISS = Release;
}

flaws! {
    FORGET_DISMISSAL = "mcs.forget-dismissal";
}

/// A waiter's place in the queue.
#[derive(Debug, Default)]
#[repr(C)]
pub struct McsNode<P: Parking = MayPark> {
    next: AtomicPtr<McsNode<P>>,
    granted: WaitCell<P>,
}

impl<P: Parking> McsNode<P> {
    constructor! {
        /// A node outside any queue.
        #[must_use]
        pub fn new() -> Self {
            Self {
                next: AtomicPtr::null(),
                granted: WaitCell::new(),
            }
        }
    }
}

/// The lock; all zero when new.
///
/// ```
/// use cohort::{Mutex, basic::Mcs};
///
/// static TOTAL: Mutex<u64, Mcs> = Mutex::from_raw(Mcs::new(), 1);
/// *TOTAL.lock() += 1;
/// assert_eq!(*TOTAL.lock(), 2);
/// ```
#[derive(Debug, Default)]
#[repr(C)]
pub struct Mcs<P: Parking = MayPark> {
    tail: AtomicPtr<McsNode<P>>,
}

impl<P: Parking> Mcs<P> {
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

const NO: u32 = 0;
const YES: u32 = 1;
const CLASS: u32 = 1;

/// All bits of a [count](Mcs::count), which therefore always fits beside the flag.
const COUNTS: u32 = (1 << 24) - 1;

/// Dismissed: out of the queue without the lock.
const GO: u32 = WaitCell::<MayPark>::MAX;

impl<P: Parking> McsNode<P> {
    fn renew(&self) {
        self.next.store(ptr::null_mut(), Order::RELAXED);
        self.granted.reset(NO);
    }

    fn pointer(&self) -> *mut Self {
        ptr::from_ref(self).cast_mut()
    }

    /// Blocks until the node is granted; the value of the grant.
    #[inline(never)]
    fn wait(&self) -> u32 {
        // The value of the look that saw it: another look would fetch the line again.
        let seen = Cell::new(NO);
        self.granted.wait_for(MCS_GRANTED, CLASS, |granted| {
            seen.set(granted);
            granted != NO
        });
        seen.get()
    }

    /// Grants the successor, which has swapped the tail.
    #[inline(never)]
    fn hand_on(&self, value: u32) {
        Self::hand_to(self.await_successor(), value);
    }

    /// Grants a successor that has linked itself.
    #[inline(always)]
    fn hand_to(successor: *mut Self, value: u32) {
        // SAFETY: a linked successor stays until it is granted.
        unsafe { &*successor }.granted.set(value, MCS_GRANT);
    }

    /// Waits for the link of the successor that has swapped the tail.
    #[cold]
    fn await_successor(&self) -> *mut Self {
        let mut spinner = Spinner::new();
        loop {
            let successor = self.next.load(MCS_SUCCESSOR);
            if !successor.is_null() {
                return successor;
            }
            spinner.moment();
        }
    }
}

// SAFETY: the node at the head of the queue is the holder's; a successor waits
// for its flag, which only its predecessor sets, once, after its own work.
unsafe impl<P: Parking> RawLock for Mcs<P> {
    type Context = McsNode<P>;

    #[inline]
    unsafe fn acquire(&self, node: &McsNode<P>) {
        self.enter(node);
    }

    #[inline]
    unsafe fn release(&self, node: &McsNode<P>) {
        self.grant(node, YES);
    }

    fn is_locked(&self) -> bool {
        !self.tail.load(Order::RELAXED).is_null()
    }
}

standalone!([P: Parking] Mcs<P>: Hosted, QuickRelease, HighLock);

impl<P: Parking> Mcs<P> {
    /// Blocks until the lock is held; whether a predecessor granted it.
    #[inline(always)]
    fn enter(&self, node: &McsNode<P>) -> bool {
        let waits = !self.line_up(node);
        if waits {
            node.wait();
        }
        waits
    }

    /// Joins the queue; whether the queue was empty and the lock is thereby held.
    #[inline(always)]
    pub(crate) fn line_up(&self, node: &McsNode<P>) -> bool {
        node.renew();
        let predecessor = self.tail.swap(node.pointer(), MCS_ENQUEUE);
        if predecessor.is_null() {
            return true;
        }
        // SAFETY: the predecessor cannot leave before it has read this link.
        unsafe { &*predecessor }
            .next
            .store(node.pointer(), MCS_LINK);
        false
    }

    /// Blocks until the lock is granted to a queued node, and returns the value; `None` if the
    /// queue is [dismissed](Self::dismiss) first.
    pub(crate) fn wait_or_go(&self, node: &McsNode<P>) -> Option<u32> {
        let granted = node.wait();
        (granted != GO || mutant(flaw::FORGET_DISMISSAL)).then_some(granted)
    }

    /// Counts the queue from the holder's node, the holder included, up to `most`.
    pub(crate) fn count_up_to(&self, most: u32, node: &McsNode<P>) -> u32 {
        let mut count = 1;
        let mut next = node.next.load(MCS_SUCCESSOR);
        while !next.is_null() && count < most {
            count += 1;
            // SAFETY: a linked waiter stays until it is granted.
            next = unsafe { &*next }.next.load(MCS_SUCCESSOR);
        }
        count
    }

    /// Whether the queue, holder included, is longer than `most`, counted from the holder's node.
    pub(crate) fn is_longer_than(&self, most: u32, node: &McsNode<P>) -> bool {
        self.count_up_to(most + 1, node) > most
    }

    /// Releases the lock and dismisses all waiters.  For locks with waiters that
    /// [go](Self::wait_or_go): a dismissal carries no number.
    pub(crate) fn dismiss(&self, node: &McsNode<P>) {
        let last = self.tail.swap(ptr::null_mut(), MCS_DISMISS);
        let mut node = node.pointer();
        let mut is_own = true;
        loop {
            // Read before the node's owner may reuse it.
            let next = if node == last {
                ptr::null_mut()
            } else {
                // SAFETY: the holder's own, or that of a waiter not yet dismissed.
                unsafe { &*node }.await_successor()
            };
            if !is_own {
                // SAFETY: as above.
                unsafe { &*node }.granted.set(GO, MCS_GRANT);
            }
            if next.is_null() {
                return;
            }
            (node, is_own) = (next, false);
        }
    }

    /// The number of acquisitions including the holder's; it wraps.  `granted` is what the holder's
    /// node [was granted](Self::wait_or_go), `NO` without a predecessor.  The count passes from
    /// holder to holder in their nodes, without another line; `at_rest` keeps it while the lock is
    /// free.  So a holder may [count](Self::count) or not, and [passes](Self::pass_on) the count
    /// on.
    #[inline(always)]
    pub(crate) fn count(&self, node: &McsNode<P>, granted: u32, at_rest: &AtomicU32) -> u32 {
        match granted {
            NO => {
                let count = at_rest.load(Order::RELAXED).wrapping_add(1) & COUNTS;
                node.granted.reset(YES + count);
                count
            }
            granted => granted - YES,
        }
    }

    /// Releases the lock and passes the count on.
    #[inline(always)]
    pub(crate) fn pass_on(&self, node: &McsNode<P>, at_rest: &AtomicU32) {
        let successor = node.next.load(MCS_SUCCESSOR);
        let next = match node.granted.value(Order::RELAXED) {
            NO => YES + at_rest.load(Order::RELAXED),
            own => {
                // The line of `at_rest` is local without waiters, and remote with them.
                if successor.is_null() {
                    at_rest.store(own - YES, Order::RELAXED);
                }
                YES + ((own - YES + 1) & COUNTS)
            }
        };
        if successor.is_null() {
            self.grant(node, next);
        } else {
            McsNode::hand_to(successor, next);
        }
    }

    /// Releases the lock: free, or to the successor with that value of its flag.
    #[inline(always)]
    fn grant(&self, node: &McsNode<P>, value: u32) {
        let successor = node.next.load(MCS_SUCCESSOR);
        let left = successor.is_null()
            && self
                .tail
                .compare_exchange(node.pointer(), ptr::null_mut(), MCS_LEAVE, Order::RELAXED)
                .is_ok();
        if !left {
            node.hand_on(value);
        }
    }
}

// SAFETY: an empty queue is a free lock, and one exchange takes it.
unsafe impl<P: Parking> RawTry for Mcs<P> {
    #[inline]
    unsafe fn try_acquire(&self, node: &McsNode<P>) -> bool {
        node.renew();
        self.tail
            .compare_exchange(ptr::null_mut(), node.pointer(), MCS_TRY, Order::RELAXED)
            .is_ok()
    }
}

// SAFETY: release reads and writes the lock and the node alone.
unsafe impl<P: Parking> ThreadOblivious for Mcs<P> {}

impl<P: Parking> Fair for Mcs<P> {}

// SAFETY: a thread that has linked itself waits, and leaves with the lock.
unsafe impl<P: Parking> DetectsWaiters for Mcs<P> {
    /// Looks first at the holder's node: its release needs that line anyway.  The tail's line is in
    /// the last arrival's cache.
    #[inline]
    unsafe fn has_waiters(&self, node: &McsNode<P>) -> bool {
        !node.next.load(Order::RELAXED).is_null()
            || self.tail.load(Order::RELAXED) != node.pointer()
    }
}

// SAFETY: the carried count is in the holder's node, which is renewed for each acquisition and
// granted by its predecessor alone; after its acquisition only marks of sleepers could change that
// word, and no thread sleeps there.
unsafe impl<P: Parking> LowLock for Mcs<P> {
    #[inline(always)]
    fn hand_off_limit(&self) -> u32 {
        WaitCell::<P>::MAX - YES
    }

    #[inline(always)]
    unsafe fn hand_offs(&self, node: &McsNode<P>) -> u32 {
        node.granted.value(Order::RELAXED).saturating_sub(YES)
    }

    #[inline(always)]
    unsafe fn acquire_counted(&self, node: &McsNode<P>) -> u32 {
        if self.enter(node) {
            // SAFETY: acquired just now, by that node.
            unsafe { self.hand_offs(node) }
        } else {
            0
        }
    }

    #[inline]
    unsafe fn release_counted(&self, node: &McsNode<P>, number: u32) {
        self.grant(node, YES + number);
    }
}

// SAFETY: afterwards the queue is empty or the holder's node alone.
unsafe impl<P: Parking> Inherit for Mcs<P> {
    unsafe fn inherit(&self, holder: Option<&McsNode<P>>) {
        let tail = holder.map_or(ptr::null_mut(), |node| {
            node.next.store(ptr::null_mut(), Order::RELAXED);
            node.pointer()
        });
        self.tail.store(tail, Order::RELAXED);
    }
}
