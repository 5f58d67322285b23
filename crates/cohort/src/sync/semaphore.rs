//! `Semaphore`: a number of permits.
//!
//! | field | written by | meaning |
//! |---|---|---|
//! | `free` | threads that take or return permits, under its lock | the number of permits that no thread has |
//! | `returned` | threads that wait for a permit, and that return one | the waiting threads |
//!
//! A returned permit is for anyone: a thread that arrives may take it before the notified waiter
//! does, which then waits again. The arrival returns the permit in turn, and notifies again; so no
//! permit is free while a waiter sleeps unnotified.

use crate::door::{constructor, flaws, mutant};
use crate::sync::condvar::{Condvar, waits_while};
use crate::sync::mutex::{Mutex, patience};
use cohort_raw::Patience;
use core::fmt;
use core::mem;
use core::panic::RefUnwindSafe;
use core::time::Duration;

flaws! {
    /// A returned permit is announced to no waiter.
    FORGET_WAITERS = "semaphore.forget-waiters";
    /// Several permits are announced to one waiter.
    NOTIFY_ONE = "semaphore.notify-one";
    /// A thread takes a permit although none is free.
    TAKE_MORE = "semaphore.take-more";
}

/// A number of permits: at most so many threads are at once in the code that they guard.
///
/// Waiters are notified by real-time priority, FIFO among equals. A thread that arrives may take the
/// permit before the notified waiter does, which then waits again, behind all others.
///
/// ```
/// use cohort::Semaphore;
/// use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
///
/// static CONNECTIONS: Semaphore = Semaphore::new(2);
/// static OPEN: AtomicU32 = AtomicU32::new(0);
///
/// std::thread::scope(|scope| {
///     for _ in 0..4 {
///         scope.spawn(|| {
///             let _permit = CONNECTIONS.acquire();
///             assert!(OPEN.fetch_add(1, SeqCst) < 2);
///             OPEN.fetch_sub(1, SeqCst);
///         });
///     }
/// });
/// assert_eq!(CONNECTIONS.available(), 2);
/// ```
pub struct Semaphore {
    free: Mutex<usize>,
    returned: Condvar,
}

// A panic leaves the number of permits whole.
impl RefUnwindSafe for Semaphore {}

/// A permit of a [`Semaphore`]; returned when dropped. Any thread may drop it.
///
/// ```
/// use cohort::{Semaphore, SemaphorePermit};
///
/// let semaphore = Semaphore::new(1);
/// let permit: SemaphorePermit<'_> = semaphore.acquire();
/// assert!(semaphore.try_acquire().is_none());
/// drop(permit);
/// assert!(semaphore.try_acquire().is_some());
/// ```
#[must_use = "the permit is returned as soon as it is dropped"]
#[derive(Debug)]
pub struct SemaphorePermit<'a> {
    of: &'a Semaphore,
}

impl Semaphore {
    constructor! {
        /// Creates a semaphore with so many free permits.
        ///
        /// ```
        /// static CONNECTIONS: cohort::Semaphore = cohort::Semaphore::new(2);
        /// assert_eq!(CONNECTIONS.available(), 2);
        /// ```
        #[must_use]
        pub fn new(permits: usize) -> Self {
            Self {
                free: Mutex::new(permits),
                returned: Condvar::new(),
            }
        }
    }

    /// The number of permits that were free a moment ago. Blocks for as long as another thread takes
    /// or returns one.
    ///
    /// ```
    /// let semaphore = cohort::Semaphore::new(1);
    /// let permit = semaphore.acquire();
    /// assert_eq!(semaphore.available(), 0);
    /// # drop(permit);
    /// ```
    pub fn available(&self) -> usize {
        self.free.locking(|free| *free)
    }

