//! `cna`: the queue of `mcs` in one word.  The holder searches it for a waiter of its own NUMA node
//! and moves the waiters before it to a second queue, which passes from holder to holder (Dice and
//! Kogan 2019; Chehab et al. 2021 §2.1, §6).
//!
//! **Not for** machines with one node, nor with more than two levels: it distinguishes nodes only
//! (Chehab et al. 2021 §2.1).  Nor for more runnable threads than CPUs unless its waiters may
//! sleep, as `mcs`.
//!
//! | `tail` | holder's `next` | holder's `aside` | state |
//! |---|---|---|---|
//! | null | | none | free |
//! | the holder's node | null | none | held, no waiter |
//! | the holder's node | null | some | held; all waiters are in the second queue |
//! | another node | null | any | held; an arrival has not linked itself yet |
//! | another node | the successor | any | held, with a queue |
//!
//! | field of a node | written by | meaning |
//! |---|---|---|
//! | `next` | its successor; the holder, which moves it | the waiter after it in its queue |
//! | `granted` | the holder before it | whether it holds the lock |
//! | `place` | its owner, before it enters | its NUMA node |
//! | `first`, `last` | the holder, for the next one | the ends of the second queue; null: empty |
//! | `consecutive` | as above | acquisitions in a row of the NUMA node |
//!
//! A moved node had a successor, so no arrival will link itself to it; the last node of the queue
//! is never moved.  When the NUMA node reaches its bound or has no waiter left, the second queue
//! precedes all other waiters.  The published lock ends the row at random; a count bounds every
//! wait.

use super::linked;
use crate::door::{
    self, AtomicPtr, Cell, Level, Order, constructor, flaws, mutant, orders, policies,
};
use crate::wait::{MayPark, Parking, SpinOnly, WaitCell};
use cohort_raw::{
    DetectsWaiters, Fair, Inherit, RawLock, RawTry, ThreadOblivious, TwoForms, standalone,
};
use core::ptr;

orders! {
    /// Sees the last holder's work if the queue was empty; publishes the node's fresh fields to the
    /// successor that will write `next`.
    CNA_ENQUEUE = AcqRel;
    /// Publishes the successor's fresh node to the holders that will read it.
    CNA_LINK = Release;
    /// Sees that fresh node before reading its place or granting it.
    CNA_SUCCESSOR = Acquire;
    /// Publishes the holder's work, on its data and on both queues, to its successor.
    CNA_GRANT = Release;
    /// As above, on the successor's side.
    CNA_GRANTED = Acquire;
    /// Publishes the holder's work to a thread that finds the queue empty.
    CNA_LEAVE = Release;
    /// Publishes the second queue's cleared last link to the arrival that will link itself there.
    CNA_RESTORE = Release;
    /// Sees the last holder's work; publishes the fresh node.
    CNA_TRY = AcqRel;
}

flaws! {
    FORGET_ASIDE = "cna.forget-aside";
    KEEP_FOR_EVER = "cna.keep-for-ever";
    LOSE_ASIDE = "cna.lose-aside";
}

policies! {
    /// The holder grants the first waiter, whatever its NUMA node.
    SET_NOBODY_ASIDE = "cna.set-nobody-aside";
}

const NO: u32 = 0;
const YES: u32 = 1;
const CLASS: u32 = 1;

/// A waiter's place in the queue.
#[derive(Debug, Default)]
#[repr(C)]
pub struct CnaNode<P: Parking = MayPark> {
    next: AtomicPtr<CnaNode<P>>,
    first: AtomicPtr<CnaNode<P>>,
    last: AtomicPtr<CnaNode<P>>,
    granted: WaitCell<P>,
    place: Cell<usize>,
    consecutive: Cell<u32>,
}

/// The lock; all zero when new.  A NUMA node acquires it up to `HAND_OFFS` times in a row while
/// others wait.
///
/// ```
/// use cohort::{Mutex, numa::Cna};
///
/// static TOTAL: Mutex<u64, Cna> = Mutex::from_raw(Cna::new(), 1);
/// *TOTAL.lock() += 1;
/// assert_eq!(*TOTAL.lock(), 2);
/// ```
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Cna<P: Parking = MayPark, const HAND_OFFS: u32 = 128> {
    tail: AtomicPtr<CnaNode<P>>,
}

