//! `shfl`: a word that arrivals may acquire while there is no queue, and a queue; its head alone
//! waits for the word.  Meanwhile the head sorts the queue, so that waiters of its own NUMA node
//! are next (Kashyap, Calciu, Cheng, Min and Kim 2019; Chehab et al. 2021 §2.1, §6).
//!
//! If waiters may sleep, it is the blocking variant.  The head wakes each sleeper that it moves up.
//! It wakes the next head as soon as it holds the word.  So no hand-over waits for a wake-up.
//!
//! **Not for** machines with one node, nor with more than two levels: it distinguishes nodes only
//! (Chehab et al. 2021 §2.1).  Nor for more runnable threads than CPUs unless its waiters may
//! sleep, as `mcs`.
//!
//! | `word` | `tail` | state |
//! |---|---|---|
//! | free | null | free |
//! | held | null | held, no waiter |
//! | any | the last waiter's node | the head of the queue acquires the word next |
//!
//! | field of a node | written by | meaning |
//! |---|---|---|
//! | `next` | its successor; the head, which sorts | the waiter after it |
//! | `granted` | the head before it; a head that moves it up | whether it is the head, or will be soon |
//! | `place` | its owner, before it enters | its NUMA node |
//! | `sorts` | its owner, or the head before it | whether it sorts once it is the head |
//! | `consecutive` | as above | the length of its NUMA node's row, itself included |
//!
//! The last waiter of a sorted row sorts next; the row before it is in order.  The last node of the
//! queue is not moved, since an arrival may be about to link itself to it.  A node has left the
//! queue when its owner holds the word, so a release concerns the word only.

use super::linked;
use crate::basic::Ttas;
use crate::door::{
    self, AtomicPtr, Cell, Level, Order, constructor, flaws, mutant, orders, policies,
};
use crate::wait::{MayPark, Parking, SpinOnly, WaitCell};
use cohort_raw::{
    DetectsWaiters, Fair, Inherit, RawLock, RawTry, ThreadOblivious, TwoForms, standalone,
};
use core::ptr;

orders! {
    /// Publishes the node's fresh fields to the successor that will write `next`; sees
    /// the predecessor's.
    SHFL_ENQUEUE = AcqRel;
    /// Publishes the successor's fresh node to the heads that will read it.
    SHFL_LINK = Release;
    /// Sees that fresh node before reading its place or granting it.
    SHFL_SUCCESSOR = Acquire;
    /// Publishes the sorted queue to its next head.
    SHFL_GRANT = Release;
    /// As above, on the next head's side.
    SHFL_GRANTED = Acquire;
}

flaws! {
    MOVE_THE_LAST = "shfl.move-the-last";
    FORGET_THE_GAP = "shfl.forget-the-gap";
}

policies! {
    /// The queue stays in order of arrival.
    LEAVE_UNSORTED = "shfl.leave-unsorted";
    /// A sorted row has no bound.
    SORT_ON = "shfl.sort-on";
}

const NO: u32 = 0;
const YES: u32 = 1;
const SOON: u32 = 2;
const CLASS: u32 = 1;

/// A head's role in sorting.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    sorts: bool,
    consecutive: u32,
}

/// The role of a head without a sorted row before it.
const FIRST: Part = Part {
    sorts: true,
    consecutive: 1,
};

/// A waiter's place in the queue.
#[derive(Debug, Default)]
#[repr(C)]
pub struct ShflNode<P: Parking = MayPark> {
    next: AtomicPtr<ShflNode<P>>,
    granted: WaitCell<P>,
    place: Cell<usize>,
    part: Cell<Part>,
}

/// The lock; all zero when new.  A sorted row has at most `BATCH` waiters.
///
/// ```
/// use cohort::{Mutex, numa::Shfl};
///
/// static TOTAL: Mutex<u64, Shfl> = Mutex::from_raw(Shfl::new(), 1);
/// *TOTAL.lock() += 1;
/// assert_eq!(*TOTAL.lock(), 2);
/// ```
#[derive(Debug, Default)]
#[repr(C)]
pub struct Shfl<P: Parking = MayPark, const BATCH: u32 = 128> {
    tail: AtomicPtr<ShflNode<P>>,
    word: Ttas<P>,
}

impl<P: Parking, const BATCH: u32> Shfl<P, BATCH> {
    constructor! {
        /// A free lock.
        #[must_use]
        pub fn new() -> Self {
            Self {
                tail: AtomicPtr::null(),
                word: Ttas::new(),
            }
        }
    }
}

impl<P: Parking> ShflNode<P> {
    fn pointer(&self) -> *mut Self {
        ptr::from_ref(self).cast_mut()
    }

    fn renew(&self) {
        self.next.store(ptr::null_mut(), Order::RELAXED);
        self.granted.reset(NO);
        let place = door::cohort(Level::Numa);
        // SAFETY: the node is not published yet.
        self.place.with_mut(|own| unsafe { *own = place });
        self.play(Part::default());
    }

    fn place(&self) -> usize {
        // SAFETY: written before the node entered the queue.
        self.place.with(|place| unsafe { *place })
    }

    fn part(&self) -> Part {
        // SAFETY: its owner calls, as the head.
        self.part.with(|part| unsafe { *part })
    }

    fn play(&self, part: Part) {
        // SAFETY: its owner calls, before it enters or as the head; or the head before it does,
        // which is one thread.
        self.part.with_mut(|own| unsafe { *own = part });
    }
}

