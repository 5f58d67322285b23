//! Cancellation of waits: [`Token`].
//!
//! | field | written by | read by | meaning |
//! |---|---|---|---|
//! | `cancelled` | threads that cancel, holding `lock` | waiters, in each poll | waits are over |
//! | `first`, and a [`Sleeper`]'s fields | holders of `lock` | the same | waiters asleep or about to sleep, and the word on which each sleeps |
//!
//! **Waking sleepers.** A waiter sleeps on its lock's word, which only the lock wakes; so it
//! registers this word here first. The cancelling thread wakes the registered words again and again
//! until the list is empty: a waiter that is registered and not yet asleep misses a wake. Other
//! waiters on the word wake spuriously and check their locks.
//!
//! A sleep's entry is in its own frame, and leaves the list even if the sleep panics. A thread may
//! sleep within several tokens at once, or within one token several times; each has an entry.

use crate::basic::Futex;
use crate::door::{AtomicU32, Cell, Order, Spinner, constructor, flaws, mutant, orders, wake};
use crate::support::defer::Defer;
use cohort_raw::{Cancellation, RawLock};
use core::cell;
use core::fmt;
use core::ptr;

orders! {
    /// Publishes the writes before the cancellation to the cancelled waiters.
    TOKEN_CANCEL = Release;
    /// Reads them.
    TOKEN_CANCELLED = Acquire;
}

flaws! {
    FORGET_SLEEPERS = "token.forget-sleepers";
    WAKE_ONCE = "token.wake-once";
    FALL_ASLEEP_LATE = "token.fall-asleep-late";
}

/// All classes of sleepers.
const EVERY_CLASS: u32 = u32::MAX;

/// A flag by which one thread ends the waits of others, for good: they give up as at a deadline.
/// Awake waiters check it in their polls; sleeping waiters are woken.
///
/// Any number of waits, at any locks with abortable waiters, may be within
/// [`Patience`](crate::Patience)`::unless` of one token. A token is for the threads of one process:
/// a forked child makes its own.
///
/// ```
/// use cohort::{Mutex, Token};
///
/// let (total, stop) = (Mutex::new(1), Token::new());
/// let guard = total.lock();
/// std::thread::scope(|scope| {
///     let waits = scope.spawn(|| total.lock_unless(&stop).is_none());
///     stop.cancel();
///     assert!(waits.join().unwrap());
/// });
/// drop(guard);
/// // A cancelled wait is one attempt.
/// assert_eq!(total.lock_unless(&stop).map(|total| *total), Some(1));
/// ```
#[derive(Default)]
pub struct Token {
    lock: Futex,
    cancelled: AtomicU32,
    first: Cell<List>,
}

/// The sleepers; null: none.
struct List(*const Sleeper);

/// One sleep, in the frame of [`Cancellation::sleep`].
struct Sleeper {
    /// The address of the word on which the thread sleeps, or is about to sleep.
    word: usize,
    /// The next entry of the list, guarded by the list's lock.
    next: cell::Cell<*const Self>,
}

impl Default for List {
    fn default() -> Self {
        Self(ptr::null())
    }
}

// SAFETY: only the holder of the token's lock accesses the list and its entries. An entry stays
// until its own thread has unlinked it.
unsafe impl Send for Token {}
// SAFETY: as above.
unsafe impl Sync for Token {}

impl Token {
    constructor! {
        /// Creates a token that is not cancelled.
        ///
        /// ```
        /// static STOP: cohort::Token = cohort::Token::new();
        /// assert!(!STOP.is_cancelled());
        /// ```
        #[must_use]
        pub fn new() -> Self {
            Self {
                lock: Futex::new(),
                cancelled: AtomicU32::new(0),
                first: Cell::new(List(ptr::null())),
            }
        }
    }

    /// Ends all waits within this token, later ones too; idempotent. Blocks until the sleeping
    /// waiters are awake. Not for signal handlers.
    ///
    /// ```
    /// let (lock, stop) = (cohort::RwLock::new(1), cohort::Token::new());
    /// let guard = lock.write();
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| assert!(lock.read_unless(&stop).is_none()));
    ///     stop.cancel();
    /// });
    /// # drop(guard);
    /// ```
    pub fn cancel(&self) {
        let mut spinner = Spinner::new();
        while self.wake_sleepers() && !mutant(flaw::WAKE_ONCE) {
            spinner.turn();
        }
    }

    /// Returns whether the token has been cancelled. Never blocks.
    ///
    /// ```
    /// let stop = cohort::Token::new();
    /// stop.cancel();
    /// assert!(stop.is_cancelled());
    /// ```
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(TOKEN_CANCELLED) != 0
    }

    /// Runs `section` on the list under its lock.
    fn locked<R>(&self, section: impl FnOnce(&mut *const Sleeper) -> R) -> R {
        // SAFETY: the lock has no contexts, and does not move before the release, as this object
        // does not; it guards the list.
        unsafe {
            self.lock.acquire(&());
            let result = self.first.with_mut(|list| section(&mut (*list).0));
            self.lock.release(&());
            result
        }
    }

    /// Cancels, wakes registered sleepers once, and returns whether there were any.
    fn wake_sleepers(&self) -> bool {
        self.locked(|first| {
            self.cancelled.store(1, TOKEN_CANCEL);
            let mut at = *first;
            if mutant(flaw::FORGET_SLEEPERS) {
                at = ptr::null();
            }
            let some = !at.is_null();
            // SAFETY: in the list.
            while let Some(sleeper) = unsafe { at.as_ref() } {
                let word = ptr::without_provenance::<AtomicU32>(sleeper.word);
                wake(word, i32::MAX as u32, EVERY_CLASS);
                at = sleeper.next.get();
            }
            some
        })
    }

    /// Links the entry; false if the token is cancelled.
    fn enter(&self, sleeper: &Sleeper) -> bool {
        self.locked(|first| {
            if self.cancelled.load(Order::RELAXED) != 0 && !mutant(flaw::FALL_ASLEEP_LATE) {
                return false;
            }
            sleeper.next.set(*first);
            *first = sleeper;
            true
        })
    }

    /// Unlinks the entry.
    fn leave(&self, sleeper: &Sleeper) {
        self.locked(|first| {
            if ptr::eq(*first, sleeper) {
                *first = sleeper.next.get();
                return;
            }
            let mut at = *first;
            // SAFETY: as above.
            while let Some(before) = unsafe { at.as_ref() } {
                if ptr::eq(before.next.get(), sleeper) {
                    return before.next.set(sleeper.next.get());
                }
                at = before.next.get();
            }
        });
    }
}

impl Cancellation for Token {
    fn is_cancelled(&self) -> bool {
        Self::is_cancelled(self)
    }

    fn sleep(&self, word: usize, sleep: &mut dyn FnMut()) {
        let sleeper = Sleeper {
            word,
            next: cell::Cell::new(ptr::null()),
        };
        if self.enter(&sleeper) {
            let _last = Defer(|| self.leave(&sleeper));
            sleep();
        }
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token")
            .field("cancelled", &self.is_cancelled())
            .finish()
    }
}
