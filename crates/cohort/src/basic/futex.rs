//! `futex`: a lean sleeping mutex.  A thread that finds it taken spins for a bounded
//! time, yields a few turns, then sleeps; whoever comes while the lock is free takes
//! it, past the sleepers (it *barges*), but twice a millisecond or so it is handed
//! to the one that has slept longest.
//!
//! **Not for** strict order, nor for a NUMA machine under load: it keeps no cohort.
//! It is the default because it is the one that never collapses when threads
//! exceed CPUs: a lock handed to a sleeper is a lock nobody holds for as long as
//! the kernel takes to run that thread.
//!
//! | bits of `word` | meaning | set and cleared by |
//! |---|---|---|
//! | `LOCKED` | held, or granted | taker; releaser |
//! | `PARKED` | there may be sleepers | a waiter before it sleeps; a releaser that woke nobody |
//! | `WOKEN` | a woken sleeper is on its way, so releases wake nobody else | the releaser that woke it; that sleeper, or any that falls asleep |
//! | `GRANTED` | held by nobody: released to whichever sleeper accepts it | a releaser; the sleeper, or the releaser again if nobody was asleep |
//! | `STAMP` | when the sleepers' present patience began, in units of 2¹⁶ ns | whoever sets `PARKED`; a hand-over |
//!
//! A word of 0 is a free lock without sleepers, and `LOCKED` alone a held one.  A
//! release wakes only after the lock is free: a thread woken while it is held would
//! wait again.  The marks of a parent process do no harm in a forked child: each
//! waiter overwrites `WOKEN` before it sleeps, and accepts a grant rather than
//! sleep on it.
//!
//! **Quick releases.**  A lock that has long been quiet is released by a plain
//! store.  That is safe because whoever wants to sleep first calls the quick time
//! off, by a barrier that every running thread of the process takes part in: a
//! release from before the barrier is seen by the sleeper, and a release after it
//! sees that the time is over and wakes somebody, in case its store wiped out a mark.
//!
//! | `mode` | meaning |
//! |---|---|
//! | 2v | attentive: released by an exchange that sees the marks |
//! | 2v + 1 | quick: released by a plain store.  Set by a holder, now and then, when it finds no marks; called off by a waiter, which raises v |

use crate::door::{
    Advice, AtomicU32, Order, Slept, Spinner, constructor, expired, fence_everywhere, fence_here,
    is_long_quiet, mutant, now, orders, sleep_on, wake,
};
use cohort_raw::{Abortable, Inherit, Outcome, Patience, RawLock, RawTry, ThreadOblivious};

orders! {
    /// Sees what the last holder did.
    FUTEX_TAKE = Acquire;
    /// The same, for a waiter.
    FUTEX_TAKE_LATE = Acquire;
    /// What this holder did is seen by the next.
    FUTEX_RELEASE = Release;
    /// The same, by a plain store.
    FUTEX_RELEASE_QUICK = Release;
    /// The same, when the word has marks.
    FUTEX_RELEASE_MARKED = Release;
    /// What this holder did is seen by the sleeper it hands the lock to.
    FUTEX_GRANT = Release;
    /// Sees it.
    FUTEX_ACCEPT = Acquire;
    /// A waiter that marks a holder's word sees the mode in which that holder
    /// will release it: set before an earlier release, which the holder acquired.
    FUTEX_MARK = Acquire;
    /// Both sides of the quick release's agreement, in a checker's world.
    FUTEX_AGREE = SeqCst;
}

const LOCKED: u32 = 1;
const PARKED: u32 = 2;
const WOKEN: u32 = 4;
const GRANTED: u32 = 8;
const STAMP: u32 = !0xff;

/// In `mode`.
const QUICK: u32 = 1;

/// How long bargers pass sleepers before one of those is handed the lock.
pub const PATIENCE_NANOSECONDS: u64 = 500_000;

/// There is one class of sleepers.
const CLASS: u32 = 1;

/// Bytes of nodes that an acquisition takes beside its context.
pub(crate) const NODE_BYTES: usize = 0;

/// The lock; all zero when new.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Futex {
    word: AtomicU32,
    mode: AtomicU32,
}

/// The time, as a stamp.
fn stamp() -> u32 {
    (now() >> 8) as u32 & STAMP
}

/// Whether the patience that began at a word's stamp is over.
fn is_over(word: u32) -> bool {
    stamp().wrapping_sub(word & STAMP) >= (PATIENCE_NANOSECONDS >> 8) as u32 & STAMP
}

impl Futex {
    constructor! {
        /// A free lock.
        #[must_use]
        pub fn new() -> Self {
            Self {
                word: AtomicU32::new(0),
                mode: AtomicU32::new(0),
            }
        }
    }

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

    /// Releases a lock without marks, as [`acquire_alone`](Self::acquire_alone)
    /// took it; false if it has some.
    #[inline(always)]
    pub fn release_alone(&self) -> bool {
        let unmarked = self.word.load(Order::RELAXED) == LOCKED;
        if unmarked {
            self.word.store(0, Order::RELAXED);
        }
        unmarked
    }

