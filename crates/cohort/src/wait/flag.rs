//! A word that one thread at a time holds and anybody may take once it is free: what
//! `tas`, `ttas` and `bo` have in common.
//!
//! They differ in how a waiter passes the time, a [`Manner`].  Under a policy that
//! parks, each of them sleeps at last; so the word says whether somebody may be asleep.
//!
//! | word | meaning | who writes it |
//! |---|---|---|
//! | 0 | free | the holder |
//! | `HELD` | held | the taker |
//! | `HELD \| ASLEEP` | held, and its release has to wake somebody | a waiter before it sleeps; a taker that slept |
//!
//! A release wipes out the mark and wakes one sleeper.  There may be more, so whoever
//! has slept leaves a mark behind: it takes the word with one or, giving up, sees to
//! it that the holder has one.

use super::Parking;
use crate::door::{Advice, AtomicU32, Order, Spinner, expired, mutant, orders, sleep_on, wake};
use cohort_raw::{Outcome, Patience};
use core::marker::PhantomData;

orders! {
    /// Sees what the last holder did.
    FLAG_TAKE = Acquire;
    /// What this holder did is seen by the next.
    FLAG_RELEASE = Release;
}

const FREE: u32 = 0;
const HELD: u32 = 1;
const ASLEEP: u32 = 2;

/// There is one class of sleepers.
const CLASS: u32 = 1;

/// How a waiter passes the time; made at the beginning of a wait.
pub trait Manner {
    /// Whether to look at the word before each attempt to take it.
    const LOOKS_FIRST: bool;

    /// How many nanoseconds to wait after a look or an attempt in vain.
    fn pause(&mut self) -> u64;
}

/// The word; zero, and free, when new.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Flag<P: Parking> {
    word: AtomicU32,
    parking: PhantomData<P>,
}

impl<P: Parking> Flag<P> {
    /// Whether somebody holds it.
    #[inline(always)]
    pub fn is_held(&self) -> bool {
        self.word.load(Order::RELAXED) != FREE
    }

    /// Takes it if it is free.
    #[inline(always)]
    pub fn take(&self) -> bool {
        self.word.fetch_or(HELD, FLAG_TAKE) & HELD == 0
    }

    /// Leaves the mark and takes the word if it is free.
    fn take_marked(&self) -> bool {
        self.word.fetch_or(HELD | ASLEEP, FLAG_TAKE) & HELD == 0
    }

    /// Frees it, and wakes a sleeper; the caller holds it.
    #[inline(always)]
    pub fn release(&self) {
        let word = &raw const self.word;
        if !P::MAY_SLEEP {
            self.word.store(FREE, FLAG_RELEASE);
        } else if self.word.swap(FREE, FLAG_RELEASE) & ASLEEP != 0 {
            Self::wake_one(word);
        }
    }

    /// The word may belong to somebody else by now; its address is a name.
    #[cold]
    fn wake_one(word: *const AtomicU32) {
        if !mutant("flag.forget-wake") {
            wake(word, 1, CLASS);
        }
    }

    /// Blocks until the word is taken or patience runs out.
    #[cold]
    pub fn take_within<M: Manner>(&self, mut manner: M, patience: &Patience) -> Outcome {
        let mut spinner = Spinner::new();
        let mut slept = false;
        loop {
            let skips = M::LOOKS_FIRST && self.is_held();
            let marks = slept && !mutant("flag.forget-mark");
            if !skips
                && (if marks {
                    self.take_marked()
                } else {
                    self.take()
                })
            {
                return Outcome::Acquired;
            }
            if patience.deadline().is_some_and(expired) {
                // A wake-up that reached this thread goes on to another.
                if slept && !mutant("flag.swallow-wake") && self.take_marked() {
                    return Outcome::Acquired;
                }
                return Outcome::GaveUp;
            }
            if spinner.pause(manner.pause()) == Advice::Again || !P::MAY_SLEEP {
                continue;
            }
            if self.take_marked() {
                return Outcome::Acquired;
            }
            let _ = sleep_on(&self.word, HELD | ASLEEP, CLASS, patience.deadline());
            slept = true;
            spinner = Spinner::new();
        }
    }

    /// Forgets every waiter; `held` says whether the word is.
    pub fn reset(&self, held: bool) {
        self.word
            .store(if held { HELD } else { FREE }, Order::RELAXED);
    }
}
