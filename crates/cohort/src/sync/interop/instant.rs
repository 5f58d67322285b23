//! Deadlines on the standard library's clock (feature `std`).

extern crate std;

use crate::sync::condvar::{Condvar, WaitTimeoutResult};
use crate::sync::mutex::{Mutex, MutexGuard};
use crate::sync::reentrant::{ReentrantMutex, ReentrantMutexGuard};
use crate::sync::rwlock::{ReadGuard, RwLock, UpgradableGuard, WriteGuard};
use cohort_raw::{Abortable, RawLock, ThreadOblivious};
use core::time::Duration;
use std::time::Instant;

/// Returns the time left until the deadline.
pub(super) fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}

impl<T: ?Sized, L: RawLock + ThreadOblivious + Abortable> Mutex<T, L> {
    /// Blocks until the mutex is locked or the deadline passes (feature `std`).
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    ///
    /// let total = cohort::Mutex::new(1);
    /// let guard = total.lock();
    /// assert!(total.try_lock_until(Instant::now() + Duration::from_millis(1)).is_none());
    /// ```
    pub fn try_lock_until(&self, deadline: Instant) -> Option<MutexGuard<'_, T, L>> {
        self.try_lock_for(left(deadline))
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Blocks until the data may be read or the deadline passes (feature `std`).
    ///
    /// ```
    /// use std::time::Instant;
    ///
    /// let total = cohort::RwLock::new(1);
    /// let guard = total.read();
    /// assert!(total.try_read_until(Instant::now()).is_some());
    /// assert!(total.try_write_until(Instant::now()).is_none());
    /// ```
    pub fn try_read_until(&self, deadline: Instant) -> Option<ReadGuard<'_, T>> {
        self.try_read_for(left(deadline))
    }

    /// Blocks until the data may be written or the deadline passes (feature `std`).
    ///
    /// ```
    /// let total = cohort::RwLock::new(1);
    /// *total.try_write_until(std::time::Instant::now()).unwrap() += 1;
    /// assert_eq!(*total.read(), 2);
    /// ```
    pub fn try_write_until(&self, deadline: Instant) -> Option<WriteGuard<'_, T>> {
        self.try_write_for(left(deadline))
    }

    /// Blocks until the data may be read, by an upgradable guard, or the deadline passes (feature
    /// `std`).
    ///
    /// ```
    /// use std::time::Instant;
    ///
    /// let total = cohort::RwLock::new(1);
    /// let guard = total.upgradable_read();
    /// assert!(total.try_upgradable_read_until(Instant::now()).is_none());
    /// # drop(guard);
    /// ```
    pub fn try_upgradable_read_until(&self, deadline: Instant) -> Option<UpgradableGuard<'_, T>> {
        self.try_upgradable_read_for(left(deadline))
    }
}

impl<'a, T: ?Sized> UpgradableGuard<'a, T> {
    /// Blocks until all other readers have left or the deadline passes (feature `std`).
    ///
    /// # Errors
    /// The guard, if other readers are left at the deadline.
    ///
    /// ```
    /// use cohort::{RwLock, UpgradableGuard};
    /// use std::time::Instant;
    ///
    /// let total = RwLock::new(1);
    /// let seen = total.upgradable_read();
    /// assert!(UpgradableGuard::try_upgrade_until(seen, Instant::now()).is_ok());
    /// ```
    pub fn try_upgrade_until(this: Self, deadline: Instant) -> Result<WriteGuard<'a, T>, Self> {
        Self::try_upgrade_for(this, left(deadline))
    }

    /// Blocks until all other readers have left, and runs `change` on the data; gives up at the
    /// deadline (feature `std`).
    ///
    /// ```
    /// use cohort::{RwLock, UpgradableGuard};
    /// use std::time::Instant;
    ///
    /// let total = RwLock::new(1);
    /// let mut seen = total.upgradable_read();
    /// let now = Instant::now();
    /// UpgradableGuard::try_with_upgraded_until(&mut seen, now, |total| *total += 1).unwrap();
    /// assert_eq!(*seen, 2);
    /// ```
    pub fn try_with_upgraded_until<R>(
        this: &mut Self,
        deadline: Instant,
        change: impl FnOnce(&mut T) -> R,
    ) -> Option<R> {
        Self::try_with_upgraded_for(this, left(deadline), change)
    }
}

impl<T: ?Sized, L: RawLock + ThreadOblivious + Abortable> ReentrantMutex<T, L> {
    /// Blocks until the mutex is locked or the deadline passes (feature `std`).
    ///
    /// ```
    /// let total = cohort::ReentrantMutex::new(1);
    /// assert!(total.try_lock_until(std::time::Instant::now()).is_some());
    /// ```
    pub fn try_lock_until(&self, deadline: Instant) -> Option<ReentrantMutexGuard<'_, T, L>> {
        self.try_lock_for(left(deadline))
    }
}

impl Condvar {
    /// Unlocks the mutex, blocks until the thread is notified or the deadline passes, and locks the
    /// mutex again (feature `std`).
    ///
    /// ```
    /// use cohort::{Condvar, Mutex};
    /// use std::time::Instant;
    ///
    /// let (mutex, changed) = (Mutex::new(()), Condvar::new());
    /// assert!(changed.wait_until(&mut mutex.lock(), Instant::now()).timed_out());
    /// ```
    pub fn wait_until<T: ?Sized, L: RawLock + 'static>(
        &self,
        guard: &mut MutexGuard<'_, T, L>,
        deadline: Instant,
    ) -> WaitTimeoutResult {
        self.wait_for(guard, left(deadline))
    }

    /// Waits while `goes_on`, evaluated under the mutex, returns true, and until the deadline at
    /// most (feature `std`).
    ///
    /// ```
    /// use cohort::{Condvar, Mutex};
    /// use std::time::Instant;
    ///
    /// let (ready, changed) = (Mutex::new(false), Condvar::new());
    /// let end = changed.wait_while_until(&mut ready.lock(), |ready| !*ready, Instant::now());
    /// assert!(end.timed_out());
    /// ```
    pub fn wait_while_until<T: ?Sized, L: RawLock + 'static>(
        &self,
        guard: &mut MutexGuard<'_, T, L>,
        goes_on: impl FnMut(&mut T) -> bool,
        deadline: Instant,
    ) -> WaitTimeoutResult {
        self.wait_while_for(guard, goes_on, left(deadline))
    }
}
