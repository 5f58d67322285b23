//! A wide gate: admission control for a queue with arrivals from many CPUs, as [`Gate`](super::Gate)
//! for a lock with few.
//!
//! A gate's sleepers sleep on the word that counts the threads inside.  With many CPUs that count
//! changes between a thread's look and its sleep, each time, so it never sleeps; and an exchange of
//! the word fails as often.  Here additions count, and a second word, which changes once a wake-up,
//! is slept on.
//!
//! | bits of `word` | meaning | set and cleared by |
//! |---|---|---|
//! | `INSIDE` | number of threads admitted | a thread that passes; a thread that leaves |
//! | `PARKED` | sleepers may be outside | a thread that falls asleep; a waker that finds no sleeper |
//! | `WOKEN` | a woken sleeper is on its way; wake no other | a waker; who passes or falls asleep |
//! | `STAMP` | start of the sleepers' patience in 2¹⁶ ns, 8 bits | as `PARKED`, `WOKEN` |
//!
//! | change | sets | clears |
//! |---|---|---|
//! | pass, depart | one more inside, one less | |
//! | pass, woken | without either mark: `PARKED`, `STAMP` | `WOKEN` |
//! | fall asleep | without it: `PARKED`, `STAMP` | `WOKEN` |
//! | announce a wake-up | `WOKEN`, `STAMP` | |
//! | find no sleeper | | `PARKED`, `WOKEN`, `STAMP` |
//!
//! `calls` counts the wake-ups.  A thread reads it before it looks at the word, and sleeps while it
//! is unchanged; a waker announces its wake-up in the word, counts it, and wakes.  So a thread that
//! the waker does not find has seen the announcement, and clears it, or does not fall asleep.
//!
//! The count has room for all threads of the process, so no addition reaches a mark, however many
//! threads add after seeing a free slot.  Excess threads stay admitted and run; the gate stays
//! closed until as many have left.  A woken thread passes even if all slots are taken.  So no
//! sleeper starves: it sleeps only while a thread is inside, which looks at the gate when it departs.
//!
//! The gate neither orders memory nor guards data; the lock behind it does.

use crate::door::{
    Advice, AtomicU32, Order, Slept, Spinner, WaitPolicy, constructor, flaws, mutant, now, orders,
    policy, sleep_on, wake,
};

orders! {
    /// Who sees a wake-up counted sees it announced.
    GATE_CALL = Release;
    /// As above, for a thread that may sleep.
    GATE_CALL_SEE = Acquire;
}

flaws! {
    KEEP_WOKEN = "wide-gate.keep-woken";
    FORGET_WAKE = "wide-gate.forget-wake";
    FORGET_OTHERS = "wide-gate.forget-others";
    /// A thread looks at the word before it reads the number of wake-ups.
    LOOK_FIRST = "wide-gate.look-first";
}

/// A stamp's unit is 2 to this power, in nanoseconds.
const STAMP_UNIT_BITS: u32 = 16;

/// How long arrivals may pass the sleepers before one is woken; up to a unit of `STAMP` less, since
/// the stamp is truncated.
const PATIENCE_NANOSECONDS: u64 = 500_000;

/// A process has fewer threads than 2 to this power: Linux numbers all threads with this many bits.
const THREAD_BITS: u32 = 22;

const INSIDE: u32 = (1 << THREAD_BITS) - 1;
const PARKED: u32 = 1 << THREAD_BITS;
const WOKEN: u32 = PARKED << 1;
const STAMP_SHIFT: u32 = THREAD_BITS + 2;
const STAMP: u32 = !0 << STAMP_SHIFT;

/// `PATIENCE_NANOSECONDS` as the difference of two stamps.
const PATIENCE: u32 = ((PATIENCE_NANOSECONDS >> STAMP_UNIT_BITS) as u32) << STAMP_SHIFT;

/// The gate has one class of sleepers.
const CLASS: u32 = 1;

/// The time, as a stamp.
fn stamp() -> u32 {
    ((now() >> STAMP_UNIT_BITS) as u32) << STAMP_SHIFT
}

/// Whether a word has sleepers, none of them woken.
#[inline(always)]
const fn is_due(word: u32) -> bool {
    word & (PARKED | WOKEN) == PARKED
}

/// What a departing thread found outside a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outside {
    /// No sleeper that is due.
    Quiet,
    /// A sleeper, which the caller has woken.
    Woken,
    /// A sleeper that another thread has woken, and that has not passed yet.
    OnItsWay,
}

/// A gate; zero, and at rest, when new.
#[derive(Debug, Default)]
#[repr(C)]
pub struct WideGate {
    word: AtomicU32,
    calls: AtomicU32,
}

impl WideGate {
    constructor! {
        /// A gate at rest.
        #[must_use]
        pub fn new() -> Self {
            Self {
                word: AtomicU32::new(0),
                calls: AtomicU32::new(0),
            }
        }
    }

    fn look(&self) -> u32 {
        self.word.load(Order::RELAXED)
    }