    fn exchange(&self, old: u32, new: u32, order: Order) -> bool {
        self.word
            .compare_exchange(old, new, order, Order::RELAXED)
            .is_ok()
    }

    /// Waits for a lock that was not free at the first look.
    #[cold]
    #[inline(never)]
    fn acquire_contended(&self, patience: &Patience) -> Outcome {
        let mut spinner = Spinner::new();
        let mut slept = false;
        // Whether this thread is the one that `WOKEN` speaks of.
        let mut woken = false;
        loop {
            let word = self.word.load(Order::RELAXED);
            if word & LOCKED == 0 {
                if self.take(word, woken) {
                    return Outcome::Acquired;
                }
                continue;
            }
            if word & GRANTED != 0 && slept {
                if self.accept(word, woken) {
                    return Outcome::Acquired;
                }
                continue;
            }
            if patience.deadline().is_some_and(expired) {
                if woken {
                    self.pass_wake_on();
                }
                return Outcome::GaveUp;
            }
            if spinner.step() == Advice::Again {
                continue;
            }
            slept = true;
            if word & GRANTED != 0 || !self.park_on(word) {
                continue;
            }
            let marked = marked(word);
            woken = sleep_on(&self.word, marked, CLASS, patience.deadline()) == Slept::Woken;
            spinner = Spinner::new();
        }
    }

    /// Takes a free lock whose word may have marks.
    fn take(&self, word: u32, woken: bool) -> bool {
        let mut taken = word | LOCKED;
        if woken {
            taken &= !WOKEN;
        }
        // The marks were cleared since it was woken, perhaps too soon for another
        // thread that had just fallen asleep.
        let restores = woken && word & PARKED == 0 && !mutant("futex.forget-others");
        if restores {
            taken |= PARKED | stamp();
        }
        let takes = self.exchange(word, taken, FUTEX_TAKE_LATE);
        if takes && restores && !mutant("futex.take-quick") {
            self.be_attentive();
        }
        takes
    }

    /// Takes a lock that was handed over.
    fn accept(&self, word: u32, woken: bool) -> bool {
        let accepted = word & !(GRANTED | if woken { WOKEN } else { 0 });
        self.exchange(word, accepted, FUTEX_ACCEPT)
    }

    /// Marks a held lock's word for a thread that will sleep on it; false if it
    /// has to look again.
    fn park_on(&self, word: u32) -> bool {
        let marked = marked(word);
        if word != marked && !self.exchange(word, marked, FUTEX_MARK) {
            return false;
        }
        let mode = self.mode.load(Order::RELAXED);
        if mode & QUICK != 0 && !mutant("futex.mark-and-hope") {
            self.call_off(mode);
            return false;
        }
        true
    }

    /// Before a woken thread leaves without the lock: somebody else is woken, by
    /// the next release or here.
    fn pass_wake_on(&self) {
        if mutant("futex.swallow-wake") {
            return;
        }
        loop {
            let word = self.word.load(Order::RELAXED);
            if word & LOCKED == 0 {
                if self.exchange(word, word & !WOKEN, FUTEX_MARK) {
                    wake(&raw const self.word, 1, CLASS);
                    return;
                }
            } else if word & GRANTED != 0 || self.park_on(word) {
                // A grant's taker finds `PARKED`, as the next releaser here does.
                return;
            }
        }
    }

    /// Releases by an exchange.
    #[inline(never)]
    fn release_attentive(&self, mode: u32) {
        if is_long_quiet() {
            self.become_quick(mode);
        } else if !self.exchange(LOCKED, 0, FUTEX_RELEASE) {
            self.release_marked();
        }
    }

    /// Releases a lock whose word has marks.
    #[cold]
    #[inline(never)]
    fn release_marked(&self) {
        loop {
            let word = self.word.load(Order::RELAXED);
            if word & PARKED != 0 && is_over(word) {
                if self.hand_over(word) {
                    return;
                }
                continue;
            }
            let wakes = word & (PARKED | WOKEN) == PARKED;
            let free = (word & !LOCKED) | if wakes { WOKEN } else { 0 };
            if self.exchange(word, free, FUTEX_RELEASE_MARKED) {
                if wakes && !mutant("futex.forget-wake") {
                    self.wake_one();
                }
                return;
            }
        }
    }

    /// Wakes the sleeper that `WOKEN` already announces; if there is none, clears
    /// the marks.
    fn wake_one(&self) {
        if wake(&raw const self.word, 1, CLASS) == 0 {
            self.clear_marks();
        }
    }

    /// Nobody was asleep a moment ago.
    #[cold]
    fn clear_marks(&self) {
        loop {
            let word = self.word.load(Order::RELAXED);
            if word & WOKEN == 0 {
                // Somebody has gone to sleep since, and overwritten it.
                return;
            }
            if self.exchange(word, word & (LOCKED | GRANTED), Order::RELAXED) {
                break;
            }
        }
        // Who fell asleep between the two did so on marks that are gone.
        if !mutant("futex.clear-and-go") {
            wake(&raw const self.word, 1, CLASS);
        }
    }

