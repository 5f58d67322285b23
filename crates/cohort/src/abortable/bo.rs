//! `bo` with a holder that can hand something over to a waiter that stays: the local lock of `a-c-bo-bo`
//! (Dice et al. 2015 §3.4.1, figure 6).
//!
//! **Not for** use by itself: [`Bo`](crate::basic::Bo) does the same without the hand-over
//! protocol.
//!
//! | `word` | meaning | written by |
//! |---|---|---|
//! | 0 | free | the holder |
//! | n | handed over with that number, and not yet acquired | the holder |
//! | n \| `HELD` | held, by a thread that found it free (0) or handed over | that thread |
//! | n \| `HELD` \| `ASLEEP` | the same, and its release must wake a sleeper | a waiter before it sleeps; a holder that slept |
//!
//! | `waiting` | written by |
//! |---|---|
//! | the number of waiters, including threads that have just stopped | a waiter, before it looks and once it has the lock or gives up |
//!
//! **Handing over** is an agreement over two words.  The holder writes n into `word` and then reads
//! `waiting`.  A waiter that gives up decrements `waiting` and then reads `word`.  Both sides have
//! a sequentially consistent fence in between: otherwise each could read the old value, and the
//! lock would be lost.  So the holder does not count that waiter, or the waiter sees n and
//! acquires, even after its deadline.  A holder that finds no waiter takes the lock back by a
//! compare-exchange; if that fails, another thread has acquired it, which counts as a hand-over.
//!
//! **Not figure 6's flag.**  There the waiters share one word, *successor exists*: each acquisition
//! and each leaving waiter clears it for all, and the other waiters then set it again.  A count,
//! which the figure's comment calls more precise, is not written by continuing waiters.  On a
//! simulated Superdome X, with 18 threads on one node, it triples the rate of acquisitions.  With
//! timeouts after 10,000 cycles it quadruples the rate.
//!
//! **Where figure 6 errs.**  A new holder never clears its own word (the text says that it does):
//! it would count itself as a waiter and hand over without a receiver.  A waiter checks the time
//! only while the lock looks held, so a waiter that sees it free but always loses never gives up;
//! here a check follows each failed look.  A releaser without a waiter frees the local lock before
//! the top one: another of the cohort can then begin to acquire the top lock.  A `bo` permits that;
//! a lock with contexts does not, since a cohort has only one.  Here the releaser takes the local
//! lock back, and releases the top one first.

use crate::basic::bo::pauses;
use crate::door::{
    Advice, AtomicU32, Order, Spinner, constructor, fence_after_update, flaws, mutant, orders,
    runs_out, sleep_within, wake,
};
use crate::wait::{Backoff, MayPark, Parking, SpinOnly};
use cohort_raw::{
    Abortable, BoundedAbort, HandOver, HandsOver, Inherit, Outcome, Patience, RawLock, RawTry,
    ThreadOblivious, TwoForms, standalone,
};
use core::marker::PhantomData;

orders! {
    /// Sees what the last holder did.
    A_BO_TAKE = Acquire;
    /// What this holder did is seen by the next.
    A_BO_RELEASE = Release;
    /// Between a holder's hand-over and its read of `waiting`, and between the end of a waiter's
    /// patience and its last look at the word: one of them sees the other.
    A_BO_AGREE = SeqCst;
}

flaws! {
    /// A new holder still counts as a waiter.
    COUNT_TAKER = "a-bo.count-taker";
    /// A waiter that gives up still counts.
    COUNT_GONE = "a-bo.count-gone";
    /// A waiter that gives up does not look again.
    LEAVE_AT_ONCE = "a-bo.leave-at-once";
    /// A holder that has handed over does not check for waiters again.
    LOOK_ONCE = "a-bo.look-once";
    /// Sleepers are not woken.
    FORGET_WAKE = "a-bo.forget-wake";
}

const FREE: u32 = 0;
const HELD: u32 = 1;
const ASLEEP: u32 = 2;
/// The bits above have the number that is handed over.
const SHIFT: u32 = 2;

/// There is one class of sleepers.
const CLASS: u32 = 1;

/// The lock; all zero when new.
///
/// ```
/// use cohort::{Mutex, abortable::ABo};
/// use std::time::Duration;
///
/// let total: Mutex<u64, ABo> = Mutex::from_raw(ABo::new(), 1);
/// let soon = Duration::from_millis(1);
/// total.locking(|_| assert_eq!(total.try_locking_for(soon, |total| *total), None));
/// assert_eq!(total.try_locking_for(soon, |total| *total), Some(1));
/// ```
#[derive(Debug, Default)]
#[repr(C)]
pub struct ABo<P: Parking = MayPark> {
    word: AtomicU32,
    waiting: AtomicU32,
    parking: PhantomData<P>,
}

impl<P: Parking> ABo<P> {
    constructor! {
        /// A free lock.
        #[must_use]
        pub fn new() -> Self {
            Self {
                word: AtomicU32::new(0),
                waiting: AtomicU32::new(0),
                parking: PhantomData,
            }
        }
    }
}

impl<P: Parking> ABo<P> {
    fn is_held(&self) -> bool {
        self.word.load(Order::RELAXED) & HELD != 0
    }

    /// Takes the lock unless it is held, and sets those bits in any case.
    #[inline]
    fn take(&self, bits: u32) -> bool {
        self.word.fetch_or(bits, A_BO_TAKE) & HELD == 0
    }

    /// Removes the caller from the count of waiters.
    #[inline]
    fn uncount(&self, skips: bool) {
        if !skips {
            self.waiting.fetch_sub(1, Order::RELAXED);
        }
    }

