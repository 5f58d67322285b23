//! `reciprocating`: arrivals push themselves on a stack; the holder detaches the whole stack when
//! the previously detached waiters are served (Dice and Kogan, *Reciprocating Locks*, PPoPP 2025).
//!
//! **Not for** more runnable threads than CPUs unless its waiters may sleep, as `mcs`; nor where
//! FIFO order matters.  A segment is served backwards, so a thread that arrives between two
//! acquisitions of another may acquire twice to the other's once.
//!
//! An arrival is one exchange of `arrivals`, a release one write to the next waiter's node.  A
//! waiter learns its successor as it arrives, so no release waits for a link.
//!
//! | `arrivals` | state |
//! |---|---|
//! | null | free |
//! | the node of a holder that found it free | held, no waiter |
//! | `TAKEN` | held; the holder's segment may have waiters, the next has none |
//! | another node | held; that waiter arrived last, and its successor before it |
//!
//! | field of a node | written by | meaning |
//! |---|---|---|
//! | `successor` | its owner, as it arrives | the waiter that arrived before it; null: none |
//! | `end` | the holder before it, or its owner if it found the lock free | the end mark below the segment's last waiter: the node of the holder at its arrival, or `TAKEN` |
//! | `granted` | the holder before it | whether it has the lock |
//!
//! An end is compared and never followed: the node's owner may be gone, or have arrived again.  The
//! last of a segment finds its successor equal to the end, and proceeds with `TAKEN`.  So **no
//! waiter is passed more than once by the same thread** between its arrival and its acquisition:
//! later arrivals join a later segment as soon as its own has been detached.

use crate::door::{AtomicPtr, Cell, Order, constructor, flaws, mutant, orders};
use crate::wait::{MayPark, Parking, SpinOnly, WaitCell};
use cohort_raw::{
    DetectsWaiters, Fair, Inherit, RawLock, RawTry, ThreadOblivious, TwoForms, standalone,
};
use core::ptr;

orders! {
    /// Acquires what the last holder did if the lock was free, and the previous waiter's fresh
    /// node, which this one grants; publishes this node to the holder that grants it.
    RECIPROCATING_ARRIVE = AcqRel;
    /// Sees the fresh node of the waiter that arrived last.
    RECIPROCATING_TAKE_OVER = Acquire;
    /// What the holder did is seen by the next one.
    RECIPROCATING_GRANT = Release;
    /// Sees it.
    RECIPROCATING_GRANTED = Acquire;
    /// What the holder did is seen by a thread that finds the lock free.
    RECIPROCATING_LEAVE = Release;
    /// Sees it; the node of a holder that did not wait is never followed.
    RECIPROCATING_TRY = Acquire;
}

flaws! {
    FORGET_SUCCESSOR = "reciprocating.forget-successor";
}

const NO: u32 = 0;
const YES: u32 = 1;
const CLASS: u32 = 1;

/// A waiter's place in its segment.
#[derive(Debug)]
#[repr(C)]
pub struct ReciprocatingNode<P: Parking = MayPark> {
    granted: WaitCell<P>,
    successor: Cell<*mut ReciprocatingNode<P>>,
    end: Cell<*mut ReciprocatingNode<P>>,
}

// SAFETY: threads share what the pointers lead to, and one thread at a time touches the cells.
unsafe impl<P: Parking> Send for ReciprocatingNode<P> {}
// SAFETY: as above.
unsafe impl<P: Parking> Sync for ReciprocatingNode<P> {}

impl<P: Parking> Default for ReciprocatingNode<P> {
    fn default() -> Self {
        Self {
            granted: WaitCell::default(),
            successor: Cell::new(ptr::null_mut()),
            end: Cell::new(ptr::null_mut()),
        }
    }
}

/// The lock; all zero when new.
///
/// ```
/// use cohort::{Mutex, basic::Reciprocating};
///
/// static TOTAL: Mutex<u64, Reciprocating> = Mutex::from_raw(Reciprocating::new(), 1);
/// *TOTAL.lock() += 1;
/// assert_eq!(*TOTAL.lock(), 2);
/// ```
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Reciprocating<P: Parking = MayPark> {
    arrivals: AtomicPtr<ReciprocatingNode<P>>,
}

impl<P: Parking> Reciprocating<P> {
    constructor! {
        /// A free lock.
        #[must_use]
        pub fn new() -> Self {
            Self {
                arrivals: AtomicPtr::null(),
            }
        }
    }
}

/// No node's address: the lock is held, and all earlier arrivals are in the holder's segment.
const fn taken<P: Parking>() -> *mut ReciprocatingNode<P> {
    ptr::without_provenance_mut(1)
}

impl<P: Parking> ReciprocatingNode<P> {
    fn pointer(&self) -> *mut Self {
        ptr::from_ref(self).cast_mut()
    }

