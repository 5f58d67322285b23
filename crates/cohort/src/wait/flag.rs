//! A word that one thread at a time holds and anybody may take once it is free: what
//! `tas`, `ttas` and `bo` have in common.
//!
//! They differ in how a waiter passes the time, a [`Backoff`].  Under a policy that
//! parks, each of them sleeps at last; so the word says whether somebody may be asleep.
//!
//! | word | meaning | written by |
//! |---|---|---|
//! | 0 | free | the holder |
//! | `HELD` | held | the taker |
//! | `HELD \| ASLEEP` | held, and its release has to wake somebody | a waiter before it sleeps; a taker that slept |
//!
//! | change | sets | clears | keeps |
//! |---|---|---|---|
//! | take | `HELD` | | `ASLEEP` |
//! | take after a sleep, fall asleep, give up after a sleep | `HELD`, `ASLEEP` | | |
//! | release | | `HELD`, `ASLEEP`; it wakes a sleeper | |
//! | release by a plain store | | `HELD`, `ASLEEP`; it wakes every sleeper if a waiter has ended the quick time | |
//!
//! A release wipes out the mark and wakes one sleeper.  There may be more, so a thread that
//! has slept leaves a mark behind: it takes the word with one or, giving up, sees to
//! it that the holder has one.
//!
//! A flag that has long been quiet is released [quickly](super::quick).  A holder that
//! finds no mark begins such a time; and since a thread that was woken may still be on
//! its way then, it ends the time again if it takes the word with its mark.

use super::{Parking, quick};
use crate::door::{
    Advice, AtomicU32, Order, Spinner, constructor, flaws, is_long_quiet, mutant, orders, runs_out,
    sleep_within, wake,
};
use cohort_raw::{Outcome, Patience, Quick};
use core::marker::PhantomData;
use core::mem::offset_of;

orders! {
    /// Sees what the last holder did.
    FLAG_TAKE = Acquire;
    /// What this holder did is seen by the next.
    FLAG_RELEASE = Release;
    /// The same, by a plain store.
    FLAG_RELEASE_QUICK = Release;
}

flaws! {
    TAKE_AND_HURRY = "flag.take-and-hurry";
    FORGET_WAKE = "flag.forget-wake";
    MARK_AND_HOPE = "flag.mark-and-hope";
    FORGET_MARK = "flag.forget-mark";
    SWALLOW_WAKE = "flag.swallow-wake";
}

const FREE: u32 = 0;
const HELD: u32 = 1;
const ASLEEP: u32 = 2;

/// There is one class of sleepers.
const CLASS: u32 = 1;

const ATTENTIVE: u32 = 0;
const QUICK: u32 = 1;

/// How a waiter passes the time; made at the beginning of a wait.
pub trait Backoff {
    /// Whether to look at the word before each attempt to take it.
    const LOOKS_FIRST: bool;

    /// How many nanoseconds to wait after a look or an attempt in vain.
    fn pause(&mut self) -> u64;
}

/// The word; zero, and free, when new.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Flag<P: Parking> {
    /// Whether releases look for the mark: `ATTENTIVE`, or `QUICK` if they do not.
    /// Begun by a holder, ended by anybody.
    haste: AtomicU32,
    word: AtomicU32,
    parking: PhantomData<P>,
}

impl<P: Parking> Flag<P> {
    constructor! {
        /// A free word.
        #[must_use]
        pub fn new() -> Self {
            Self {
                haste: AtomicU32::new(0),
                word: AtomicU32::new(FREE),
                parking: PhantomData,
            }
        }
    }
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

    /// The same, where a look finds it free: an attempt in vain would take its line.
    #[inline(always)]
    pub fn look_and_take(&self) -> bool {
        !self.is_held() && self.take()
    }

    /// Leaves the mark and takes the word if it is free.
    fn take_marked(&self) -> bool {
        let free = self.word.fetch_or(HELD | ASLEEP, FLAG_TAKE) & HELD == 0;
        // The caller's release has to see the mark.
        if free && self.is_quick() && !mutant(flaw::TAKE_AND_HURRY) {
            self.haste.store(ATTENTIVE, Order::RELAXED);
        }
        free
    }

