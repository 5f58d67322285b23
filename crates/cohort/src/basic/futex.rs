//! `futex`: a lean sleeping mutex of one word.  A thread that finds it taken
//! spins for a bounded time, yields a few turns, then sleeps; whoever comes while
//! the lock is free takes it, past the sleepers (it *barges*), until one of them
//! has waited too long: then the lock is handed to it directly.
//!
//! **Not for** strict order, nor for a NUMA machine under load: it keeps no cohort.
//! It is the default because it is the one that never collapses when threads
//! exceed CPUs: a lock handed to a sleeper is a lock nobody holds for as long as
//! the kernel takes to run that thread.
//!
//! | word | meaning |
//! |---|---|
//! | 0 | free; there may be sleepers, one of whom has been woken and is on its way |
//! | `LOCKED` | held; a release wakes nobody |
//! | `+ PARKED` | a release wakes one sleeper.  Set by whoever goes to sleep, and by a sleeper that takes the lock, since it cannot know whether it was the last |
//! | `+ STARVING` | a sleeper has waited longer than [`PATIENCE_NANOSECONDS`]: the next release hands over.  Set by that sleeper |
//! | `+ GRANTED` | nobody's: released to the starving sleeper that was woken.  Set by the releaser; cleared by the thread that takes the grant, or by the releaser if nobody was asleep |
//!
//! Every bit but `LOCKED` and `GRANTED` is a hint that costs a system call when
//! stale and is never missing when it matters: a word is only ever freed by an
//! exchange that sees the sleepers' marks and answers them.  So a forked child can
//! go on using the lock as it is.

use crate::door::{
    Advice, AtomicU32, Order, Slept, Spinner, expired, mutant, now, orders, sleep_on, wake,
};
use cohort_raw::{Abortable, Inherit, Outcome, Patience, RawLock, RawTry, ThreadOblivious};

orders! {
    /// Sees what the last holder did.
    FUTEX_TAKE = Acquire;
    /// The same, for a waiter.
    FUTEX_TAKE_LATE = Acquire;
    /// What this holder did is seen by the next.
    FUTEX_RELEASE = Release;
    /// The same, when sleepers have to be woken.
    FUTEX_RELEASE_WAKING = Release;
    /// What this holder did is seen by the sleeper it hands the lock to.
    FUTEX_GRANT = Release;
    /// Sees it.
    FUTEX_ACCEPT = Acquire;
    /// Going to sleep publishes nothing; the kernel compares the word again.
    FUTEX_ANNOUNCE = Relaxed;
}

const LOCKED: u32 = 1;
const PARKED: u32 = 2;
const STARVING: u32 = 4;
const GRANTED: u32 = 8;

/// How long a sleeper is passed over before the lock is handed to it.
pub const PATIENCE_NANOSECONDS: u64 = 1_000_000;

/// Sleepers are woken through the first bit, starving ones through the second
/// too, so that a hand-over reaches one that asked for it.
const ANYBODY: u32 = 1;
const STARVED: u32 = 2;

/// Bytes of nodes that an acquisition takes beside its context.
pub(crate) const NODE_BYTES: usize = 0;

/// The lock; all zero when new.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Futex {
    word: AtomicU32,
}

impl Futex {
    /// Takes a free lock without an atomic read-modify-write; false if it was not
    /// free.  Only for the one thread of a process that has one.
    #[inline(always)]
    pub fn acquire_alone(&self) -> bool {
        let free = self.word.load(Order::RELAXED) == 0;
        if free {
            self.word.store(LOCKED, Order::RELAXED);
        }
        free
    }

    /// Releases a lock without sleepers, as [`acquire_alone`](Self::acquire_alone)
    /// took it; false if it has marks.
    #[inline(always)]
    pub fn release_alone(&self) -> bool {
        let unmarked = self.word.load(Order::RELAXED) == LOCKED;
        if unmarked {
            self.word.store(0, Order::RELAXED);
        }
        unmarked
    }

    /// Releases a held lock if it has no marks; false if it has.  The fast half
    /// of `release`, for callers that keep the other half out of line.
    #[inline(always)]
    pub fn release_unmarked(&self) -> bool {
        self.word
            .compare_exchange(LOCKED, 0, FUTEX_RELEASE, Order::RELAXED)
            .is_ok()
    }

    /// Frees a lock that sleepers have marked.
    #[cold]
    #[inline(never)]
    fn release_marked(&self) {
        let mut word = self.word.load(Order::RELAXED);
        loop {
            if word & STARVING != 0 {
                if self.hand_over(word) {
                    return;
                }
                word = self.word.load(Order::RELAXED);
                continue;
            }
            match self
                .word
                .compare_exchange(word, 0, FUTEX_RELEASE_WAKING, Order::RELAXED)
            {
                Ok(_) => break,
                Err(now) => word = now,
            }
        }
        // Only now: a thread woken while the lock is held would wait again.
        if word & PARKED != 0 && !mutant("futex.forget-wake") {
            wake(&raw const self.word, 1, ANYBODY);
        }
    }

