//! `fissile`: a word that arrivals may acquire while no waiter is impatient, and behind it a `cna`
//! queue; its head alone waits for the word (Dice and Kogan, *Fissile Locks*, 2020).
//!
//! **Not for** machines with one node, where `cna` has no preference; nor for short-term fairness:
//! arrivals overtake the queue until its head has waited for `GRACE`.
//!
//! | `word` | `impatient` | state |
//! |---|---|---|
//! | free | no | free; arrivals may acquire it |
//! | held | no | held; arrivals try once, then queue |
//! | any | yes | the head of the queue has waited for `GRACE`; arrivals queue at once |
//!
//! | field | written by | meaning |
//! |---|---|---|
//! | `word` | an acquirer; the holder | whether the lock is held |
//! | `impatient` | the head of the queue | whether arrivals must let it pass |
//! | `queue` | [`Cna`] | the head and the waiters behind it |
//!
//! The head leaves the queue as soon as it holds the word, so the next head takes its place during
//! the critical section.  A release concerns the word only: nodes are unused once their owners hold
//! it.

use super::Cna;
use super::cna::CnaNode;
use crate::basic::Ttas;
use crate::door::{AtomicU32, Order, constructor, now};
use crate::wait::{MayPark, Parking, SpinOnly};
use cohort_raw::{
    Abortable, Deadline, DetectsWaiters, Fair, Inherit, Outcome, Patience, RawLock, RawTry,
    ThreadOblivious, TwoForms, standalone,
};

const NO: u32 = 0;
const YES: u32 = 1;

/// The lock; all zero when new.  The head of its queue is impatient after `GRACE` nanoseconds; a
/// NUMA node acquires it from the queue up to `HAND_OFFS` times in a row.
///
/// ```
/// use cohort::{Mutex, numa::Fissile};
///
/// static TOTAL: Mutex<u64, Fissile> = Mutex::from_raw(Fissile::new(), 1);
/// *TOTAL.lock() += 1;
/// assert_eq!(*TOTAL.lock(), 2);
/// ```
#[derive(Debug, Default)]
#[repr(C)]
pub struct Fissile<P: Parking = MayPark, const GRACE: u64 = 20_000, const HAND_OFFS: u32 = 128> {
    word: Ttas<P>,
    impatient: AtomicU32,
    queue: Cna<P, HAND_OFFS>,
}

impl<P: Parking, const GRACE: u64, const HAND_OFFS: u32> Fissile<P, GRACE, HAND_OFFS> {
    constructor! {
        /// A free lock.
        #[must_use]
        pub fn new() -> Self {
            Self {
                word: Ttas::new(),
                impatient: AtomicU32::new(0),
                queue: Cna::new(),
            }
        }
    }
}

impl<P: Parking, const GRACE: u64, const HAND_OFFS: u32> Fissile<P, GRACE, HAND_OFFS> {
    /// Acquires a free word, unless the head of the queue is impatient.
    ///
    /// # Safety
    /// As [`RawTry::try_acquire`] on the word, which has no contexts.
    #[inline]
    unsafe fn take(&self) -> bool {
        // SAFETY: the caller's.
        self.impatient.load(Order::RELAXED) == NO && unsafe { self.word.try_acquire(&()) }
    }

    /// Blocks until the caller, the head of the queue, holds the word.
    ///
    /// # Safety
    /// As [`RawLock::acquire`] on the word, which has no contexts.
    unsafe fn come_through(&self) {
        let grace = Patience::until(Deadline::monotonic(now() + GRACE));
        // SAFETY: the caller's.
        unsafe {
            if self.word.acquire_within(&(), &grace) == Outcome::Acquired {
                return;
            }
            self.impatient.store(YES, Order::RELAXED);
            self.word.acquire(&());
            self.impatient.store(NO, Order::RELAXED);
        }
    }
}

// SAFETY: one thread at a time holds the word, and sees what the previous holder did before its
// release.
unsafe impl<P: Parking, const GRACE: u64, const HAND_OFFS: u32> RawLock
    for Fissile<P, GRACE, HAND_OFFS>
{
    type Context = CnaNode<P>;

    #[inline]
    unsafe fn acquire(&self, node: &CnaNode<P>) {
        // SAFETY: the caller's, for the word and, until it is released below, for the queue.
        unsafe {
            if self.take() {
                return;
            }
            self.queue.acquire(node);
            self.come_through();
            self.queue.release(node);
        }
    }

    #[inline]
    unsafe fn release(&self, _node: &CnaNode<P>) {
        // SAFETY: the caller holds the word.
        unsafe { self.word.release(&()) };
    }

    #[inline]
    fn is_locked(&self) -> bool {
        self.word.is_locked()
    }
}

standalone! {
    [P: Parking, const GRACE: u64, const HAND_OFFS: u32] Fissile<P, GRACE, HAND_OFFS>:
    Hosted,
    QuickRelease,
    LowLock,
    HighLock
}

// SAFETY: as for `acquire`.
unsafe impl<P: Parking, const GRACE: u64, const HAND_OFFS: u32> RawTry
    for Fissile<P, GRACE, HAND_OFFS>
{
    #[inline]
    unsafe fn try_acquire(&self, _node: &CnaNode<P>) -> bool {
        // SAFETY: the caller's.
        unsafe { self.take() }
    }
}

// SAFETY: release concerns the word only, which any thread may release.
unsafe impl<P: Parking, const GRACE: u64, const HAND_OFFS: u32> ThreadOblivious
    for Fissile<P, GRACE, HAND_OFFS>
{
}

/// Arrivals overtake the queue's head only until it is impatient, apart from arrivals that had read
/// `impatient` before.  The queue is fair.
impl<P: Parking, const GRACE: u64, const HAND_OFFS: u32> Fair for Fissile<P, GRACE, HAND_OFFS> {}

// SAFETY: the holder has left the queue, so the queue's holder waits, and leaves it by acquiring
// the word.
unsafe impl<P: Parking, const GRACE: u64, const HAND_OFFS: u32> DetectsWaiters
    for Fissile<P, GRACE, HAND_OFFS>
{
    #[inline]
    unsafe fn has_waiters(&self, _node: &CnaNode<P>) -> bool {
        self.queue.is_locked()
    }
}

// SAFETY: afterwards the queue is empty, `impatient` is clear, and the word is in the holder's
// state.
unsafe impl<P: Parking, const GRACE: u64, const HAND_OFFS: u32> Inherit
    for Fissile<P, GRACE, HAND_OFFS>
{
    unsafe fn inherit(&self, holder: Option<&CnaNode<P>>) {
        self.impatient.store(NO, Order::RELAXED);
        // SAFETY: passed on; no thread of this process holds the queue.
        unsafe {
            self.queue.inherit(None);
            self.word.inherit(holder.map(|_| &()));
        }
    }
}

impl<P: Parking, const GRACE: u64, const HAND_OFFS: u32> TwoForms for Fissile<P, GRACE, HAND_OFFS> {
    type Spinning = Fissile<SpinOnly, GRACE, HAND_OFFS>;
}