    /// Blocks until a permit is free, and takes it.
    ///
    /// ```
    /// let semaphore = cohort::Semaphore::new(1);
    /// let permit = semaphore.acquire();
    /// std::thread::scope(|scope| {
    ///     let other = scope.spawn(|| drop(semaphore.acquire()));
    ///     drop(permit);
    ///     other.join().unwrap();
    /// });
    /// ```
    pub fn acquire(&self) -> SemaphorePermit<'_> {
        let permit = self.acquire_within(&Patience::ENDLESS);
        permit.unwrap_or_else(|| unreachable!("the patience is endless"))
    }

    /// Takes a permit if one is free. Blocks for as long as another thread takes or returns one.
    ///
    /// ```
    /// let semaphore = cohort::Semaphore::new(1);
    /// let permit = semaphore.try_acquire();
    /// assert!(permit.is_some());
    /// assert!(semaphore.try_acquire().is_none());
    /// ```
    pub fn try_acquire(&self) -> Option<SemaphorePermit<'_>> {
        let taken = self.free.locking(take);
        taken.then(|| SemaphorePermit { of: self })
    }

    /// Blocks until a permit is free and takes it, or until patience runs out. A free permit is
    /// taken even then.
    ///
    /// ```
    /// use cohort::{Patience, Semaphore, Token};
    ///
    /// let (semaphore, stop) = (Semaphore::new(0), Token::new());
    /// stop.cancel();
    /// assert!(semaphore.acquire_within(&Patience::ENDLESS.unless(&stop)).is_none());
    /// semaphore.add(1);
    /// assert!(semaphore.acquire_within(&Patience::ENDLESS.unless(&stop)).is_some());
    /// ```
    pub fn acquire_within(&self, patience: &Patience) -> Option<SemaphorePermit<'_>> {
        let mut free = self.free.lock();
        waits_while(
            &mut free,
            |free| *free == 0,
            |free| self.returned.wait_within(free, patience),
        );
        take(&mut free).then(|| SemaphorePermit { of: self })
    }

    /// [`acquire_within`](Self::acquire_within), with a timeout.
    ///
    /// ```
    /// use cohort::Semaphore;
    /// use std::time::Duration;
    ///
    /// let semaphore = Semaphore::new(1);
    /// let permit = semaphore.try_acquire_for(Duration::from_millis(1));
    /// assert!(permit.is_some());
    /// assert!(semaphore.try_acquire_for(Duration::from_millis(1)).is_none());
    /// ```
    pub fn try_acquire_for(&self, timeout: Duration) -> Option<SemaphorePermit<'_>> {
        self.acquire_within(&patience(timeout))
    }

    /// Adds free permits, and notifies as many waiters.
    ///
    /// # Panics
    /// If more than `usize::MAX` would be free.
    ///
    /// ```
    /// let semaphore = cohort::Semaphore::new(0);
    /// semaphore.add(2);
    /// assert_eq!(semaphore.available(), 2);
    /// ```
    ///
    /// A permit dropped beyond that number is lost instead:
    ///
    /// ```
    /// let semaphore = cohort::Semaphore::new(usize::MAX);
    /// let permit = semaphore.acquire();
    /// semaphore.add(1);
    /// drop(permit);
    /// assert_eq!(semaphore.available(), usize::MAX);
    /// ```
    pub fn add(&self, permits: usize) {
        self.free.locking(|free| {
            let sum = free.checked_add(permits);
            *free = sum.expect("a semaphore has at most `usize::MAX` permits");
        });
        self.notify(permits);
    }

    /// Notifies waiters of that many free permits.
    fn notify(&self, permits: usize) {
        let most = if mutant(flaw::NOTIFY_ONE) { 1 } else { permits };
        for _ in 0..permits.min(most) {
            if mutant(flaw::FORGET_WAITERS) || !self.returned.notify_one() {
                break;
            }
        }
    }
}

/// Takes a permit if one is free.
fn take(free: &mut usize) -> bool {
    let is_free = *free > 0 || mutant(flaw::TAKE_MORE);
    *free = free.saturating_sub(usize::from(is_free));
    is_free
}

impl SemaphorePermit<'_> {
    /// Keeps the permit for ever: the semaphore has one less.
    ///
    /// ```
    /// let semaphore = cohort::Semaphore::new(2);
    /// semaphore.acquire().forget();
    /// assert_eq!(semaphore.available(), 1);
    /// ```
    pub fn forget(self) {
        mem::forget(self);
    }
}

impl Drop for SemaphorePermit<'_> {
    fn drop(&mut self) {
        self.of.free.locking(|free| *free = free.saturating_add(1));
        self.of.notify(1);
    }
}

impl fmt::Debug for Semaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Semaphore")
            .field("available", &self.available())
            .finish()
    }
}
