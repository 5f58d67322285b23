//! A word held by one thread at a time, and acquired by any thread once it is free: the common part
//! of `tas`, `ttas` and `bo`.
//!
//! They differ in their waiters' [`Backoff`]. If the policy permits parking, waiters of all three
//! sleep eventually, so the word marks sleepers.
//!
//! | word | meaning | written by |
//! |---|---|---|
//! | 0 | free | the holder |
//! | `HELD` | held | the thread that acquires |
//! | `HELD \| ASLEEP` | held; the release has to wake a sleeper | a waiter before or after its sleep |
//!
//! | change | sets | clears | keeps |
//! |---|---|---|---|
//! | take | `HELD` | | `ASLEEP` |
//! | take after a sleep, fall asleep, give up after a sleep | `HELD`, `ASLEEP` | | |
//! | release | | `HELD`, `ASLEEP`; it wakes a sleeper | |
//! | plain-store release | | `HELD`, `ASLEEP`; it wakes all sleepers if its quick mode was revoked | |
//!
//! A release clears the mark and wakes one sleeper. Others may be asleep, so a thread that has
//! slept leaves a mark: it acquires with the mark, or sets the holder's mark when it gives up.
//!
//! A flag without sleepers for a long time is released [quickly](super::quick). A holder that finds
//! no mark starts the quick mode. A woken thread may still be on its way then; if it acquires the
//! word with its mark, it ends the mode.

use super::{Parking, quick};
use crate::door::{
    Advice, AtomicU32, Attempt, Order, Spinner, constructor, flaws, is_long_quiet, mutant, orders,
    runs_out, sleep_within, wake,
};
use cohort_raw::{Outcome, Patience, Quick};
use core::marker::PhantomData;
use core::mem::offset_of;

orders! {
    /// Sees the writes of the last holder.
    FLAG_TAKE = Acquire;
    /// The next holder sees the writes of this one.
    FLAG_RELEASE = Release;
    /// The same for a plain-store release.
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

/// The flag has one class of sleepers.
const CLASS: u32 = 1;

const ATTENTIVE: u32 = 0;
const QUICK: u32 = 1;

/// A waiter's pauses; made at the start of a wait.
pub trait Backoff {
    /// Whether to read the word before each attempt to acquire it.
    const LOOKS_FIRST: bool;

    /// Whether any pause is longer than none.
    const HAS_PAUSES: bool = true;

    /// The pause after an unsuccessful read or attempt, in nanoseconds.
    fn pause(&mut self) -> u64;
}

/// The word; zero, and free, when new.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Flag<P: Parking> {
    /// `ATTENTIVE` if releases look for the mark, else `QUICK`. Set to `QUICK` by a holder, and to
    /// `ATTENTIVE` by any thread.
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
    /// Whether the word is held.
    #[inline(always)]
    pub fn is_held(&self) -> bool {
        self.word.load(Order::RELAXED) != FREE
    }

    /// Acquires the word if it is free.
    #[inline(always)]
    pub fn take(&self) -> bool {
        self.word.fetch_or(HELD, FLAG_TAKE) & HELD == 0
    }

    /// The same after a read that finds it free: a failing attempt would take its line.
    #[inline(always)]
    pub fn look_and_take(&self) -> bool {
        !self.is_held() && self.take()
    }

    /// Sets the mark, and acquires the word if it is free.
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

    /// Frees the word, and wakes a sleeper; the caller holds it.
    #[inline(always)]
    pub fn release(&self) {
        let place = &raw const *self;
        match self.release_quickly() {
            Quick::Released => {}
            Quick::MarkLost => Self::wake_everybody(place),
            Quick::Refused => self.release_attentive(),
        }
    }

    /// Frees the word by a plain store, if that suffices; the caller holds it.
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
            // The word may be reused by now: its address serves only as a key.
            wake(word, 1, CLASS);
        }
    }

    /// Releases and starts the quick mode, if there is no mark.
    #[cold]
    fn become_quick(&self) -> bool {
        self.haste.store(QUICK, Order::RELAXED);
        let unmarked = self
            .word
            .compare_exchange(HELD, FREE, FLAG_RELEASE, Order::RELAXED)
            .is_ok();
        // A waiter exists, and would soon revoke the mode.
        if !unmarked {
            self.haste.store(ATTENTIVE, Order::RELAXED);
        }
        unmarked
    }

    /// Wakes all sleepers of the flag at `place`, which may be gone; they check the word again.
    #[cold]
    pub fn wake_everybody(place: *const Self) {
        let word = place.wrapping_byte_add(offset_of!(Self, word));
        wake(word.cast::<AtomicU32>(), i32::MAX as u32, CLASS);
    }

    /// Whether the release will honour the mark that the caller has set. If not, the flag was in
    /// quick mode, which the caller revokes; it has to check the word again.
    fn is_honoured(&self) -> bool {
        if !self.is_quick() || mutant(flaw::MARK_AND_HOPE) {
            return true;
        }
        self.haste.store(ATTENTIVE, Order::RELAXED);
        quick::revoke(|| Self::wake_everybody(self));
        false
    }

    /// Blocks until the word is acquired or patience runs out.
    #[cold]
    pub fn take_within<M: Backoff>(&self, mut backoff: M, patience: &Patience) -> Outcome {
        let mut spinner = Spinner::new();
        let mut slept = false;
        let is_free = |word: u32| word & HELD == 0 && (!M::LOOKS_FIRST || word == FREE);
        let attempt = if M::LOOKS_FIRST {
            Attempt::Load
        } else {
            Attempt::Update
        };
        if !M::HAS_PAUSES && patience.is_endless() {
            // SAFETY: both stay, and the attempt follows each pause of this spinner.
            unsafe { spinner.foresee(&self.word, attempt, &is_free) };
        }
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
                // This thread's wake-up goes on to another sleeper.
                if slept && !mutant(flaw::SWALLOW_WAKE) {
                    if self.take_marked() {
                        return Outcome::Acquired;
                    }
                    // If the mark was lost, this wakes a sleeper.
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

    /// Forgets all waiters; `held` is the new state.
    pub fn reset(&self, held: bool) {
        self.word
            .store(if held { HELD } else { FREE }, Order::RELAXED);
    }
}