    fn wake(&self) {
        if !mutant(flaw::FORGET_WAKE) {
            wake(&raw const self.word, 1, CLASS);
        }
    }

    /// Blocks until the lock is held or patience runs out.
    #[cold]
    fn wait(&self, patience: &Patience) -> Outcome {
        self.waiting.fetch_add(1, Order::RELAXED);
        let mut backoff = pauses();
        let mut spinner = Spinner::new();
        // With `ASLEEP` once this thread has slept: other sleepers may need the mark.
        let mut bits = HELD;
        loop {
            if !self.is_held() && self.take(bits) {
                self.uncount(mutant(flaw::COUNT_TAKER));
                return Outcome::Acquired;
            }
            if runs_out(patience) {
                return self.give_up(bits);
            }
            if spinner.pause(backoff.pause()) == Advice::Again {
                continue;
            }
            if !P::MAY_SLEEP {
                spinner.insist();
                continue;
            }
            let seen = self.word.load(Order::RELAXED);
            let asleep = seen | ASLEEP;
            let marked = seen & HELD != 0
                && (seen == asleep
                    || self
                        .word
                        .compare_exchange(seen, asleep, Order::RELAXED, Order::RELAXED)
                        .is_ok());
            if marked {
                let _ = sleep_within(&self.word, asleep, CLASS, patience);
                bits = HELD | ASLEEP;
                spinner = Spinner::new();
            }
        }
    }

    /// Leaves, unless the lock is available; passes on a wake-up that reached the caller.
    fn give_up(&self, bits: u32) -> Outcome {
        self.uncount(mutant(flaw::COUNT_GONE));
        fence_after_update(A_BO_AGREE);
        // One look is enough: a later hand-over has counted another waiter.
        let takes = bits != HELD || !self.is_held();
        if takes && !mutant(flaw::LEAVE_AT_ONCE) && self.take(bits) {
            Outcome::Acquired
        } else {
            Outcome::GaveUp
        }
    }
}

// SAFETY: the word is taken by one thread at a time, which sees what the last one did
// before it released.
unsafe impl<P: Parking> RawLock for ABo<P> {
    type Context = ();

    #[inline]
    unsafe fn acquire(&self, (): &()) {
        // SAFETY: the caller's.
        let _ = unsafe { self.acquire_within(&(), &Patience::ENDLESS) };
    }

    #[inline]
    unsafe fn release(&self, (): &()) {
        if self.word.swap(FREE, A_BO_RELEASE) & ASLEEP != 0 {
            self.wake();
        }
    }

    #[inline]
    fn is_locked(&self) -> bool {
        self.is_held()
    }
}

standalone!([P: Parking] ABo<P>: Hosted { strict: false, grants: false }, HighLock, Resumable);

// SAFETY: as `acquire`.
unsafe impl<P: Parking> RawTry for ABo<P> {
    #[inline]
    unsafe fn try_acquire(&self, (): &()) -> bool {
        !self.is_held() && self.take(HELD)
    }
}

// SAFETY: a waiter that gives up has not taken the word, and passes on a wake-up it got.
unsafe impl<P: Parking> Abortable for ABo<P> {
    #[inline]
    unsafe fn acquire_within(&self, (): &(), patience: &Patience) -> Outcome {
        // SAFETY: the caller's.
        if unsafe { self.try_acquire(&()) } {
            return Outcome::Acquired;
        }
        self.wait(patience)
    }
}

// SAFETY: giving up is two read-modify-writes.
unsafe impl<P: Parking> BoundedAbort for ABo<P> {}

// SAFETY: release reads and writes the lock alone.
unsafe impl<P: Parking> ThreadOblivious for ABo<P> {}

// SAFETY: a waiter counts until it has acquired or is about to look at the word for the last time.
// If the holder counts it after its fence and its patience runs out, that last look finds the lock
// handed over or acquired since.  The holder, which does not wait, does not count itself.  The
// word's number was written by the last hand-over, and a release writes 0.  Another thread may have
// acquired and handed over meanwhile, with the same number: then a holder that takes back has been
// handed the lock like any other.
unsafe impl<P: Parking> HandsOver for ABo<P> {
    const MOST: u32 = u32::MAX >> SHIFT;

    #[inline]
    unsafe fn hand_over(&self, (): &(), number: u32) -> HandOver {
        if self.waiting.load(Order::RELAXED) == 0 {
            return HandOver::Kept;
        }
        let handed = number << SHIFT;
        let mark = self.word.swap(handed, A_BO_RELEASE) & ASLEEP;
        fence_after_update(A_BO_AGREE);
        let stays = self.waiting.load(Order::RELAXED) != 0 || mutant(flaw::LOOK_ONCE);
        let taken_back = !stays
            && self
                .word
                .compare_exchange(handed, handed | HELD | mark, A_BO_TAKE, Order::RELAXED)
                .is_ok();
        if taken_back {
            return HandOver::Kept;
        }
        if mark != 0 {
            self.wake();
        }
        HandOver::Done
    }

    #[inline]
    unsafe fn handed(&self, (): &()) -> u32 {
        self.word.load(Order::RELAXED) >> SHIFT
    }
}

// SAFETY: waiters leave only a mark and their count, and both are cleared.
unsafe impl<P: Parking> Inherit for ABo<P> {
    unsafe fn inherit(&self, holder: Option<&()>) {
        let held = if holder.is_some() { HELD } else { FREE };
        self.word.store(held, Order::RELAXED);
        self.waiting.store(0, Order::RELAXED);
    }
}

impl<P: Parking> TwoForms for ABo<P> {
    type Spinning = ABo<SpinOnly>;
}
