//! `malthusian`: an `mcs` queue with as few waiters as possible.  A holder with more than one
//! waiter sets the first aside, and takes waiters back when the queue is empty (Dice, *Malthusian
//! Locks*, EuroSys 2017: MCSCR).
//!
//! **Not for** short-term fairness: a waiter that was set aside returns when the lock is otherwise
//! unused, or at random, at one release in `ONE_IN`.
//!
//! | `tail` | `aside` | state |
//! |---|---|---|
//! | null | null | free |
//! | the holder's node | null | held, no waiter |
//! | the holder's node | a waiter | held; all waiters are set aside |
//! | another node | any | held; a waiter is in the queue, or about to link itself |
//!
//! | field | written by | meaning |
//! |---|---|---|
//! | `aside` of the lock | the holder | the waiter set aside last |
//! | `eldest` of the lock | the holder | the waiter set aside first |
//! | `next` of a node | its successor; the holder, for a waiter that is set aside or taken back | the next in the queue; the waiter set aside before it |
//! | `newer` of a node | the holder, while it is set aside | the waiter set aside after it |
//! | `granted` of a node | the holder before it | whether it has the lock |
//!
//! Only a waiter with a linked successor is set aside, so that the tail stays in place.  It
//! continues to wait as before; under a policy that parks, it soon sleeps.

use crate::door::{
    AtomicPtr, Cell, Order, constructor, flaws, is_worth_a_try, mutant, orders, policies,
};
use crate::numa::linked;
use crate::wait::{MayPark, Parking, SpinOnly, WaitCell};
use cohort_raw::{DetectsWaiters, Inherit, RawLock, RawTry, ThreadOblivious, TwoForms, standalone};
use core::ptr;

orders! {
    /// Acquires what the last holder did if the queue was empty, and publishes the node's fresh
    /// fields to the successor that will write `next`.
    MALTHUSIAN_ENQUEUE = AcqRel;
    /// Publishes the successor's fresh node to the holder that grants it or sets it aside.
    MALTHUSIAN_LINK = Release;
    /// Sees that fresh node.
    MALTHUSIAN_SUCCESSOR = Acquire;
    /// What the holder did is seen by the next one.
    MALTHUSIAN_GRANT = Release;
    /// Sees it.
    MALTHUSIAN_GRANTED = Acquire;
    /// What the holder did is seen by a thread that finds the queue empty.
    MALTHUSIAN_LEAVE = Release;
    /// Publishes that a waiter that is taken back has no successor.
    MALTHUSIAN_TAKE_BACK = Release;
    /// Sees what the last holder did; publishes the fresh node.
    MALTHUSIAN_TRY = AcqRel;
}

flaws! {
    LOSE_ASIDE = "malthusian.lose-aside";
    FORGET_ASIDE = "malthusian.forget-aside";
}

policies! {
    /// No waiter is set aside.
    SET_NOBODY_ASIDE = "malthusian.set-nobody-aside";
    /// A waiter set aside stays there while others wait.
    PROMOTE_NOBODY = "malthusian.promote-nobody";
}

const NO: u32 = 0;
const YES: u32 = 1;
const CLASS: u32 = 1;

type Name<P> = *mut MalthusianNode<P>;

/// A waiter's place in the queue, or aside.
#[derive(Debug)]
#[repr(C)]
pub struct MalthusianNode<P: Parking = MayPark> {
    next: AtomicPtr<MalthusianNode<P>>,
    granted: WaitCell<P>,
    newer: Cell<Name<P>>,
}

// SAFETY: what the pointers lead to is shared by threads; holders alone touch the cell.
unsafe impl<P: Parking> Send for MalthusianNode<P> {}
// SAFETY: as above.
unsafe impl<P: Parking> Sync for MalthusianNode<P> {}

impl<P: Parking> Default for MalthusianNode<P> {
    fn default() -> Self {
        Self {
            next: AtomicPtr::null(),
            granted: WaitCell::default(),
            newer: Cell::new(ptr::null_mut()),
        }
    }
}

/// The lock; all zero when new.  One release in `ONE_IN`, a power of two, grants the lock to the
/// eldest waiter set aside.
///
/// ```
/// use cohort::{Mutex, basic::Malthusian};
///
/// let total: Mutex<u64, Malthusian> = Mutex::from_raw(Malthusian::new(), 0);
/// std::thread::scope(|scope| {
///     for _ in 0..8 {
///         scope.spawn(|| *total.lock() += 1);
///     }
/// });
/// assert_eq!(total.into_inner(), 8);
/// ```
#[derive(Debug, Default)]
#[repr(C)]
pub struct Malthusian<P: Parking = MayPark, const ONE_IN: u32 = 1024> {
    tail: AtomicPtr<MalthusianNode<P>>,
    aside: AtomicPtr<MalthusianNode<P>>,
    eldest: AtomicPtr<MalthusianNode<P>>,
}

