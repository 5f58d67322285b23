//! `shfl`: one word that anybody may take while nobody queues, and a queue whose head
//! alone waits for it; with nothing else to do, the head sorts the queue, so that waiters
//! of its own NUMA node come next (Kashyap, Calciu, Cheng, Min and Kim 2019; Chehab et al. 2021
//! §2.1, §6).
//!
//! Where waiters may sleep it is the blocking form: the head wakes a sleeper as it brings it up,
//! and the next head as soon as it has the word, so that neither wake-up is waited for.
//!
//! **Not for** machines of one node or with more levels than two: it knows no other
//! (Chehab et al. 2021 §2.1).  Nor for more runnable threads than CPUs unless its waiters may
//! sleep, as `mcs`.
//!
//! | `word` | `tail` | state |
//! |---|---|---|
//! | free | null | free |
//! | held | null | held, nobody waits |
//! | any | the last waiter's node | the head of the queue takes the word next |
//!
//! | field of a node | written by | meaning |
//! |---|---|---|
//! | `next` | its successor; the head, which sorts | the waiter after it |
//! | `granted` | the head before it; a head that brings it up | whether it is the head, or soon |
//! | `place` | its owner, before it enters | its NUMA node |
//! | `sorts` | its owner, or the head before it | whether it sorts when it is the head |
//! | `consecutive` | as above | how many of its NUMA node come in a row, up to and with it |
//!
//! The last of those that the head has brought together sorts next: those before it have
//! nothing to do.  The last node of the queue stays where it is, since an arrival may be
//! about to link itself to it.  A node has left the queue when its owner has the word, so
//! a release is the word's.

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
    /// Publishes the successor's fresh node to the heads that will look at it.
    SHFL_LINK = Release;
    /// Sees that fresh node before looking at its place or granting it.
    SHFL_SUCCESSOR = Acquire;
    /// How the queue was sorted is seen by its next head.
    SHFL_GRANT = Release;
    /// Sees it.
    SHFL_GRANTED = Acquire;
}

flaws! {
    MOVE_THE_LAST = "shfl.move-the-last";
    FORGET_THE_GAP = "shfl.forget-the-gap";
}

policies! {
    /// The queue stays in the order of arrival.
    LEAVE_UNSORTED = "shfl.leave-unsorted";
}

const NO: u32 = 0;
const YES: u32 = 1;
const SOON: u32 = 2;
const CLASS: u32 = 1;

/// What a head knows.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    sorts: bool,
    consecutive: u32,
}

/// Alone, and to sort.
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

/// The lock; all zero when new.  The head brings together up to `BATCH` waiters.
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
        // SAFETY: nobody has seen the node yet.
        self.place.with_mut(|own| unsafe { *own = place });
        self.play(Part::default());
    }

    fn place(&self) -> usize {
        // SAFETY: written before the node entered the queue.
        self.place.with(|place| unsafe { *place })
    }

    fn part(&self) -> Part {
        // SAFETY: its owner asks, which is the head.
        self.part.with(|part| unsafe { *part })
    }

    fn play(&self, part: Part) {
        // SAFETY: its owner calls, before it enters or as the head; or the head before
        // it, which alone does so.
        self.part.with_mut(|own| unsafe { *own = part });
    }
}

impl<P: Parking, const BATCH: u32> Shfl<P, BATCH> {
    /// Brings waiters of the head's NUMA node up behind it, until the word is free; the
    /// head calls.
    fn sort(&self, head: &ShflNode<P>) {
        let mut consecutive = head.part().consecutive;
        let place = head.place();
        let (mut last, mut before) = (head, head);
        while consecutive < BATCH && self.word.is_locked() {
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

    /// Makes the next one the head; the head calls, and has the word.
    fn leave(&self, head: &ShflNode<P>) {
        let mut successor = head.next.load(SHFL_SUCCESSOR);
        if successor.is_null() {
            // Nothing is published: the word is what guards data.
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

// SAFETY: the word is held by one thread at a time, which sees what the last one did
// before it released.
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
                // A waiter that was brought up looks anew before it may sleep again.
                node.granted
                    .wait_for(SHFL_GRANTED, CLASS, |granted| granted != NO);
            }
            node.granted
                .wait_for(SHFL_GRANTED, CLASS, |granted| granted == YES);
        }
        if node.part().sorts && !mutant(policy::LEAVE_UNSORTED) {
            self.sort(node);
        }
        // SAFETY: the caller's, of the word, which has no contexts.
        unsafe { self.word.acquire(&()) };
        self.leave(node);
    }

    #[inline]
    unsafe fn release(&self, _node: &ShflNode<P>) {
        // SAFETY: the caller has the word.
        unsafe { self.word.release(&()) };
    }

    #[inline]
    fn is_locked(&self) -> bool {
        self.word.is_locked()
    }
}

standalone!([P: Parking, const BATCH: u32] Shfl<P, BATCH>: Hosted, LowLock, HighLock);

// SAFETY: as above; nobody passes a queue.
unsafe impl<P: Parking, const BATCH: u32> RawTry for Shfl<P, BATCH> {
    #[inline]
    unsafe fn try_acquire(&self, _node: &ShflNode<P>) -> bool {
        // SAFETY: the caller's, of the word, which has no contexts.
        self.tail.load(Order::RELAXED).is_null() && unsafe { self.word.try_acquire(&()) }
    }
}

// SAFETY: release is the word's, which is any thread's.
unsafe impl<P: Parking, const BATCH: u32> ThreadOblivious for Shfl<P, BATCH> {}

/// A waiter in the queue is passed by the few that found it empty before, and by a
/// row of each waiter before it.
impl<P: Parking, const BATCH: u32> Fair for Shfl<P, BATCH> {}

// SAFETY: the holder has left the queue, so the tail's owner waits, and leaves by taking the
// word.
unsafe impl<P: Parking, const BATCH: u32> DetectsWaiters for Shfl<P, BATCH> {
    #[inline]
    unsafe fn has_waiters(&self, _node: &ShflNode<P>) -> bool {
        !self.tail.load(Order::RELAXED).is_null()
    }
}

// SAFETY: afterwards nobody queues, and the word is as the holder has it.
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
