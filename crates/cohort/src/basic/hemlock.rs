//! `hemlock`: a queue in which each thread knows only its predecessor; the holder grants by a word
//! of its own and waits for its successor's answer (Dice and Kogan 2021; Chehab et al. 2021 §2.1).
//!
//! **Not for** more runnable threads than CPUs: a release returns only after the successor has run.
//! On machines without an atomic addition in one instruction, take this one, never `hemlock-ctr`.
//!
//! | `tail` | state |
//! |---|---|
//! | null | free |
//! | the holder's node | held, no waiter |
//! | another node | held; that node is the last waiter's |
//!
//! | `grant` | meaning | written by |
//! |---|---|---|
//! | `NOTHING` | its owner waits, holds or is done | the successor, as its answer |
//! | `GRANTED` | its owner's successor may proceed | the owner |
//!
//! The published lock has one such word for each thread, shared by all its locks; the word
//! therefore names the granted lock.  Here each acquisition has a node, as in Chehab et al. 2021
//! §4.1.3: contexts are passed explicitly, which makes the lock thread-oblivious.  So locks may be
//! released in any order and by any thread, several at once.  A thread that ends or forks leaves
//! nothing behind.  The price is one node for each lock held, instead of one for each thread.
//!
//! With `CTR` the lock reduces coherence traffic as Chehab et al. 2021 §2.1 describes; see
//! [`hemlock_ctr`](super::hemlock_ctr).

use crate::door::{AtomicPtr, Order, constructor, orders};
use crate::wait::{MayPark, Parking, WaitCell};
use cohort_raw::{DetectsWaiters, Fair, Inherit, RawLock, RawTry, ThreadOblivious, standalone};
use core::ptr;

orders! {
    /// Acquires what the last holder did if the queue was empty; publishes the fresh node to the
    /// successor.
    HEMLOCK_ENQUEUE = AcqRel;
    /// What the holder did is seen by its successor.
    HEMLOCK_GRANT = Release;
    /// Sees it.
    HEMLOCK_GRANTED = Acquire;
    /// The successor's last access to the node precedes its owner's next use.
    HEMLOCK_ANSWER = Release;
    /// The same, from the owner's side.
    HEMLOCK_ANSWERED = Acquire;
    /// Both at once, where the grant is seen and answered in one step.
    HEMLOCK_GRANTED_ANSWER = AcqRel;
    /// What the holder did is seen by the thread that finds the queue empty.
    HEMLOCK_LEAVE = Release;
    /// Sees what the last holder did; publishes the fresh node.
    HEMLOCK_TRY = AcqRel;
}

/// A place in the queue, which the successor looks at.
#[derive(Debug, Default)]
#[repr(C)]
pub struct HemlockNode<P: Parking = MayPark> {
    grant: WaitCell<P>,
}

impl<P: Parking> HemlockNode<P> {
    constructor! {
        /// A node outside any queue.
        #[must_use]
        pub fn new() -> Self {
            Self {
                grant: WaitCell::new(),
            }
        }
    }
}

/// The lock; all zero when new.
///
/// ```
/// use cohort::{Mutex, basic::Hemlock};
///
/// static TOTAL: Mutex<u64, Hemlock> = Mutex::from_raw(Hemlock::new(), 1);
/// *TOTAL.lock() += 1;
/// assert_eq!(*TOTAL.lock(), 2);
/// ```
#[derive(Debug, Default)]
#[repr(C)]
pub struct Hemlock<const CTR: bool = false, P: Parking = MayPark> {
    tail: AtomicPtr<HemlockNode<P>>,
}

impl<const CTR: bool, P: Parking> Hemlock<CTR, P> {
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

const NOTHING: u32 = 0;
const GRANTED: u32 = 1;

/// Successors and owners sleep on the same word, at different times.
const CLASS: u32 = 1;

impl<P: Parking> HemlockNode<P> {
    fn pointer(&self) -> *mut Self {
        ptr::from_ref(self).cast_mut()
    }
}

// SAFETY: each waiter waits for the grant of the one node before its own, which that
// node's owner gives once, after its own work.
unsafe impl<const CTR: bool, P: Parking> RawLock for Hemlock<CTR, P> {
    type Context = HemlockNode<P>;