impl<P: Parking, const ONE_IN: u32> Malthusian<P, ONE_IN> {
    constructor! {
        /// A free lock.
        #[must_use]
        pub fn new() -> Self {
            Self {
                tail: AtomicPtr::null(),
                aside: AtomicPtr::null(),
                eldest: AtomicPtr::null(),
            }
        }
    }
}

impl<P: Parking> MalthusianNode<P> {
    fn pointer(&self) -> Name<P> {
        ptr::from_ref(self).cast_mut()
    }

    fn renew(&self) {
        self.next.store(ptr::null_mut(), Order::RELAXED);
        self.granted.reset(NO);
    }

    fn newer(&self) -> Name<P> {
        // SAFETY: the caller is the holder, and the waiter is set aside.
        self.newer.with(|newer| unsafe { *newer })
    }

    fn set_newer(&self, newer: Name<P>) {
        // SAFETY: as above.
        self.newer.with_mut(|own| unsafe { *own = newer });
    }
}

impl<P: Parking, const ONE_IN: u32> Malthusian<P, ONE_IN> {
    /// Sets a waiter aside; called by the holder, which has taken it out of the queue.
    fn set_aside(&self, waiter: &MalthusianNode<P>) {
        let older = self.aside.load(Order::RELAXED);
        waiter.next.store(older, Order::RELAXED);
        waiter.set_newer(ptr::null_mut());
        // SAFETY: a waiter set aside waits until the holder takes it back.
        match unsafe { older.as_ref() } {
            Some(older) => older.set_newer(waiter.pointer()),
            None => self.eldest.store(waiter.pointer(), Order::RELAXED),
        }
        self.aside.store(waiter.pointer(), Order::RELAXED);
    }

    /// Takes the newest or the eldest waiter back from aside; called by the holder.
    fn take_off(&self, waiter: &MalthusianNode<P>) {
        let (older, newer) = (waiter.next.load(Order::RELAXED), waiter.newer());
        // SAFETY: waiters aside wait, and the holder alone changes which they are.
        match unsafe { newer.as_ref() } {
            Some(newer) => newer.next.store(older, Order::RELAXED),
            None => self.aside.store(older, Order::RELAXED),
        }
        // SAFETY: as above.
        match unsafe { older.as_ref() } {
            Some(older) => older.set_newer(newer),
            None => self.eldest.store(newer, Order::RELAXED),
        }
    }

    /// Makes a waiter from aside the queue's last one if the holder is the tail; whether it did.
    fn append(&self, holder: &MalthusianNode<P>, waiter: &MalthusianNode<P>) -> bool {
        waiter.next.store(ptr::null_mut(), Order::RELAXED);
        self.tail
            .compare_exchange(
                holder.pointer(),
                waiter.pointer(),
                MALTHUSIAN_TAKE_BACK,
                Order::RELAXED,
            )
            .is_ok()
    }

    /// Now and then, takes back the eldest waiter aside to be next; `None` otherwise.
    fn promoted(&self, holder: &MalthusianNode<P>) -> Option<&MalthusianNode<P>> {
        // SAFETY: a waiter set aside waits until the holder takes it back.
        let eldest = unsafe { self.eldest.load(Order::RELAXED).as_ref() }?;
        if !is_worth_a_try(ONE_IN) || mutant(policy::PROMOTE_NOBODY) {
            return None;
        }
        self.take_off(eldest);
        if !self.append(holder, eldest) {
            let successor = linked(&holder.next, MALTHUSIAN_SUCCESSOR);
            eldest.next.store(successor, Order::RELAXED);
        }
        Some(eldest)
    }

    /// The next waiter out of the queue's first ones: the second if the first can be set aside.
    fn culled(&self, successor: Name<P>) -> Name<P> {
        // SAFETY: a linked waiter stays until it is granted.
        let first = unsafe { &*successor };
        let second = first.next.load(MALTHUSIAN_SUCCESSOR);
        if second.is_null() || mutant(policy::SET_NOBODY_ASIDE) {
            return successor;
        }
        if !mutant(flaw::LOSE_ASIDE) {
            self.set_aside(first);
        }
        second
    }