impl<P: Parking, const BATCH: u32> Shfl<P, BATCH> {
    /// Moves waiters of the head's NUMA node up behind it, until the word is free.  The head calls.
    fn sort(&self, head: &ShflNode<P>) {
        let mut consecutive = head.part().consecutive;
        let place = head.place();
        let (mut last, mut before) = (head, head);
        while (consecutive < BATCH || mutant(policy::SORT_ON)) && self.word.is_locked() {
            let next = before.next.load(SHFL_SUCCESSOR);
            // SAFETY: a linked node stays until it is granted, and the head grants.
            let Some(waiter) = (unsafe { next.as_ref() }) else {
                break;
            };
            if waiter.place() != place {
                before = waiter;
                continue;
            }
            if ptr::eq(before, last) {
                before = waiter;
            } else {
                let after = waiter.next.load(SHFL_SUCCESSOR);
                if after.is_null() && !mutant(flaw::MOVE_THE_LAST) {
                    break;
                }
                if !mutant(flaw::FORGET_THE_GAP) {
                    before.next.store(after, Order::RELAXED);
                }
                let passed = last.next.load(Order::RELAXED);
                waiter.next.store(passed, Order::RELAXED);
                last.next.store(waiter.pointer(), Order::RELAXED);
            }
            waiter.granted.rouse(SOON);
            last = waiter;
            consecutive += 1;
        }
        if !ptr::eq(last, head) {
            last.play(Part {
                sorts: true,
                consecutive,
            });
            head.play(Part::default());
        }
    }

    /// Makes the successor the head.  The head calls, and holds the word.
    fn leave(&self, head: &ShflNode<P>) {
        let mut successor = head.next.load(SHFL_SUCCESSOR);
        if successor.is_null() {
            // No ordering: the word guards the data.
            if self
                .tail
                .compare_exchange(
                    head.pointer(),
                    ptr::null_mut(),
                    Order::RELAXED,
                    Order::RELAXED,
                )
                .is_ok()
            {
                return;
            }
            successor = linked(&head.next, SHFL_SUCCESSOR);
        }
        // SAFETY: a linked successor stays until it is granted.
        let successor = unsafe { &*successor };
        if head.part().sorts {
            successor.play(FIRST);
        }
        successor.granted.set(YES, SHFL_GRANT);
    }
}

// SAFETY: one thread at a time holds the word, and sees what the previous holder did before its
// release.
unsafe impl<P: Parking, const BATCH: u32> RawLock for Shfl<P, BATCH> {
    type Context = ShflNode<P>;

    #[inline]
    unsafe fn acquire(&self, node: &ShflNode<P>) {
        // SAFETY: the caller's.
        if unsafe { self.try_acquire(node) } {
            return;
        }
        node.renew();
        let predecessor = self.tail.swap(node.pointer(), SHFL_ENQUEUE);
        if predecessor.is_null() {
            node.play(FIRST);
        } else {
            // SAFETY: the predecessor cannot leave before it has read this link.
            unsafe { &*predecessor }
                .next
                .store(node.pointer(), SHFL_LINK);
            if P::MAY_SLEEP {
                // A waiter that is moved up wakes and spins anew, to be awake for the grant.
                node.granted
                    .wait_for(SHFL_GRANTED, CLASS, |granted| granted != NO);
            }
            node.granted
                .wait_for(SHFL_GRANTED, CLASS, |granted| granted == YES);
        }
        if node.part().sorts && !mutant(policy::LEAVE_UNSORTED) {
            self.sort(node);
        }
        // SAFETY: the caller's; the word has no contexts.
        unsafe { self.word.acquire(&()) };
        self.leave(node);
    }

    #[inline]
    unsafe fn release(&self, _node: &ShflNode<P>) {
        // SAFETY: the caller holds the word.
        unsafe { self.word.release(&()) };
    }

    #[inline]
    fn is_locked(&self) -> bool {
        self.word.is_locked()
    }
}

standalone!([P: Parking, const BATCH: u32] Shfl<P, BATCH>: Hosted, LowLock, HighLock);

// SAFETY: as for `acquire`; a queue is never bypassed.
unsafe impl<P: Parking, const BATCH: u32> RawTry for Shfl<P, BATCH> {
    #[inline]
    unsafe fn try_acquire(&self, _node: &ShflNode<P>) -> bool {
        // SAFETY: the caller's; the word has no contexts.
        self.tail.load(Order::RELAXED).is_null() && unsafe { self.word.try_acquire(&()) }
    }
}

// SAFETY: release concerns the word only, which any thread may release.
unsafe impl<P: Parking, const BATCH: u32> ThreadOblivious for Shfl<P, BATCH> {}

/// A few arrivals that found the queue empty before may overtake a waiter, and so may one sorted
/// row for each waiter before it.
impl<P: Parking, const BATCH: u32> Fair for Shfl<P, BATCH> {}

// SAFETY: the holder has left the queue, so the tail's owner waits, and leaves it by acquiring the
// word.
unsafe impl<P: Parking, const BATCH: u32> DetectsWaiters for Shfl<P, BATCH> {
    #[inline]
    unsafe fn has_waiters(&self, _node: &ShflNode<P>) -> bool {
        !self.tail.load(Order::RELAXED).is_null()
    }
}

// SAFETY: afterwards the queue is empty, and the word is in the holder's state.
unsafe impl<P: Parking, const BATCH: u32> Inherit for Shfl<P, BATCH> {
    unsafe fn inherit(&self, holder: Option<&ShflNode<P>>) {
        self.tail.store(ptr::null_mut(), Order::RELAXED);
        // SAFETY: passed on.
        unsafe { self.word.inherit(holder.map(|_| &())) };
    }
}

impl<P: Parking, const BATCH: u32> TwoForms for Shfl<P, BATCH> {
    type Spinning = Shfl<SpinOnly, BATCH>;
}
