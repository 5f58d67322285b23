//! `fissile`: a word that anybody may take while nobody is impatient, and behind it a `cna` queue,
//! whose head alone waits for the word (Dice and Kogan, *Fissile Locks*, 2020).
//!
//! **Not for** machines of one node, where `cna` has nothing to prefer; nor for short-term fairness:
//! arrivals pass the queue until its head has waited for `GRACE`.
//!
//! | `word` | `impatient` | state |
//! |---|---|---|
//! | free | no | free; arrivals may take it |
//! | held | no | held; arrivals try once, then queue |
//! | any | yes | the head of the queue has waited for long: arrivals queue at once |
//!
//! | field | written by | meaning |
//! |---|---|---|
//! | `word` | the taker; the holder | whether the lock is held |
//! | `impatient` | the head of the queue | whether arrivals have to let it through |
//! | `queue` | [`Cna`] | the waiters behind the head |
//!
//! The head leaves the queue as soon as it has the word, so the next head is on its way while this
//! one holds the lock, and a release is the word's: nodes are free once their owners have it.

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

/// The lock; all zero when new.  Its head is impatient after `GRACE` nanoseconds; a NUMA node has
/// it up to `HAND_OFFS` times in a row from the queue.
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
    /// Takes the word, if nobody has to be let through.
    ///
    /// # Safety
    /// As [`RawTry::try_acquire`], of the word, which has no contexts.
    #[inline]
    unsafe fn take(&self) -> bool {
        // SAFETY: the caller's.
        self.impatient.load(Order::RELAXED) == NO && unsafe { self.word.try_acquire(&()) }
    }

    /// Blocks until the head of the queue, which calls, has the word.
    ///
    /// # Safety
    /// As [`RawLock::acquire`], of the word, which has no contexts.
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

// SAFETY: the word is held by one thread at a time, which sees what the last one did before it
// released.
unsafe impl<P: Parking, const GRACE: u64, const HAND_OFFS: u32> RawLock
    for Fissile<P, GRACE, HAND_OFFS>
{
    type Context = CnaNode<P>;

    #[inline]
    unsafe fn acquire(&self, node: &CnaNode<P>) {
        // SAFETY: the caller's, of the word and, until it is released below, of the queue.
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
        // SAFETY: the caller has the word.
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

// SAFETY: as above.
unsafe impl<P: Parking, const GRACE: u64, const HAND_OFFS: u32> RawTry
    for Fissile<P, GRACE, HAND_OFFS>
{
    #[inline]
    unsafe fn try_acquire(&self, _node: &CnaNode<P>) -> bool {
        // SAFETY: the caller's.
        unsafe { self.take() }
    }
}

// SAFETY: release is the word's, which is any thread's.
unsafe impl<P: Parking, const GRACE: u64, const HAND_OFFS: u32> ThreadOblivious
    for Fissile<P, GRACE, HAND_OFFS>
{
}

/// The queue's head is passed until it is impatient, and by those alone that looked before that;
/// the queue is fair.
impl<P: Parking, const GRACE: u64, const HAND_OFFS: u32> Fair for Fissile<P, GRACE, HAND_OFFS> {}

// SAFETY: the holder has left the queue, so a thread that has it waits, and leaves by taking the
// word.
unsafe impl<P: Parking, const GRACE: u64, const HAND_OFFS: u32> DetectsWaiters
    for Fissile<P, GRACE, HAND_OFFS>
{
    #[inline]
    unsafe fn has_waiters(&self, _node: &CnaNode<P>) -> bool {
        self.queue.is_locked()
    }
}

// SAFETY: afterwards nobody queues or is impatient, and the word is as the holder has it.
unsafe impl<P: Parking, const GRACE: u64, const HAND_OFFS: u32> Inherit
    for Fissile<P, GRACE, HAND_OFFS>
{
    unsafe fn inherit(&self, holder: Option<&CnaNode<P>>) {
        self.impatient.store(NO, Order::RELAXED);
        // SAFETY: passed on; nobody of this process has the queue.
        unsafe {
            self.queue.inherit(None);
            self.word.inherit(holder.map(|_| &()));
        }
    }
}

impl<P: Parking, const GRACE: u64, const HAND_OFFS: u32> TwoForms for Fissile<P, GRACE, HAND_OFFS> {
    type Spinning = Fissile<SpinOnly, GRACE, HAND_OFFS>;
}