impl<P: Parking, const HAND_OFFS: u32> Cna<P, HAND_OFFS> {
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

/// The second queue: its first and last waiter, linked by `next`.
type Aside<P> = Option<(*mut CnaNode<P>, *mut CnaNode<P>)>;

impl<P: Parking> CnaNode<P> {
    fn pointer(&self) -> *mut Self {
        ptr::from_ref(self).cast_mut()
    }

    fn renew(&self) {
        self.next.store(ptr::null_mut(), Order::RELAXED);
        self.granted.reset(NO);
        let place = door::cohort(Level::Numa);
        // SAFETY: the node is not published yet.
        self.place.with_mut(|own| unsafe { *own = place });
        self.hold(None, 1);
    }

    fn place(&self) -> usize {
        // SAFETY: written before the node entered the queue.
        self.place.with(|place| unsafe { *place })
    }

    fn consecutive(&self) -> u32 {
        // SAFETY: written by the thread that granted the node, before the grant; the holder calls.
        self.consecutive.with(|consecutive| unsafe { *consecutive })
    }

    fn aside(&self) -> Aside<P> {
        let first = self.first.load(Order::RELAXED);
        (!first.is_null()).then(|| (first, self.last.load(Order::RELAXED)))
    }

    /// Stores what the previous holder leaves to its owner; called by that holder or by the owner.
    fn hold(&self, aside: Aside<P>, consecutive: u32) {
        let (first, last) = aside.unwrap_or((ptr::null_mut(), ptr::null_mut()));
        self.first.store(first, Order::RELAXED);
        self.last.store(last, Order::RELAXED);
        // SAFETY: its owner reads it after the grant.
        self.consecutive
            .with_mut(|own| unsafe { *own = consecutive });
    }

    /// Makes the node's owner the holder.
    fn grant(&self, aside: Aside<P>, consecutive: u32) {
        self.hold(aside, consecutive);
        self.granted.set(YES, CNA_GRANT);
    }

    /// The first waiter of the holder's NUMA node behind the holder, and the waiters before it.
    /// The holder calls.
    fn neighbour(&self, successor: &Self) -> Option<(&Self, Aside<P>)> {
        let place = self.place();
        let (mut before, mut waiter): (Option<*mut Self>, _) = (None, successor.pointer());
        loop {
            // SAFETY: a linked node stays until it is granted, and the holder grants.
            let node = unsafe { &*waiter };
            if node.place() == place {
                return Some((node, before.map(|last| (successor.pointer(), last))));
            }
            before = Some(waiter);
            waiter = node.next.load(CNA_SUCCESSOR);
            if waiter.is_null() {
                return None;
            }
        }
    }
}

/// Concatenates two queues.
fn joined<P: Parking>(front: Aside<P>, back: Aside<P>) -> Aside<P> {
    let (Some((first, end)), Some((begin, last))) = (front, back) else {
        return front.or(back);
    };
    // SAFETY: both owners wait for the lock, and the caller holds it.
    unsafe { &*end }.next.store(begin, Order::RELAXED);
    Some((first, last))
}

// SAFETY: the holder's node was granted last or found the queue empty; every waiter is in one of
// the two queues, and a holder grants it once, after its own work.
unsafe impl<P: Parking, const HAND_OFFS: u32> RawLock for Cna<P, HAND_OFFS> {
    type Context = CnaNode<P>;

    #[inline]
    unsafe fn acquire(&self, node: &CnaNode<P>) {
        node.renew();
        let predecessor = self.tail.swap(node.pointer(), CNA_ENQUEUE);
        if predecessor.is_null() {
            return;
        }
        // SAFETY: the predecessor cannot leave before it has read this link.
        unsafe { &*predecessor }
            .next
            .store(node.pointer(), CNA_LINK);
        node.granted
            .wait_for(CNA_GRANTED, CLASS, |granted| granted == YES);
    }

