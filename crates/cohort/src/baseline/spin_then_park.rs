//! `spin-park`: a word whose waiters spin before they sleep, as in many libraries.  Each looks ever
//! more rarely, then yields after each look, then sleeps, and starts over when woken.
//! `spin-park-4`: the same, but at most four waiters spin, without yielding, and the others sleep
//! at once.  No sleeper is woken while there is a spinner.
//!
//! **Not for** anything but comparison.  The first is the *flood* of published measurements: where
//! a lock's line travels between cache groups, every looking waiter adds to the cost of each
//! hand-over.  The second is their simple remedy (ordo-one's synchronization-benchmarks, 2026).
//!
//! | bits of `word` | meaning | written by |
//! |---|---|---|
//! | `HELD` | it is held | an arrival that finds it free; the holder |
//! | `ASLEEP` | there may be sleepers | a waiter, before it sleeps and when it acquires after that; the holder, when it wakes one |
//! | from `SPINNER` on | how many waiters spin; 0 if all may | each of them, when it begins and when it ends |
//!
//! A waiter tries once more after it has ended spinning, and marks the word by that attempt: so a
//! release that leaves the lock to spinners does not leave it to a thread about to sleep.

use crate::door::{
    AtomicU32, Order, Slept, Spinner, constructor, flaws, mutant, orders, sleep_within, wake,
};
use cohort_raw::{
    Abortable, Inherit, Outcome, Patience, RawLock, RawTry, ThreadOblivious, standalone,
};

orders! {
    /// Sees what the last holder did.
    SPIN_PARK_TAKE = Acquire;
    /// The same, for a waiter, which also marks that it waits.
    SPIN_PARK_TAKE_WAITING = Acquire;
    /// What this holder did is seen by the next.
    SPIN_PARK_RELEASE = Release;
}

flaws! {
    FORGET_WAKE = "spin-park.forget-wake";
    FORGET_MARK = "spin-park.forget-mark";
}

const HELD: u32 = 1;
const ASLEEP: u32 = 2;
const SPINNER: u32 = 4;

/// There is one class of sleepers.
const CLASS: u32 = 1;

/// How often the pauses between looks double before waiters yield.
const FEW: u32 = 3;

/// The same for waiters that do not yield: with the usual number of looks they spin about as long
/// as a sleep and its wake-up take.
const MANY: u32 = 6;

/// Any number of waiters may spin.
const ALL: u32 = 0;

/// The lock; all zero when new.  At most `MOST` of its waiters spin (0: all), and each sleeps after
/// `LOOKS` failed looks.
///
/// ```
/// use cohort::{Mutex, baseline::SpinPark};
///
/// static TOTAL: Mutex<u64, SpinPark> = Mutex::from_raw(SpinPark::new(), 1);
/// *TOTAL.lock() += 1;
/// assert_eq!(*TOTAL.lock(), 2);
/// ```
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct SpinPark<const MOST: u32 = ALL, const LOOKS: u32 = 10> {
    word: AtomicU32,
}

impl<const MOST: u32, const LOOKS: u32> SpinPark<MOST, LOOKS> {
    constructor! {
        /// A free lock.
        #[must_use]
        pub fn new() -> Self {
            Self {
                word: AtomicU32::new(0),
            }
        }
    }
}

/// A [`SpinPark`] with at most four spinners.
///
/// ```
/// use cohort::{Mutex, baseline::SpinPark4};
///
/// let total: Mutex<u64, SpinPark4> = Mutex::from(1);
/// *total.lock() += 1;
/// assert_eq!(total.into_inner(), 2);
/// ```
pub type SpinPark4 = SpinPark<4>;

impl<const MOST: u32, const LOOKS: u32> SpinPark<MOST, LOOKS> {
    /// Spins for a bounded time, if there is room; whether the lock was acquired, with that mark.
    fn take_by_spinning(&self, mark: u32) -> bool {
        if MOST == ALL {
            return self.spin(mark);
        }
        if self.word.load(Order::RELAXED) / SPINNER >= MOST {
            return false;
        }
        let others = self.word.fetch_add(SPINNER, Order::RELAXED) / SPINNER;
        let taken = others < MOST && self.spin(mark);
        self.word.fetch_sub(SPINNER, Order::RELAXED);
        taken
    }

