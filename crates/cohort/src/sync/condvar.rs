//! `Condvar`: a condition variable for a [`Mutex`](crate::Mutex) under any lock.

use crate::door::recorder::{self, Doing, How};
use crate::numa::FutexHmcs;
use crate::support::condvar::{RawCondvar, Waited};
use crate::support::heed::heeding;
use crate::sync::mutex::{MutexGuard, patience};
use cohort_raw::{Patience, RawLock};
use core::any::Any;
use core::fmt;
use core::ops::DerefMut;
use core::ptr;
use core::time::Duration;

/// Repeats `wait` while `goes_on` is true of the guarded data, or until a wait times out.
pub(crate) fn waits_while<G: DerefMut>(
    guard: &mut G,
    mut goes_on: impl FnMut(&mut G::Target) -> bool,
    mut wait: impl FnMut(&mut G) -> WaitTimeoutResult,
) -> WaitTimeoutResult {
    while goes_on(&mut **guard) {
        if wait(guard).timed_out() {
            return WaitTimeoutResult(goes_on(&mut **guard));
        }
    }
    WaitTimeoutResult(false)
}

/// A condition variable: threads wait until the data of a [`Mutex`](crate::Mutex) has changed.
/// Twenty bytes; waiters are notified by real-time priority, FIFO among equals.
///
/// It works with every lock, and with several mutexes at a time. Under the default lock, a waiter
/// notified by its mutex's holder sleeps until the unlock. If it is the only one notified, and slept
/// on another CPU, it is woken at once.
///
/// ```
/// use cohort::{Condvar, Mutex};
///
/// static READY: Mutex<bool> = Mutex::new(false);
/// static CHANGED: Condvar = Condvar::new();
///
/// std::thread::scope(|scope| {
///     scope.spawn(|| {
///         *READY.lock() = true;
///         CHANGED.notify_one();
///     });
///     let mut ready = READY.lock();
///     CHANGED.wait_while(&mut ready, |ready| !*ready);
///     assert!(*ready);
/// });
/// ```
///
/// Under a queue:
///
/// ```
/// use cohort::basic::Mcs;
/// use cohort::compose::Gated;
/// use cohort::{Condvar, Mutex};
///
/// let list: Mutex<Vec<u32>, Gated<Mcs>> = Mutex::from(Vec::new());
/// let filled = Condvar::new();
/// std::thread::scope(|scope| {
///     scope.spawn(|| {
///         list.lock().push(1);
///         filled.notify_all();
///     });
///     let mut list = list.lock();
///     filled.wait_while(&mut list, |list| list.is_empty());
///     assert_eq!(list.pop(), Some(1));
/// });
/// ```
#[derive(Default)]
pub struct Condvar {
    queue: RawCondvar,
}

/// The result of a wait with a limit.
///
/// ```
/// use cohort::{Condvar, Mutex, WaitTimeoutResult};
/// use std::time::Duration;
///
/// let (mutex, changed) = (Mutex::new(()), Condvar::new());
/// let soon = Duration::from_millis(1);
/// let end: WaitTimeoutResult = changed.wait_for(&mut mutex.lock(), soon);
/// assert!(end.timed_out());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitTimeoutResult(pub(crate) bool);

impl WaitTimeoutResult {
    /// Whether the wait timed out before a notification.
    ///
    /// ```
    /// use cohort::{Condvar, Mutex};
    /// use std::time::Duration;
    ///
    /// let (ready, changed) = (Mutex::new(true), Condvar::new());
    /// let (mut guard, soon) = (ready.lock(), Duration::from_millis(1));
    /// // Nothing is waited for if what it is about has happened.
    /// assert!(!changed.wait_while_for(&mut guard, |ready| !*ready, soon).timed_out());
    /// ```
    #[must_use]
    pub const fn timed_out(&self) -> bool {
        self.0
    }
}

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Condvar").finish_non_exhaustive()
    }
}

impl Condvar {
    crate::door::constructor! {
        /// A condition without waiters.
        ///
        /// ```
        /// static CHANGED: cohort::Condvar = cohort::Condvar::new();
        /// CHANGED.notify_all();
        /// ```
        #[must_use]
        pub fn new() -> Self {
            Self {
                queue: RawCondvar::new(),
            }
        }
    }

    /// Unlocks the mutex, blocks until the thread is notified, and locks the mutex again. Wake-ups
    /// can be spurious, so check the condition again, as [`wait_while`](Self::wait_while) does.
    ///
    /// ```
    /// use cohort::{Condvar, Mutex};
    ///
    /// let (ready, changed) = (Mutex::new(false), Condvar::new());
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| {
    ///         *ready.lock() = true;
    ///         changed.notify_one();
    ///     });
    ///     let mut guard = ready.lock();
    ///     while !*guard {
    ///         changed.wait(&mut guard);
    ///     }
    /// });
    /// ```
    pub fn wait<T: ?Sized, L: RawLock + 'static>(&self, guard: &mut MutexGuard<'_, T, L>) {
        let _ = self.wait_within(guard, &Patience::ENDLESS);
    }