    /// The next waiter; `None` if the lock is free.
    fn next(&self, holder: &MalthusianNode<P>) -> Option<&MalthusianNode<P>> {
        if let Some(eldest) = self.promoted(holder) {
            return Some(eldest);
        }
        let mut successor = holder.next.load(MALTHUSIAN_SUCCESSOR);
        if successor.is_null() {
            // SAFETY: as in `promoted`.
            match unsafe { self.aside.load(Order::RELAXED).as_ref() } {
                Some(newest) if !mutant(flaw::FORGET_ASIDE) => {
                    self.take_off(newest);
                    if self.append(holder, newest) {
                        return Some(newest);
                    }
                    self.set_aside(newest);
                }
                _ => {
                    let left = self.tail.compare_exchange(
                        holder.pointer(),
                        ptr::null_mut(),
                        MALTHUSIAN_LEAVE,
                        Order::RELAXED,
                    );
                    if left.is_ok() {
                        return None;
                    }
                }
            }
            successor = linked(&holder.next, MALTHUSIAN_SUCCESSOR);
        }
        // SAFETY: a waiter stays until it is granted.
        Some(unsafe { &*self.culled(successor) })
    }
}

// SAFETY: the holder's node was granted last, or found the queue empty; a
// waiter is in the queue or set aside, and is granted once, by the holder, after its own work.
unsafe impl<P: Parking, const ONE_IN: u32> RawLock for Malthusian<P, ONE_IN> {
    type Context = MalthusianNode<P>;

    #[inline]
    unsafe fn acquire(&self, node: &MalthusianNode<P>) {
        node.renew();
        let predecessor = self.tail.swap(node.pointer(), MALTHUSIAN_ENQUEUE);
        if predecessor.is_null() {
            return;
        }
        // SAFETY: the predecessor cannot leave, nor be set aside, before this link was read.
        unsafe { &*predecessor }
            .next
            .store(node.pointer(), MALTHUSIAN_LINK);
        node.granted
            .wait_for(MALTHUSIAN_GRANTED, CLASS, |granted| granted == YES);
    }

    #[inline]
    unsafe fn release(&self, node: &MalthusianNode<P>) {
        if let Some(next) = self.next(node) {
            next.granted.set(YES, MALTHUSIAN_GRANT);
        }
    }

    fn is_locked(&self) -> bool {
        !self.tail.load(Order::RELAXED).is_null()
    }
}

standalone!([P: Parking, const ONE_IN: u32] Malthusian<P, ONE_IN>: Hosted, QuickRelease, LowLock, HighLock);

// SAFETY: an empty queue is a free lock, and one exchange takes it.
unsafe impl<P: Parking, const ONE_IN: u32> RawTry for Malthusian<P, ONE_IN> {
    #[inline]
    unsafe fn try_acquire(&self, node: &MalthusianNode<P>) -> bool {
        if self.is_locked() {
            return false;
        }
        node.renew();
        self.tail
            .compare_exchange(
                ptr::null_mut(),
                node.pointer(),
                MALTHUSIAN_TRY,
                Order::RELAXED,
            )
            .is_ok()
    }
}

// SAFETY: release reads and writes the lock and its nodes alone.
unsafe impl<P: Parking, const ONE_IN: u32> ThreadOblivious for Malthusian<P, ONE_IN> {}

// SAFETY: a waiter set aside, a waiter linked to the holder's node and a thread that has taken the
// tail from it all wait until they are granted.
unsafe impl<P: Parking, const ONE_IN: u32> DetectsWaiters for Malthusian<P, ONE_IN> {
    #[inline]
    unsafe fn has_waiters(&self, node: &MalthusianNode<P>) -> bool {
        !node.next.load(Order::RELAXED).is_null()
            || self.tail.load(Order::RELAXED) != node.pointer()
            || !self.aside.load(Order::RELAXED).is_null()
    }
}

// SAFETY: afterwards the queue is empty or the holder's node alone, and no waiter is aside.
unsafe impl<P: Parking, const ONE_IN: u32> Inherit for Malthusian<P, ONE_IN> {
    unsafe fn inherit(&self, holder: Option<&MalthusianNode<P>>) {
        let tail = holder.map_or(ptr::null_mut(), |node| {
            node.next.store(ptr::null_mut(), Order::RELAXED);
            node.pointer()
        });
        self.tail.store(tail, Order::RELAXED);
        self.aside.store(ptr::null_mut(), Order::RELAXED);
        self.eldest.store(ptr::null_mut(), Order::RELAXED);
    }
}

impl<P: Parking, const ONE_IN: u32> TwoForms for Malthusian<P, ONE_IN> {
    type Spinning = Malthusian<SpinOnly, ONE_IN>;
}
