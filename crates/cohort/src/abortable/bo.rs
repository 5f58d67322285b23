//! `bo` whose holder can hand something over to a waiter that stays: the local lock of
//! `a-c-bo-bo` (Dice et al. 2015 §3.4.1, figure 6).
//!
//! **Not for** a lock by itself, where [`Bo`](crate::basic::Bo) does the same and asks nobody.
//!
//! | `word` | meaning | written by |
//! |---|---|---|
//! | 0 | free | the holder |
//! | n | handed over with that number, and not yet taken | the holder |
//! | n \| `HELD` | held, by a taker that found it free (0) or handed over | the taker |
//! | n \| `HELD` \| `ASLEEP` | the same, and its release has to wake somebody | a waiter before it sleeps; a taker that slept |
//!
//! | `waiting` | written by |
//! |---|---|
//! | how many wait, or have just stopped to | a waiter, before it looks and once it has the lock or gives up |
//!
//! **Handing over** is an agreement of two words.  The holder writes n into `word` and then
//! looks at `waiting`; a waiter that gives up takes itself off `waiting` and then looks at
//! `word`, with a sequentially consistent fence between on either side: less would let each of
//! them see what was there before, and the lock would be nobody's.  So the holder does not count
//! that waiter, or the waiter sees n, and takes it however late it is.  A holder that finds
//! nobody left takes the lock back by compare-exchange; if that fails somebody has taken it,
//! which is as well.
//!
//! **Not figure 6's flag.**  Its waiters share one word, *successor exists*, that each taker and
//! each waiter that leaves wipes out for all, and that all others then write again.  A count,
//! which the figure's comment calls more precise, is left alone by those that go on waiting:
//! on a simulated Superdome X, 18 threads of one node enter three times as often with it, and four
//! times as often where they give up after 10,000 cycles.
//!
//! **Where figure 6 errs.**  Its taker never wipes its own word out (the text says that it does):
//! the holder would find it and hand over to nobody.  Its waiter asks for the time only
//! while it sees the lock held, so one that always finds it free and comes too late never gives
//! up; here each look in vain is followed by that question.  Its releaser, having found that
//! nobody stays, frees the local lock before the top one: another of the cohort can then begin
//! to acquire the top lock, which a `bo` bears and a lock with contexts does not, since a cohort
//! has one; here the releaser has the local lock again, and releases the top one first.

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
    /// Between a holder's hand-over and its look for a waiter that stays, and between the end of a
    /// waiter's patience and its last look at the word: one of them sees the other.
    A_BO_AGREE = SeqCst;
}

flaws! {
    /// A taker still counts as a waiter.
    COUNT_TAKER = "a-bo.count-taker";
    /// A waiter that gives up still counts.
    COUNT_GONE = "a-bo.count-gone";
    /// A waiter that gives up does not look once more.
    LEAVE_AT_ONCE = "a-bo.leave-at-once";
    /// A holder that has handed over does not look whether anybody stays.
    LOOK_ONCE = "a-bo.look-once";
    /// Sleepers are not woken.
    FORGET_WAKE = "a-bo.forget-wake";
}

const FREE: u32 = 0;
const HELD: u32 = 1;
const ASLEEP: u32 = 2;
/// What is handed over stands in the bits above.
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

    /// Takes it unless it is held, and leaves those bits in any case.
    #[inline]
    fn take(&self, bits: u32) -> bool {
        self.word.fetch_or(bits, A_BO_TAKE) & HELD == 0
    }

    /// The caller waits no longer.
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

    /// Blocks until it is taken or patience runs out.
    #[cold]
    fn wait(&self, patience: &Patience) -> Outcome {
        self.waiting.fetch_add(1, Order::RELAXED);
        let mut backoff = pauses();
        let mut spinner = Spinner::new();
        // A thread that has slept took a mark with it that others may need.
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

    /// Leaves, unless the lock is to be had; a wake-up that reached the caller goes on.
    fn give_up(&self, bits: u32) -> Outcome {
        self.uncount(mutant(flaw::COUNT_GONE));
        fence_after_update(A_BO_AGREE);
        // One look is enough: a holder that hands over after it has counted another waiter.
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

// SAFETY: a waiter counts until it has taken the word or is about to look at it for the last
// time.  One that the holder counts after its fence, if its patience runs out, finds at that
// look that the lock was handed over or has been taken since; the holder, which does not wait,
// does not count itself.  What the word carries was written by the last hand-over, and a release
// writes 0.  A holder that takes back by a compare-exchange what somebody else has taken and
// handed over meanwhile, with the same number, has been handed it like any other.
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

// SAFETY: waiters leave a mark and their number only, and both are wiped out.
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