    /// Releases to a starving sleeper; false if the lock is still the caller's.
    fn hand_over(&self, word: u32) -> bool {
        let granted = LOCKED | PARKED | GRANTED;
        if self
            .word
            .compare_exchange(word, granted, FUTEX_GRANT, Order::RELAXED)
            .is_err()
        {
            return false;
        }
        if wake(&raw const self.word, 1, STARVED) > 0 {
            return true;
        }
        // The starving one gave up, or has not fallen asleep yet.  Take the grant
        // back unless somebody accepted it.
        let mut word = self.word.load(Order::RELAXED);
        while word & GRANTED != 0 {
            let taken_back = (word & !(GRANTED | STARVING)) | PARKED;
            match self
                .word
                .compare_exchange(word, taken_back, FUTEX_ACCEPT, Order::RELAXED)
            {
                Ok(_) => return false,
                Err(now) => word = now,
            }
        }
        true
    }

    #[cold]
    #[inline(never)]
    fn acquire_contended(&self, patience: &Patience) -> Outcome {
        let mut spinner = Spinner::new();
        // When this thread first fell asleep; 0 before.
        let mut asleep_since = 0;
        // Whether a wake-up reached it that nobody else will get.
        let mut owes_wake = false;
        loop {
            let word = self.word.load(Order::RELAXED);
            let slept = asleep_since != 0;
            if word == 0 {
                let taken = if slept && !mutant("futex.forget-others") {
                    LOCKED | PARKED
                } else {
                    LOCKED
                };
                if self
                    .word
                    .compare_exchange(0, taken, FUTEX_TAKE_LATE, Order::RELAXED)
                    .is_ok()
                {
                    return Outcome::Acquired;
                }
                continue;
            }
            if word & GRANTED != 0 && slept {
                if self
                    .word
                    .compare_exchange(word, word & !GRANTED, FUTEX_ACCEPT, Order::RELAXED)
                    .is_ok()
                {
                    return Outcome::Acquired;
                }
                continue;
            }
            if patience.deadline().is_some_and(expired) {
                if owes_wake {
                    self.pass_wake_on();
                }
                return Outcome::GaveUp;
            }
            if spinner.step() == Advice::Again {
                continue;
            }
            let mut marked = word | PARKED;
            let mut class = ANYBODY;
            if slept && now() - asleep_since > PATIENCE_NANOSECONDS {
                marked |= STARVING;
                class |= STARVED;
            }
            if word != marked
                && self
                    .word
                    .compare_exchange(word, marked, FUTEX_ANNOUNCE, Order::RELAXED)
                    .is_err()
            {
                continue;
            }
            if !slept {
                asleep_since = now();
            }
            // The mark that was just set answers for whoever this thread owed.
            owes_wake = sleep_on(&self.word, marked, class, patience.deadline()) == Slept::Woken;
            spinner = Spinner::new();
        }
    }

    /// Before a woken thread leaves without the lock: the next release wakes
    /// somebody else, or this does.
    fn pass_wake_on(&self) {
        if mutant("futex.swallow-wake") {
            return;
        }
        let mut word = self.word.load(Order::RELAXED);
        loop {
            if word == 0 {
                wake(&raw const self.word, 1, ANYBODY);
                return;
            }
            match self
                .word
                .compare_exchange(word, word | PARKED, FUTEX_ANNOUNCE, Order::RELAXED)
            {
                Ok(_) => return,
                Err(now) => word = now,
            }
        }
    }
}

// SAFETY: `LOCKED` is set by one exchange from 0 or handed over with `GRANTED`,
// which one thread clears; each acquires what the releasing exchange released.
unsafe impl RawLock for Futex {
    type Context = ();

    #[inline(always)]
    fn acquire(&self, (): &()) {
        if !self.try_acquire(&()) {
            let _ = self.acquire_contended(&Patience::ENDLESS);
        }
    }

    #[inline(always)]
    unsafe fn release(&self, (): &()) {
        if !self.release_unmarked() {
            self.release_marked();
        }
    }

    #[inline]
    fn is_locked(&self) -> bool {
        self.word.load(Order::RELAXED) != 0
    }
}

// SAFETY: as `acquire`'s first exchange.
unsafe impl RawTry for Futex {
    #[inline(always)]
    fn try_acquire(&self, (): &()) -> bool {
        self.word
            .compare_exchange(0, LOCKED, FUTEX_TAKE, Order::RELAXED)
            .is_ok()
    }
}

// SAFETY: a thread that gives up holds no grant: it accepts one that it sees,
// and the releaser takes back one that nobody sees.
unsafe impl Abortable for Futex {
    #[inline]
    fn acquire_within(&self, (): &(), patience: &Patience) -> Outcome {
        if self.try_acquire(&()) {
            return Outcome::Acquired;
        }
        self.acquire_contended(patience)
    }
}

// SAFETY: release reads and writes the word alone.
unsafe impl ThreadOblivious for Futex {}

// SAFETY: waiters leave marks only, which cost a system call each.
unsafe impl Inherit for Futex {
    unsafe fn inherit(&self, holder: Option<&()>) {
        let word = if holder.is_some() { LOCKED } else { 0 };
        self.word.store(word, Order::RELAXED);
    }
}
