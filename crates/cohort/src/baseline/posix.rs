//! `posix`: the mutex of the GNU C library, `PTHREAD_MUTEX_NORMAL`: a word with three values; a
//! waiter sleeps at once (Zhang et al. 2017 §2; Drepper, *Futexes Are Tricky*, gives the three
//! values).  `posix-adaptive`: `PTHREAD_MUTEX_ADAPTIVE_NP`, which first looks a number of times.
//!
//! **Not for** short sections under contention: a hand-over between threads that keep putting each
//! other to sleep costs two system calls and a context switch.  It serves as a comparison; `futex`
//! is the sleeping lock to use.
//!
//! | `word` | meaning | written by |
//! |---|---|---|
//! | `FREE` | free | the holder |
//! | `HELD` | held, no sleeper | an arrival that finds it free |
//! | `WAITED_FOR` | held, with possible sleepers | each waiter, before it sleeps and when it acquires |
//!
//! | `usual` | meaning | written by |
//! |---|---|---|
//! | n | about how many looks the adaptive kind took recently | its waiters, without synchronisation |
//!
//! It sleeps under any waiting policy of the process, by definition.

use crate::door::{
    AtomicU32, Order, Slept, Spinner, constructor, flaws, mutant, orders, sleep_within, wake,
};
use cohort_raw::{
    Abortable, Inherit, Outcome, Patience, RawLock, RawTry, ThreadOblivious, standalone,
};

orders! {
    /// Sees what the last holder did.
    POSIX_TAKE = Acquire;
    /// The same, for a waiter, which also marks that it waits.
    POSIX_TAKE_WAITING = Acquire;
    /// What this holder did is seen by the next.
    POSIX_RELEASE = Release;
}

flaws! {
    FORGET_WAKE = "posix.forget-wake";
}

const FREE: u32 = 0;
const HELD: u32 = 1;
const WAITED_FOR: u32 = 2;

/// There is one class of sleepers.
const CLASS: u32 = 1;

/// The lock; all zero when new.  A waiter looks up to `LOOKS` times before it sleeps.
///
/// ```
/// use cohort::{Mutex, baseline::Posix};
///
/// static TOTAL: Mutex<u64, Posix> = Mutex::from_raw(Posix::new(), 1);
/// *TOTAL.lock() += 1;
/// assert_eq!(*TOTAL.lock(), 2);
/// ```
#[derive(Debug, Default)]
#[repr(C)]
pub struct Posix<const LOOKS: u32 = 0> {
    word: AtomicU32,
    usual: AtomicU32,
}

impl<const LOOKS: u32> Posix<LOOKS> {
    constructor! {
        /// A free lock.
        #[must_use]
        pub fn new() -> Self {
            Self {
                word: AtomicU32::new(0),
                usual: AtomicU32::new(0),
            }
        }
    }
}

/// The adaptive kind, with glibc's default of `glibc.pthread.mutex_spin_count`.
///
/// ```
/// use cohort::{Mutex, baseline::PosixAdaptive};
///
/// let total: Mutex<u64, PosixAdaptive> = Mutex::from(1);
/// *total.lock() += 1;
/// assert_eq!(total.into_inner(), 2);
/// ```
pub type PosixAdaptive = Posix<100>;

impl<const LOOKS: u32> Posix<LOOKS> {
    /// Takes the word if it is free.
    #[inline]
    fn take(&self) -> bool {
        self.word
            .compare_exchange(FREE, HELD, POSIX_TAKE, Order::RELAXED)
            .is_ok()
    }

    /// Looks a bounded number of times, derived from the usual number; whether the lock was
    /// acquired.
    fn take_by_spinning(&self) -> bool {
        let usual = self.usual.load(Order::RELAXED);
        let most = LOOKS.min(2 * usual + 10);
        let mut looks = 0;
        let mut spinner = Spinner::new();
        let taken = loop {
            if looks >= most {
                break false;
            }
            looks += 1;
            spinner.spin();
            if self.word.load(Order::RELAXED) == FREE && self.take() {
                break true;
            }
        };
        // An eighth of the way from the usual number to the present one.
        let now = usual.wrapping_add_signed((looks.cast_signed() - usual.cast_signed()) / 8);
        self.usual.store(now, Order::RELAXED);
        taken
    }

    #[cold]
    fn acquire_contended(&self, patience: &Patience) -> Outcome {
        if LOOKS > 0 && self.take_by_spinning() {
            return Outcome::Acquired;
        }
        // A thread that has waited cannot know whether others still wait.
        while self.word.swap(WAITED_FOR, POSIX_TAKE_WAITING) != FREE {
            let slept = sleep_within(&self.word, WAITED_FOR, CLASS, patience);
            if slept == Slept::TimedOut {
                return Outcome::GaveUp;
            }
        }
        Outcome::Acquired
    }
}

// SAFETY: the word leaves `FREE` by one exchange, which acquires what the release
// released.
unsafe impl<const LOOKS: u32> RawLock for Posix<LOOKS> {
    type Context = ();

    #[inline]
    unsafe fn acquire(&self, (): &()) {
        if !self.take() {
            let _ = self.acquire_contended(&Patience::ENDLESS);
        }
    }

    #[inline]
    unsafe fn release(&self, (): &()) {
        let word = &raw const self.word;
        if self.word.swap(FREE, POSIX_RELEASE) == WAITED_FOR && !mutant(flaw::FORGET_WAKE) {
            // The word may already be reused; its address is a key.
            wake(word, 1, CLASS);
        }
    }

    fn is_locked(&self) -> bool {
        self.word.load(Order::RELAXED) != FREE
    }
}

standalone!([const LOOKS: u32] Posix<LOOKS>: Hosted { strict: false }, HighLock, Resumable);

// SAFETY: as `acquire`.
unsafe impl<const LOOKS: u32> RawTry for Posix<LOOKS> {
    #[inline]
    unsafe fn try_acquire(&self, (): &()) -> bool {
        self.take()
    }
}

// SAFETY: a waiter that gives up was not woken, and leaves the mark for other sleepers.
unsafe impl<const LOOKS: u32> Abortable for Posix<LOOKS> {
    #[inline]
    unsafe fn acquire_within(&self, (): &(), patience: &Patience) -> Outcome {
        if self.take() {
            return Outcome::Acquired;
        }
        self.acquire_contended(patience)
    }
}

// SAFETY: release reads and writes the lock alone.
unsafe impl<const LOOKS: u32> ThreadOblivious for Posix<LOOKS> {}

// SAFETY: waiters leave a mark only.
unsafe impl<const LOOKS: u32> Inherit for Posix<LOOKS> {
    unsafe fn inherit(&self, holder: Option<&()>) {
        let word = if holder.is_some() { HELD } else { FREE };
        self.word.store(word, Order::RELAXED);
    }
}