    #[inline]
    unsafe fn release(&self, node: &CnaNode<P>) {
        let mut successor = node.next.load(CNA_SUCCESSOR);
        let aside = node.aside();
        if successor.is_null() {
            // The queue ends with the holder; without it, it is empty or becomes the second queue.
            let (end, order) = match aside {
                None => (ptr::null_mut(), CNA_LEAVE),
                Some((_, last)) => (last, CNA_RESTORE),
            };
            if let Some((_, last)) = aside {
                // SAFETY: its owner waits, and this thread holds the lock.
                unsafe { &*last }
                    .next
                    .store(ptr::null_mut(), Order::RELAXED);
            }
            if self
                .tail
                .compare_exchange(node.pointer(), end, order, Order::RELAXED)
                .is_ok()
            {
                if let Some((first, _)) = aside
                    && !mutant(flaw::FORGET_ASIDE)
                {
                    // SAFETY: as above.
                    unsafe { &*first }.grant(None, 1);
                }
                return;
            }
            successor = linked(&node.next, CNA_SUCCESSOR);
        }
        // SAFETY: a linked successor stays until it is granted.
        let successor = unsafe { &*successor };
        if (node.consecutive() < HAND_OFFS || mutant(flaw::KEEP_FOR_EVER))
            && !mutant(policy::SET_NOBODY_ASIDE)
            && let Some((neighbour, passed)) = node.neighbour(successor)
        {
            let aside = if mutant(flaw::LOSE_ASIDE) && passed.is_some() {
                passed
            } else {
                joined(aside, passed)
            };
            let consecutive = node.consecutive().saturating_add(1);
            return neighbour.grant(aside, consecutive);
        }
        match aside {
            None => successor.grant(None, 1),
            Some((first, last)) => {
                // SAFETY: both owners wait, and this thread holds the lock.
                unsafe {
                    (*last).next.store(successor.pointer(), Order::RELAXED);
                    (*first).grant(None, 1);
                }
            }
        }
    }

    fn is_locked(&self) -> bool {
        !self.tail.load(Order::RELAXED).is_null()
    }
}

standalone! {
    [P: Parking, const HAND_OFFS: u32] Cna<P, HAND_OFFS>:
    Hosted,
    QuickRelease,
    LowLock,
    HighLock
}

// SAFETY: an empty queue is a free lock, and one exchange acquires it.
unsafe impl<P: Parking, const HAND_OFFS: u32> RawTry for Cna<P, HAND_OFFS> {
    #[inline]
    unsafe fn try_acquire(&self, node: &CnaNode<P>) -> bool {
        if self.is_locked() {
            return false;
        }
        node.renew();
        self.tail
            .compare_exchange(ptr::null_mut(), node.pointer(), CNA_TRY, Order::RELAXED)
            .is_ok()
    }
}

// SAFETY: release reads and writes the lock and its nodes alone.
unsafe impl<P: Parking, const HAND_OFFS: u32> ThreadOblivious for Cna<P, HAND_OFFS> {}

impl<P: Parking, const HAND_OFFS: u32> Fair for Cna<P, HAND_OFFS> {}

// SAFETY: a waiter is in the second queue, which the holder's node records, or behind the holder,
// and its node is then not the tail; it leaves either queue only with the lock.
unsafe impl<P: Parking, const HAND_OFFS: u32> DetectsWaiters for Cna<P, HAND_OFFS> {
    #[inline]
    unsafe fn has_waiters(&self, node: &CnaNode<P>) -> bool {
        node.aside().is_some() || self.tail.load(Order::RELAXED) != node.pointer()
    }
}

// SAFETY: afterwards the queue is empty or the holder's node alone, and the second queue is empty.
unsafe impl<P: Parking, const HAND_OFFS: u32> Inherit for Cna<P, HAND_OFFS> {
    unsafe fn inherit(&self, holder: Option<&CnaNode<P>>) {
        let tail = holder.map_or(ptr::null_mut(), |node| {
            node.next.store(ptr::null_mut(), Order::RELAXED);
            node.hold(None, 1);
            node.pointer()
        });
        self.tail.store(tail, Order::RELAXED);
    }
}

impl<P: Parking, const HAND_OFFS: u32> TwoForms for Cna<P, HAND_OFFS> {
    type Spinning = Cna<SpinOnly, HAND_OFFS>;
}