    #[inline(always)]
    fn is_quick(&self) -> bool {
        self.haste.load(Order::RELAXED) == QUICK
    }

    /// Frees it, and wakes a sleeper; the caller holds it.
    #[inline(always)]
    pub fn release(&self) {
        let place = &raw const *self;
        match self.release_quickly() {
            Quick::Released => {}
            Quick::MarkLost => Self::wake_everybody(place),
            Quick::Refused => self.release_attentive(),
        }
    }

    /// Frees it by a plain store, if that will do; the caller holds it.
    #[inline(always)]
    pub fn release_quickly(&self) -> Quick {
        if !P::MAY_SLEEP {
            self.word.store(FREE, FLAG_RELEASE);
            return Quick::Released;
        }
        quick::release(
            || self.is_quick().then_some(()),
            |()| self.word.store(FREE, FLAG_RELEASE_QUICK),
        )
    }

    /// Releases by a read-modify-write.
    #[inline(never)]
    fn release_attentive(&self) {
        if is_long_quiet() && self.become_quick() {
            return;
        }
        let word = &raw const self.word;
        if self.word.swap(FREE, FLAG_RELEASE) & ASLEEP != 0 && !mutant(flaw::FORGET_WAKE) {
            // The word may belong to somebody else by now; its address is a name.
            wake(word, 1, CLASS);
        }
    }

    /// Releases, and from here on does so quickly, if there is no mark.
    #[cold]
    fn become_quick(&self) -> bool {
        self.haste.store(QUICK, Order::RELAXED);
        let unmarked = self
            .word
            .compare_exchange(HELD, FREE, FLAG_RELEASE, Order::RELAXED)
            .is_ok();
        // Somebody waits, and would soon revoke it.
        if !unmarked {
            self.haste.store(ATTENTIVE, Order::RELAXED);
        }
        unmarked
    }

    /// Wakes every sleeper of the flag at `place`, where it need not be any more: they
    /// look again.
    #[cold]
    pub fn wake_everybody(place: *const Self) {
        let word = place.wrapping_byte_add(offset_of!(Self, word));
        wake(word.cast::<AtomicU32>(), i32::MAX as u32, CLASS);
    }

    /// Whether the mark that the caller has left on a holder's word will be honoured;
    /// if not, it was a quick time, which is over now: look again.
    fn is_honoured(&self) -> bool {
        if !self.is_quick() || mutant(flaw::MARK_AND_HOPE) {
            return true;
        }
        self.haste.store(ATTENTIVE, Order::RELAXED);
        quick::revoke(|| Self::wake_everybody(self));
        false
    }

    /// Blocks until the word is taken or patience runs out.
    #[cold]
    pub fn take_within<M: Backoff>(&self, mut backoff: M, patience: &Patience) -> Outcome {
        let mut spinner = Spinner::new();
        let mut slept = false;
        loop {
            let skips = M::LOOKS_FIRST && self.is_held();
            let marks = slept && !mutant(flaw::FORGET_MARK);
            if !skips
                && (if marks {
                    self.take_marked()
                } else {
                    self.take()
                })
            {
                return Outcome::Acquired;
            }
            if runs_out(patience) {
                // A wake-up that reached this thread goes on to another.
                if slept && !mutant(flaw::SWALLOW_WAKE) {
                    if self.take_marked() {
                        return Outcome::Acquired;
                    }
                    // A sleeper is woken if it is not.
                    let _ = self.is_honoured();
                }
                return Outcome::GaveUp;
            }
            if spinner.pause(backoff.pause()) == Advice::Again {
                continue;
            }
            if !P::MAY_SLEEP {
                spinner.insist();
                continue;
            }
            if self.take_marked() {
                return Outcome::Acquired;
            }
            if !self.is_honoured() {
                continue;
            }
            let _ = sleep_within(&self.word, HELD | ASLEEP, CLASS, patience);
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
