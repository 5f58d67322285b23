//! A word that ends waits: [`Token`].
//!
//! | field | written by | read by | meaning |
//! |---|---|---|---|
//! | `cancelled` | threads that cancel, holding `lock` | waiters, at each look | waits are over |
//! | `first`, and a [`Sleeper`]'s fields | holders of `lock` | the same | the waiters that sleep, or are about to, and the word on which each does |
//!
//! **Waking sleepers.**  A waiter sleeps on its lock's word, which knows of the lock's wakes alone;
//! so it says first on which.  The thread that cancels wakes that word, again and again until nobody is in
//! the list any more: a waiter that had entered the list, and had not fallen asleep yet, misses a
//! wake.  Others that sleep on the word look again, as after a wake that was somebody else's.
//!
//! A sleep has its entry in its own frame, which leaves the list also where the sleep panics.  A thread
//! sleeps within several tokens at once, or within one token several times, and each has an entry.

use crate::basic::Futex;
use crate::defer::Defer;
use crate::door::{AtomicU32, Cell, Order, Spinner, constructor, flaws, mutant, orders, wake};
use cohort_raw::{Cancellation, RawLock};
use core::cell;
use core::fmt;
use core::ptr;

orders! {
    /// What was done before cancelling is seen by the threads that it takes from their wait.
    TOKEN_CANCEL = Release;
    /// Sees it.
    TOKEN_CANCELLED = Acquire;
}

flaws! {
    FORGET_SLEEPERS = "token.forget-sleepers";
    WAKE_ONCE = "token.wake-once";
    FALL_ASLEEP_LATE = "token.fall-asleep-late";
}

/// All classes of sleepers.
const EVERY_CLASS: u32 = u32::MAX;

/// A word by which one thread ends the waits of others, for good: they give up as at a deadline.
/// Nobody asks for it meanwhile but threads that are awake and look at their lock anyway; those
/// that sleep are woken.
///
/// Any number of waits, at any locks with waiters that can give up, may be within
/// [`Patience`](crate::Patience)`::unless` of one token.  It is for the threads of one process: a
/// forked child makes its own.
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
    /// The address of the word on which the thread sleeps, or is about to.
    word: usize,
    /// The next of the list; the list's lock guards it.
    next: cell::Cell<*const Self>,
}

impl Default for List {
    fn default() -> Self {
        Self(ptr::null())
    }
}

// SAFETY: the thread that holds the token's lock alone touches the list and its entries, each of which stays
// until its own thread has taken it out.
unsafe impl Send for Token {}
// SAFETY: as above.
unsafe impl Sync for Token {}

impl Token {
    constructor! {
        /// One that has not been cancelled.
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

    /// Ends all waits within it, those that begin later too; once more does nothing more.  Blocks
    /// until each thread that sleeps in one is awake; not in a signal handler.
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

    /// Whether it has been cancelled.  Never blocks.
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

    /// Lets `section` have the list.
    fn locked<R>(&self, section: impl FnOnce(&mut *const Sleeper) -> R) -> R {
        // SAFETY: the lock has no contexts, and stays for the release, as this object does; it guards the
        // list.
        unsafe {
            self.lock.acquire(&());
            let result = self.first.with_mut(|list| section(&mut (*list).0));
            self.lock.release(&());
            result
        }
    }

    /// Whether there may be some that sleep on.
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

    /// Puts the entry into the list; false if waits are over.
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

    /// Takes it out again.
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
