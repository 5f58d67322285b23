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
//! | `PARKED` | there may be sleepers | a waiter before it sleeps; a holder that found nobody to hand over to |
//! | `WOKEN` | a woken sleeper may be on its way, so releases wake nobody else | the releaser that wakes; the woken sleeper, or any that falls asleep |
//! | `GRANTED` | held by nobody: released to whichever sleeper accepts it | a releaser; the sleeper |
//! | `STAMP` | when the sleepers' present patience began, in units of 2¹⁶ ns | whoever sets `PARKED`; a hand-over |
//!
//! A word of 0 is a free lock without sleepers, and `LOCKED` alone a held one.  A
//! release wakes after the lock is free, since a thread woken while it is held would
//! wait again; only a hand-over, which must know that there is somebody, wakes just
//! before.
//!
//! Whatever releases the lock is the releaser's last touch of it: the next holder may
//! free its memory.  From then on the address is only a name to wake by.
//!
//! The marks of a parent process do no harm in a forked child: each waiter overwrites
//! `WOKEN` before it sleeps, and accepts a grant rather than sleep on it.
//!
//! **Quick releases.**  A lock that has long been quiet (`mode` is 1) is released by
//! a plain store.  That is safe because whoever wants to sleep first calls the quick
//! time off: it clears `mode`, raises the process's count of such calls, and passes a
//! barrier that every running thread takes part in.  A release from before the barrier
//! is seen by the sleeper, and a release after it finds the count raised and wakes all
//! sleepers, in case its store wiped out their mark.

use crate::door::{
    Advice, AtomicU32, Order, Slept, Spinner, calls_off, constructor, expired, fence_everywhere,
    fence_here, is_long_quiet, mutant, now, orders, sleep_on, wake,
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
    /// A releaser that finds the count raised finds the lock attentive too.
    FUTEX_CALL_OFF = Release;
    /// As above, from the releaser's side.
    FUTEX_CALLED_OFF = Acquire;
    /// Both sides of the quick release's agreement, in a checker's world.
    FUTEX_AGREE = SeqCst;
}

const LOCKED: u32 = 1;
const PARKED: u32 = 2;
const WOKEN: u32 = 4;
const GRANTED: u32 = 8;
const STAMP: u32 = !0xff;

/// Values of `mode`: how a holder releases.
const ATTENTIVE: u32 = 0;
const QUICK: u32 = 1;

/// How long bargers pass sleepers before one of those is handed the lock; less
/// than a unit of `STAMP` earlier, since the stamp is cut off.
pub const PATIENCE_NANOSECONDS: u64 = 500_000;

/// There is one class of sleepers.
const CLASS: u32 = 1;

/// As many sleepers as there are.
const EVERYBODY: u32 = i32::MAX as u32;

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
                // A wake-up that reached this thread goes on to another: the next
                // release sees the mark.
                if woken && !mutant("futex.swallow-wake") && !self.park_on(word) {
                    continue;
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
        let answered = if woken { word & !WOKEN } else { word };
        self.exchange(word, answered | LOCKED, FUTEX_TAKE_LATE)
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
        if self.mode.load(Order::RELAXED) == QUICK && !mutant("futex.mark-and-hope") {
            self.call_off();
            return false;
        }
        true
    }

    /// Releases by an exchange.
    #[inline(never)]
    fn release_attentive(&self) {
        if is_long_quiet() {
            self.become_quick();
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
                    wake(&raw const self.word, 1, CLASS);
                }
                return;
            }
        }
    }

    /// Releases to a sleeper; false if the lock is still the caller's.
    #[cold]
    fn hand_over(&self, word: u32) -> bool {
        let announced = LOCKED | PARKED | WOKEN | stamp();
        if !self.exchange(word, announced, Order::RELAXED) {
            return false;
        }
        if wake(&raw const self.word, 1, CLASS) == 0 {
            // Whoever falls asleep changes the word, so nobody has since.
            self.exchange(announced, LOCKED, Order::RELAXED);
            return false;
        }
        // The woken thread cannot sleep again or leave without changing the word,
        // so it is there to accept.
        self.exchange(announced, announced | GRANTED, FUTEX_GRANT)
    }

    /// Ends a quick time: afterwards every release heeds marks, and the word shows
    /// every release that did not.
    #[cold]
    fn call_off(&self) {
        self.mode.store(ATTENTIVE, Order::RELAXED);
        calls_off().fetch_add(1, FUTEX_CALL_OFF);
        if !mutant("futex.no-barrier") {
            fence_everywhere(FUTEX_AGREE);
        }
        // Waiters that found the time over before the barrier may have slept on
        // marks that a quick release was wiping out.
        if !mutant("futex.call-off-alone") {
            wake(&raw const self.word, EVERYBODY, CLASS);
        }
    }

    /// Releases, and from here on does so quickly, if there are no marks.
    #[cold]
    fn become_quick(&self) {
        self.mode.store(QUICK, Order::RELAXED);
        if !self.exchange(LOCKED, 0, FUTEX_RELEASE) {
            // Its maker may have seen the lock attentive, and sleep.
            if !mutant("futex.stay-quick") {
                self.mode.store(ATTENTIVE, Order::RELAXED);
            }
            self.release_marked();
        }
    }

    /// After a quick release that may have wiped out a mark: whoever slept on it
    /// looks again.
    #[cold]
    #[inline(never)]
    fn answer_lost_mark(word: *const AtomicU32) {
        if !mutant("futex.lost-mark") {
            wake(word, EVERYBODY, CLASS);
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
        let called_off = calls_off().load(FUTEX_CALLED_OFF);
        if self.mode.load(Order::RELAXED) == QUICK {
            let word = &raw const self.word;
            self.word.store(0, FUTEX_RELEASE_QUICK);
            fence_here(FUTEX_AGREE);
            if calls_off().load(Order::RELAXED) != called_off {
                Self::answer_lost_mark(word);
            }
        } else {
            self.release_attentive();
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

// SAFETY: a thread that gives up holds no grant: one that was woken marks the word
// first, and fails to if it has been granted meanwhile.
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
        // Any mode is good: no thread of this process is in a release.
        self.word.store(word, Order::RELAXED);
    }
}