    /// Makes it the node of a holder that found the lock free.
    fn renew(&self) {
        self.granted.reset(NO);
        self.follow(ptr::null_mut(), self.pointer());
    }

    /// Sets successor and end; called by the owner before or after the grant, or by a holder before
    /// it grants.
    fn follow(&self, successor: *mut Self, end: *mut Self) {
        // SAFETY: no other thread touches them meanwhile.
        self.successor.with_mut(|own| unsafe { *own = successor });
        self.end_at(end);
    }

    fn end_at(&self, end: *mut Self) {
        // SAFETY: as above.
        self.end.with_mut(|own| unsafe { *own = end });
    }

    fn successor(&self) -> *mut Self {
        // SAFETY: the caller is its owner, which is not waiting.
        self.successor.with(|successor| unsafe { *successor })
    }

    fn end(&self) -> *mut Self {
        // SAFETY: as above.
        self.end.with(|end| unsafe { *end })
    }

    /// Grants the lock to a node's waiter, with the end of its segment.
    ///
    /// # Safety
    /// It waits, and the caller holds the lock.
    unsafe fn grant(next: *mut Self, end: *mut Self) {
        // SAFETY: a waiter stays until it is granted, and only the holder grants.
        let next = unsafe { &*next };
        next.end_at(end);
        next.granted.set(YES, RECIPROCATING_GRANT);
    }
}

// SAFETY: a thread holds the lock after it found null, or after a holder granted it at the end of
// its own work; a waiter is in one segment, which one holder detaches, and is granted by the one
// above it.
unsafe impl<P: Parking> RawLock for Reciprocating<P> {
    type Context = ReciprocatingNode<P>;

    #[inline]
    unsafe fn acquire(&self, node: &ReciprocatingNode<P>) {
        node.renew();
        let before = self.arrivals.swap(node.pointer(), RECIPROCATING_ARRIVE);
        if before.is_null() {
            return;
        }
        node.granted
            .wait_for(RECIPROCATING_GRANTED, CLASS, |granted| granted == YES);
        let is_last = before == taken() || before == node.end();
        if is_last || mutant(flaw::FORGET_SUCCESSOR) {
            node.follow(ptr::null_mut(), taken());
        } else {
            node.follow(before, node.end());
        }
    }

    #[inline]
    unsafe fn release(&self, node: &ReciprocatingNode<P>) {
        let (mut next, end) = (node.successor(), node.end());
        if next.is_null() {
            let left = self.arrivals.compare_exchange(
                end,
                ptr::null_mut(),
                RECIPROCATING_LEAVE,
                Order::RELAXED,
            );
            if left.is_ok() {
                return;
            }
            next = self.arrivals.swap(taken(), RECIPROCATING_TAKE_OVER);
        }
        // SAFETY: it waits in the holder's segment, or on top of the detached one.
        unsafe { ReciprocatingNode::grant(next, end) };
    }

    #[inline]
    fn is_locked(&self) -> bool {
        !self.arrivals.load(Order::RELAXED).is_null()
    }
}

standalone!([P: Parking] Reciprocating<P>: Hosted, QuickRelease, LowLock, HighLock);

// SAFETY: null is a free lock, and one exchange takes it.
unsafe impl<P: Parking> RawTry for Reciprocating<P> {
    #[inline]
    unsafe fn try_acquire(&self, node: &ReciprocatingNode<P>) -> bool {
        if self.is_locked() {
            return false;
        }
        node.renew();
        self.arrivals
            .compare_exchange(
                ptr::null_mut(),
                node.pointer(),
                RECIPROCATING_TRY,
                Order::RELAXED,
            )
            .is_ok()
    }
}

// SAFETY: release reads and writes the lock and its nodes alone.
unsafe impl<P: Parking> ThreadOblivious for Reciprocating<P> {}

impl<P: Parking> Fair for Reciprocating<P> {}

// SAFETY: a successor waits, and so does every thread that has pushed itself since.
unsafe impl<P: Parking> DetectsWaiters for Reciprocating<P> {
    #[inline]
    unsafe fn has_waiters(&self, node: &ReciprocatingNode<P>) -> bool {
        !node.successor().is_null() || self.arrivals.load(Order::RELAXED) != node.end()
    }
}

// SAFETY: afterwards there is no waiter, and the lock is free or as if the holder had found it
// free.
unsafe impl<P: Parking> Inherit for Reciprocating<P> {
    unsafe fn inherit(&self, holder: Option<&ReciprocatingNode<P>>) {
        let arrivals = holder.map_or(ptr::null_mut(), |node| {
            node.follow(ptr::null_mut(), node.pointer());
            node.pointer()
        });
        self.arrivals.store(arrivals, Order::RELAXED);
    }
}

impl<P: Parking> TwoForms for Reciprocating<P> {
    type Spinning = Reciprocating<SpinOnly>;
}