    #[inline]
    unsafe fn acquire(&self, node: &HemlockNode<P>) {
        node.grant.reset(NOTHING);
        let predecessor = self.tail.swap(node.pointer(), HEMLOCK_ENQUEUE);
        if !predecessor.is_null() {
            // SAFETY: the predecessor stays until it is answered.
            Self::wait_behind(unsafe { &*predecessor });
        }
    }

    #[inline]
    unsafe fn release(&self, node: &HemlockNode<P>) {
        if self
            .tail
            .compare_exchange(
                node.pointer(),
                ptr::null_mut(),
                HEMLOCK_LEAVE,
                Order::RELAXED,
            )
            .is_err()
        {
            Self::grant(node);
        }
    }

    fn is_locked(&self) -> bool {
        !self.tail.load(Order::RELAXED).is_null()
    }
}

standalone! {
    [const CTR: bool, P: Parking] Hemlock<CTR, P>:
    Hosted,
    QuickRelease,
    LowLock,
    HighLock
}

impl<const CTR: bool, P: Parking> Hemlock<CTR, P> {
    /// Blocks until the node's owner has granted the lock, and answers.
    #[inline(never)]
    fn wait_behind(predecessor: &HemlockNode<P>) {
        let grant = &predecessor.grant;
        if CTR {
            grant.replace(GRANTED, NOTHING, HEMLOCK_GRANTED_ANSWER, CLASS);
        } else {
            grant.wait_for(HEMLOCK_GRANTED, CLASS, |grant| grant == GRANTED);
            grant.set(NOTHING, HEMLOCK_ANSWER);
        }
    }

    /// Grants the lock, and blocks until the successor has answered.
    #[inline(never)]
    fn grant(node: &HemlockNode<P>) {
        node.grant.set(GRANTED, HEMLOCK_GRANT);
        let answered = |grant| grant == NOTHING;
        if CTR {
            node.grant.wait_owning(HEMLOCK_ANSWERED, CLASS, answered);
        } else {
            node.grant.wait_for(HEMLOCK_ANSWERED, CLASS, answered);
        }
    }
}

// SAFETY: an empty queue is a free lock, and one exchange takes it.
unsafe impl<const CTR: bool, P: Parking> RawTry for Hemlock<CTR, P> {
    #[inline]
    unsafe fn try_acquire(&self, node: &HemlockNode<P>) -> bool {
        node.grant.reset(NOTHING);
        self.tail
            .compare_exchange(ptr::null_mut(), node.pointer(), HEMLOCK_TRY, Order::RELAXED)
            .is_ok()
    }
}

// SAFETY: release reads and writes the lock and the node alone.
unsafe impl<const CTR: bool, P: Parking> ThreadOblivious for Hemlock<CTR, P> {}

impl<const CTR: bool, P: Parking> Fair for Hemlock<CTR, P> {}

// SAFETY: each arrival takes the tail from the thread before it and waits for that thread's
// grant, so another tail than the holder's is a waiter's.
unsafe impl<const CTR: bool, P: Parking> DetectsWaiters for Hemlock<CTR, P> {
    #[inline]
    unsafe fn has_waiters(&self, node: &HemlockNode<P>) -> bool {
        self.tail.load(Order::RELAXED) != node.pointer()
    }
}

// SAFETY: afterwards the queue is empty or the holder's node alone, and that node's
// owner is in its critical section, so that it has granted nothing.
unsafe impl<const CTR: bool, P: Parking> Inherit for Hemlock<CTR, P> {
    unsafe fn inherit(&self, holder: Option<&HemlockNode<P>>) {
        let tail = holder.map_or(ptr::null_mut(), |node| {
            node.grant.reset(NOTHING);
            node.pointer()
        });
        self.tail.store(tail, Order::RELAXED);
    }
}