    fn spin(&self, mark: u32) -> bool {
        let mut spinner = Spinner::new();
        for look in 0..LOOKS {
            if look >= FEW && MOST == ALL {
                spinner.insist();
            } else {
                (0..1_u32 << look.min(MANY)).for_each(|_| spinner.spin());
            }
            if !self.is_locked() && self.take(mark) {
                return true;
            }
        }
        false
    }

    #[inline]
    fn take(&self, mark: u32) -> bool {
        self.word.fetch_or(HELD | mark, SPIN_PARK_TAKE) & HELD == 0
    }

    /// Frees the lock; whether a sleeper must be woken, since there is no spinner to acquire it.
    fn leave(&self) -> bool {
        if MOST == ALL {
            return self.word.swap(0, SPIN_PARK_RELEASE) & ASLEEP != 0;
        }
        let mut word = HELD;
        loop {
            let spins = word >= SPINNER;
            let left = if spins { word & !HELD } else { 0 };
            match self
                .word
                .compare_exchange(word, left, SPIN_PARK_RELEASE, Order::RELAXED)
            {
                Ok(_) => return !spins && word & ASLEEP != 0,
                Err(now) => word = now,
            }
        }
    }

    #[cold]
    fn acquire_contended(&self, patience: &Patience) -> Outcome {
        // A thread that has slept cannot know whether others still sleep.
        let mut mark = 0;
        loop {
            if self.take_by_spinning(mark) {
                return Outcome::Acquired;
            }
            let marks = HELD | ASLEEP;
            let word = self.word.fetch_or(marks, SPIN_PARK_TAKE_WAITING);
            if word & HELD == 0 {
                return Outcome::Acquired;
            }
            let slept = sleep_within(&self.word, word | marks, CLASS, patience);
            if slept == Slept::TimedOut {
                return Outcome::GaveUp;
            }
            if !mutant(flaw::FORGET_MARK) {
                mark = ASLEEP;
            }
        }
    }
}

// SAFETY: one update makes the word `HELD` that was not, and acquires what the release released.
unsafe impl<const MOST: u32, const LOOKS: u32> RawLock for SpinPark<MOST, LOOKS> {
    type Context = ();

    #[inline]
    unsafe fn acquire(&self, (): &()) {
        if !self.take(0) {
            let _ = self.acquire_contended(&Patience::ENDLESS);
        }
    }

    #[inline]
    unsafe fn release(&self, (): &()) {
        let word = &raw const self.word;
        if self.leave() && !mutant(flaw::FORGET_WAKE) {
            // The word may already be reused; its address is a key.
            wake(word, 1, CLASS);
        }
    }

    fn is_locked(&self) -> bool {
        self.word.load(Order::RELAXED) & HELD != 0
    }
}

standalone! {
    [const MOST: u32, const LOOKS: u32] SpinPark<MOST, LOOKS>:
    Hosted { strict: false },
    HighLock,
    Resumable
}

// SAFETY: as `acquire`.
unsafe impl<const MOST: u32, const LOOKS: u32> RawTry for SpinPark<MOST, LOOKS> {
    #[inline]
    unsafe fn try_acquire(&self, (): &()) -> bool {
        self.take(0)
    }
}

// SAFETY: a waiter that gives up was not woken, and leaves the mark for other sleepers.
unsafe impl<const MOST: u32, const LOOKS: u32> Abortable for SpinPark<MOST, LOOKS> {
    #[inline]
    unsafe fn acquire_within(&self, (): &(), patience: &Patience) -> Outcome {
        if self.take(0) {
            return Outcome::Acquired;
        }
        self.acquire_contended(patience)
    }
}

// SAFETY: release reads and writes the lock alone.
unsafe impl<const MOST: u32, const LOOKS: u32> ThreadOblivious for SpinPark<MOST, LOOKS> {}

// SAFETY: waiters leave marks only.
unsafe impl<const MOST: u32, const LOOKS: u32> Inherit for SpinPark<MOST, LOOKS> {
    unsafe fn inherit(&self, holder: Option<&()>) {
        let word = if holder.is_some() { HELD } else { 0 };
        self.word.store(word, Order::RELAXED);
    }
}