    /// [`wait`](Self::wait) until patience runs out.
    ///
    /// ```
    /// use cohort::{Condvar, Mutex, Patience, Token};
    ///
    /// let (mutex, changed, stop) = (Mutex::new(()), Condvar::new(), Token::new());
    /// stop.cancel();
    /// let patience = Patience::ENDLESS.unless(&stop);
    /// assert!(changed.wait_within(&mut mutex.lock(), &patience).timed_out());
    /// ```
    pub fn wait_within<T: ?Sized, L: RawLock + 'static>(
        &self,
        guard: &mut MutexGuard<'_, T, L>,
        patience: &Patience,
    ) -> WaitTimeoutResult {
        let (lock, context) = MutexGuard::held(guard);
        let default: Option<&FutexHmcs> = (lock as &dyn Any).downcast_ref();
        // SAFETY: the guard holds the lock by that context and stays borrowed until the lock is
        // held by it again. All notifications are by the functions below.
        let wait = |patience: &Patience| unsafe {
            match default {
                Some(lock) => self.queue.wait_with(lock, patience),
                None => self.queue.wait_between(
                    || lock.release(context),
                    || lock.acquire(context),
                    patience,
                ),
            }
        };
        let doing = if patience.is_endless() && !patience.is_cancellable() {
            Doing::Condition
        } else {
            Doing::Timed
        };
        let [condition, object] = [ptr::from_ref(self).addr(), ptr::from_ref(lock).addr()];
        let mut waited = Waited::GaveUp;
        recorder::waiting(doing, How::Own, condition, object, || {
            waited = heeding(patience, wait)
        });
        WaitTimeoutResult(waited == Waited::GaveUp)
    }

    /// [`wait`](Self::wait) with a timeout.
    ///
    /// ```
    /// use cohort::{Condvar, Mutex};
    /// use std::time::Duration;
    ///
    /// let (mutex, changed) = (Mutex::new(()), Condvar::new());
    /// let mut guard = mutex.lock();
    /// assert!(changed.wait_for(&mut guard, Duration::from_millis(1)).timed_out());
    /// ```
    pub fn wait_for<T: ?Sized, L: RawLock + 'static>(
        &self,
        guard: &mut MutexGuard<'_, T, L>,
        timeout: Duration,
    ) -> WaitTimeoutResult {
        self.wait_within(guard, &patience(timeout))
    }

    /// Waits until `goes_on` returns false; the mutex is locked during each call.
    ///
    /// ```
    /// use cohort::{Condvar, Mutex};
    ///
    /// let (words, filled) = (Mutex::new(Vec::new()), Condvar::new());
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| {
    ///         words.lock().push("one");
    ///         filled.notify_one();
    ///     });
    ///     let mut words = words.lock();
    ///     filled.wait_while(&mut words, |words| words.is_empty());
    ///     assert_eq!(words.pop(), Some("one"));
    /// });
    /// ```
    pub fn wait_while<T: ?Sized, L: RawLock + 'static>(
        &self,
        guard: &mut MutexGuard<'_, T, L>,
        goes_on: impl FnMut(&mut T) -> bool,
    ) {
        let _ = self.wait_while_within(guard, goes_on, &Patience::ENDLESS);
    }

    /// [`wait_while`](Self::wait_while) until patience runs out.
    ///
    /// ```
    /// use cohort::{Condvar, Deadline, Mutex, Patience};
    ///
    /// let (ready, changed) = (Mutex::new(false), Condvar::new());
    /// let past = Patience::until(Deadline::monotonic(1));
    /// let end = changed.wait_while_within(&mut ready.lock(), |ready| !*ready, &past);
    /// assert!(end.timed_out());
    /// ```
    pub fn wait_while_within<T: ?Sized, L: RawLock + 'static>(
        &self,
        guard: &mut MutexGuard<'_, T, L>,
        goes_on: impl FnMut(&mut T) -> bool,
        patience: &Patience,
    ) -> WaitTimeoutResult {
        waits_while(guard, goes_on, |guard| self.wait_within(guard, patience))
    }

    /// [`wait_while`](Self::wait_while) with a timeout.
    ///
    /// ```
    /// use cohort::{Condvar, Mutex};
    /// use std::time::Duration;
    ///
    /// let (number, changed) = (Mutex::new(1), Condvar::new());
    /// let mut guard = number.lock();
    /// let soon = Duration::from_millis(1);
    /// assert!(changed.wait_while_for(&mut guard, |number| *number == 1, soon).timed_out());
    /// assert!(!changed.wait_while_for(&mut guard, |number| *number == 2, soon).timed_out());
    /// ```
    pub fn wait_while_for<T: ?Sized, L: RawLock + 'static>(
        &self,
        guard: &mut MutexGuard<'_, T, L>,
        goes_on: impl FnMut(&mut T) -> bool,
        timeout: Duration,
    ) -> WaitTimeoutResult {
        self.wait_while_within(guard, goes_on, &patience(timeout))
    }

    /// Its waiters.
    pub(crate) const fn queue(&self) -> &RawCondvar {
        &self.queue
    }

    /// Notifies the waiter of the highest real-time priority, FIFO among equals; false without a
    /// waiter.
    ///
    /// ```
    /// use cohort::{Condvar, Mutex};
    ///
    /// let (turns, changed) = (Mutex::new(0), Condvar::new());
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| changed.wait_while(&mut turns.lock(), |turns| *turns == 0));
    ///     *turns.lock() += 1;
    ///     changed.notify_one();
    /// });
    /// assert!(!changed.notify_one());
    /// ```
    pub fn notify_one(&self) -> bool {
        self.queue.notify_one()
    }

    /// Notifies all waiting threads; returns their number.
    ///
    /// ```
    /// use cohort::{Condvar, Mutex};
    ///
    /// let (over, changed) = (Mutex::new(false), Condvar::new());
    /// std::thread::scope(|scope| {
    ///     for _ in 0..2 {
    ///         scope.spawn(|| changed.wait_while(&mut over.lock(), |over| !*over));
    ///     }
    ///     *over.lock() = true;
    ///     changed.notify_all();
    /// });
    /// assert_eq!(changed.notify_all(), 0);
    /// ```
    pub fn notify_all(&self) -> usize {
        self.queue.notify_all()
    }
}