    /// Releases to a sleeper; false if the lock is still the caller's.
    #[cold]
    fn hand_over(&self, word: u32) -> bool {
        let granted = LOCKED | PARKED | WOKEN | GRANTED | stamp();
        if !self.exchange(word, granted, FUTEX_GRANT) {
            return false;
        }
        if wake(&raw const self.word, 1, CLASS) > 0 {
            return true;
        }
        // Nobody sleeps.  Take the grant back unless somebody accepted it.
        loop {
            let word = self.word.load(Order::RELAXED);
            if word & GRANTED == 0 {
                return true;
            }
            if self.exchange(word, word & !GRANTED, FUTEX_ACCEPT) {
                self.clear_marks();
                return false;
            }
        }
    }

    /// Ends a quick time from a waiter's side: afterwards every release heeds
    /// marks, and the word shows every release that did not.
    #[cold]
    fn call_off(&self, mode: u32) {
        // A failure means that another waiter has done it.
        let _ =
            self.mode
                .compare_exchange(mode, mode.wrapping_add(1), Order::RELAXED, Order::RELAXED);
        if !mutant("futex.no-barrier") {
            fence_everywhere(FUTEX_AGREE);
        }
        // A waiter that found the time over before the barrier may have slept on
        // a mark that a quick release was wiping out.
        if !mutant("futex.call-off-alone") {
            wake(&raw const self.word, 1, CLASS);
        }
    }

    /// Ends a quick time from the holder's side: no quick release can be under
    /// way but its own.
    #[cold]
    fn be_attentive(&self) {
        let mode = self.mode.load(Order::RELAXED);
        if mode & QUICK != 0 {
            // A failure means that a waiter has done it.
            let _ = self.mode.compare_exchange(
                mode,
                mode.wrapping_add(1),
                Order::RELAXED,
                Order::RELAXED,
            );
        }
    }

    /// Releases, and from here on does so quickly, if there are no marks.
    #[cold]
    fn become_quick(&self, mode: u32) {
        let _ = self
            .mode
            .compare_exchange(mode, mode | QUICK, Order::RELAXED, Order::RELAXED);
        if !self.exchange(LOCKED, 0, FUTEX_RELEASE) {
            self.be_attentive();
            self.release_marked();
        }
    }

    /// After a quick release that may have wiped out a mark.
    #[cold]
    #[inline(never)]
    fn answer_lost_mark(&self) {
        if !mutant("futex.lost-mark") {
            wake(&raw const self.word, 1, CLASS);
        }
    }
}

/// The word that a thread sleeps on.
fn marked(word: u32) -> u32 {
    let since = if word & PARKED != 0 {
        word & STAMP
    } else {
        stamp()
    };
    LOCKED | PARKED | since
}

// SAFETY: `LOCKED` is set by one exchange of a word without it, or handed over with
// `GRANTED`, which one thread clears; each acquires what the release released.
unsafe impl RawLock for Futex {
    type Context = ();

    #[inline(always)]
    fn acquire(&self, (): &()) {
        if !self.exchange(0, LOCKED, FUTEX_TAKE) {
            let _ = self.acquire_contended(&Patience::ENDLESS);
        }
    }

    #[inline(always)]
    unsafe fn release(&self, (): &()) {
        let mode = self.mode.load(Order::RELAXED);
        if mode & QUICK != 0 {
            self.word.store(0, FUTEX_RELEASE_QUICK);
            fence_here(FUTEX_AGREE);
            if self.mode.load(Order::RELAXED) != mode {
                self.answer_lost_mark();
            }
        } else {
            self.release_attentive(mode);
        }
    }

    #[inline]
    fn is_locked(&self) -> bool {
        self.word.load(Order::RELAXED) & LOCKED != 0
    }
}

// SAFETY: as `acquire`.
unsafe impl RawTry for Futex {
    #[inline(always)]
    fn try_acquire(&self, (): &()) -> bool {
        let mut word = 0;
        loop {
            match self
                .word
                .compare_exchange(word, word | LOCKED, FUTEX_TAKE, Order::RELAXED)
            {
                Ok(_) => return true,
                Err(now) if now & LOCKED != 0 => return false,
                Err(now) => word = now,
            }
        }
    }
}

// SAFETY: a thread that gives up holds no grant: it accepts one that it sees after
// it was woken, and the releaser takes back one that woke nobody.
unsafe impl Abortable for Futex {
    #[inline]
    fn acquire_within(&self, (): &(), patience: &Patience) -> Outcome {
        if self.exchange(0, LOCKED, FUTEX_TAKE) {
            return Outcome::Acquired;
        }
        self.acquire_contended(patience)
    }
}

// SAFETY: release reads and writes the lock alone.
unsafe impl ThreadOblivious for Futex {}

// SAFETY: waiters leave marks only.
unsafe impl Inherit for Futex {
    unsafe fn inherit(&self, holder: Option<&()>) {
        let word = if holder.is_some() { LOCKED } else { 0 };
        // Written last by this process's own threads, if at all, so any mode is
        // good: no release is under way.
        self.word.store(word, Order::RELAXED);
    }
}