    fn exchange(&self, old: u32, new: u32) -> bool {
        self.word
            .compare_exchange(old, new, Order::RELAXED, Order::RELAXED)
            .is_ok()
    }

    /// Marks a gate at rest as having sleepers, until a thread that departs finds none.
    pub fn expect_sleepers(&self) {
        self.word.store(PARKED, Order::RELAXED);
    }

    /// Blocks until one of `places` slots is free, and admits the caller; returns whether it slept.
    /// A caller that may sleep sleeps at once unless it `spins`.
    #[cold]
    pub fn admit(&self, places: u32, spins: bool) -> bool {
        let places = places.clamp(1, INSIDE);
        let spins = spins || policy() != WaitPolicy::Park;
        let mut spinner = Spinner::new();
        loop {
            let early = mutant(flaw::LOOK_FIRST).then(|| self.look());
            let calls = self.calls.load(GATE_CALL_SEE);
            let word = early.unwrap_or_else(|| self.look());
            if word & INSIDE < places {
                // Concurrent arrivals may exceed the slots; they stay admitted.
                self.word.fetch_add(1, Order::RELAXED);
                return false;
            }
            if spins && spinner.step() == Advice::Again {
                continue;
            }
            if !self.expects_sleepers(word) {
                continue;
            }
            if sleep_on(&self.calls, calls, CLASS, None) == Slept::Woken {
                self.word.fetch_add(1, Order::RELAXED);
                self.answer();
                return true;
            }
            spinner = Spinner::new();
        }
    }

    /// Sets the marks for a thread that is about to sleep; false if the word has changed.
    fn expects_sleepers(&self, word: u32) -> bool {
        if word & PARKED == 0 {
            return self.exchange(word, word & INSIDE | PARKED | stamp());
        }
        // It may be a waker's that has found no sleeper yet.
        is_due(word) || is_due(self.word.fetch_and(!WOKEN, Order::RELAXED) & !WOKEN)
    }

    /// Clears a woken sleeper's marks.
    fn answer(&self) {
        if mutant(flaw::KEEP_WOKEN) {
            return;
        }
        loop {
            let word = self.look();
            let done = match word & (PARKED | WOKEN) {
                // A waker that found no sleeper has cleared the marks of this wake-up and of the
                // other sleepers.
                0 if mutant(flaw::FORGET_OTHERS) => true,
                0 => self.exchange(word, word & INSIDE | PARKED | stamp()),
                PARKED => true,
                _ => {
                    self.word.fetch_and(!WOKEN, Order::RELAXED);
                    true
                }
            };
            if done {
                return;
            }
        }
    }

    /// Counts out an [admitted](Self::admit) caller.  Wakes a sleeper if one of `places` slots is
    /// free, after its patience, or if the caller `yields` its slot.  For a gate that outlives the
    /// lock behind it.
    pub fn depart(&self, places: u32, yields: bool) -> Outside {
        let word = self.word.fetch_sub(1, Order::RELAXED) - 1;
        let few = if yields {
            INSIDE
        } else {
            places.saturating_sub(1)
        };
        if word & WOKEN != 0 {
            Outside::OnItsWay
        } else if is_due(word) && self.consider(word, few) {
            Outside::Woken
        } else {
            Outside::Quiet
        }
    }

    /// Whether no thread is inside.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.look() & INSIDE == 0
    }

    /// Wakes a sleeper if at most `few` are inside, or if its patience has ended; whether it did.
    #[cold]
    #[inline(never)]
    fn consider(&self, mut word: u32, few: u32) -> bool {
        loop {
            let is_over = stamp().wrapping_sub(word & STAMP) >= PATIENCE;
            if word & INSIDE > few && !is_over || !is_due(word) {
                return false;
            }
            if self.exchange(word, word & INSIDE | PARKED | WOKEN | stamp()) {
                break;
            }
            // A thread has entered or departed.
            word = self.look();
        }
        if mutant(flaw::FORGET_WAKE) {
            return false;
        }
        self.calls.fetch_add(1, GATE_CALL);
        if wake(&raw const self.calls, 1, CLASS) > 0 {
            return true;
        }
        // A thread that falls asleep clears the mark, so none has while it stands.  If another
        // waker has set the mark again, the sleeper that it woke handles the others.
        let mut word = self.look();
        while word & WOKEN != 0 && !self.exchange(word, word & INSIDE) {
            word = self.look();
        }
        false
    }

    /// Forgets all threads.
    pub fn reset(&self) {
        self.word.store(0, Order::RELAXED);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_thread_is_counted_and_no_mark_touched() {
        let gate = WideGate::new();
        // Each thread saw a free slot.
        let many = 1000;
        gate.expect_sleepers();
        assert!((0..many).all(|_| !gate.admit(many, false)));
        assert_eq!(gate.look(), PARKED + many);
        const { assert!(INSIDE ^ PARKED ^ WOKEN ^ STAMP == !0) };
    }
}
