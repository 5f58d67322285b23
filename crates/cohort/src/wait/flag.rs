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
//!
//! **Quick releases.**  A flag that has long been quiet is released by a plain store,
//! as [`futex`](crate::basic::futex) is and by the same agreement: who marks the word in
//! a quick time calls that off before it sleeps.  Only a holder that finds no mark
//! begins such a time; and since a thread that was woken may still be on its way then,
//! it ends the time again if it takes the word with its mark.

use super::Parking;
use crate::door::{
    Advice, AtomicU32, Order, Spinner, calls_off, expired, fence_everywhere, fence_here,
    is_long_quiet, mutant, orders, sleep_on, wake,
};
use cohort_raw::{Outcome, Patience};
use core::marker::PhantomData;

orders! {
    /// Sees what the last holder did.
    FLAG_TAKE = Acquire;
    /// What this holder did is seen by the next.
    FLAG_RELEASE = Release;
    /// The same, by a plain store.
    FLAG_RELEASE_QUICK = Release;
    /// A releaser that finds the count raised finds the flag attentive too.
    FLAG_CALL_OFF = Release;
    /// As above, from the releaser's side.
    FLAG_CALLED_OFF = Acquire;
    /// Both sides of the quick release's agreement, in a checker's world.
    FLAG_AGREE = SeqCst;
}

const FREE: u32 = 0;
const HELD: u32 = 1;
const ASLEEP: u32 = 2;

/// There is one class of sleepers.
const CLASS: u32 = 1;

/// As many sleepers as there are.
const EVERYBODY: u32 = i32::MAX as u32;

const ATTENTIVE: u32 = 0;
const QUICK: u32 = 1;

/// How a waiter passes the time; made at the beginning of a wait.
pub trait Manner {
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
        let free = self.word.fetch_or(HELD | ASLEEP, FLAG_TAKE) & HELD == 0;
        // The caller's release has to see the mark.
        if free && self.is_quick() && !mutant("flag.take-and-hurry") {
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
        if !P::MAY_SLEEP {
            self.word.store(FREE, FLAG_RELEASE);
            return;
        }
        let called_off = calls_off().load(FLAG_CALLED_OFF);
        if self.is_quick() {
            let word = &raw const self.word;
            self.word.store(FREE, FLAG_RELEASE_QUICK);
            fence_here(FLAG_AGREE);
            if calls_off().load(Order::RELAXED) != called_off {
                Self::answer_lost_mark(word);
            }
        } else {
            self.release_attentive();
        }
    }

    /// Releases by a read-modify-write.
    #[inline(never)]
    fn release_attentive(&self) {
        if is_long_quiet() && self.become_quick() {
            return;
        }
        let word = &raw const self.word;
        if self.word.swap(FREE, FLAG_RELEASE) & ASLEEP != 0 && !mutant("flag.forget-wake") {
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
        // Somebody waits, and would soon call it off.
        if !unmarked {
            self.haste.store(ATTENTIVE, Order::RELAXED);
        }
        unmarked
    }

    /// After a quick release that may have wiped out a mark: whoever slept on it looks
    /// again.
    #[cold]
    #[inline(never)]
    fn answer_lost_mark(word: *const AtomicU32) {
        if !mutant("flag.lost-mark") {
            wake(word, EVERYBODY, CLASS);
        }
    }

    /// Whether the mark that the caller has left on a holder's word will be heeded;
    /// if not, it was a quick time, which is over now: look again.
    fn is_heeded(&self) -> bool {
        if !self.is_quick() || mutant("flag.mark-and-hope") {
            return true;
        }
        self.haste.store(ATTENTIVE, Order::RELAXED);
        calls_off().fetch_add(1, FLAG_CALL_OFF);
        if !mutant("flag.no-barrier") {
            fence_everywhere(FLAG_AGREE);
        }
        // Waiters that found the time over before the barrier may have slept on marks
        // that a quick release was wiping out.
        if !mutant("flag.call-off-alone") {
            wake(&raw const self.word, EVERYBODY, CLASS);
        }
        false
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
                if slept && !mutant("flag.swallow-wake") {
                    if self.take_marked() {
                        return Outcome::Acquired;
                    }
                    // Whoever sleeps is woken if it is not.
                    let _ = self.is_heeded();
                }
                return Outcome::GaveUp;
            }
            if spinner.pause(manner.pause()) == Advice::Again || !P::MAY_SLEEP {
                continue;
            }
            if self.take_marked() {
                return Outcome::Acquired;
            }
            if !self.is_heeded() {
                continue;
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
