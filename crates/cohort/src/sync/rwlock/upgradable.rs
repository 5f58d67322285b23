//! Reads of an [`RwLock`] that may become writes, and writes that become reads.

use super::reported::{changing, upgradable_reading, upgrading};
use super::{ReadGuard, RwLock, WriteGuard};
use crate::door::recorder::{Doing, How};
use crate::rwlock::TOO_MANY;
use crate::support::defer::Defer;
use crate::sync::mutex::patience;
use cohort_raw::{Outcome, Patience};
use core::fmt;
use core::marker::PhantomData;
use core::mem;
use core::ops::Deref;
use core::time::Duration;

/// Shared access to an [`RwLock`]'s data that can become exclusive, with no writer in between.
/// Ordinary readers may share the lock with it, but no other upgradable reader. Unlocks when
/// dropped, and stays in its thread.
///
/// ```
/// use cohort::{RwLock, UpgradableGuard};
///
/// let words = RwLock::new(vec!["one"]);
/// let seen = words.upgradable_read();
/// assert!(words.try_read().is_some() && words.try_upgradable_read().is_none());
/// if !seen.contains(&"two") {
///     UpgradableGuard::upgrade(seen).push("two");
/// }
/// assert_eq!(*words.read(), ["one", "two"]);
/// ```
#[must_use = "the lock is released as soon as its guard is dropped"]
pub struct UpgradableGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    /// Released by the thread that took it, since a thread's read locks may be counted.
    here: PhantomData<*const T>,
}

// SAFETY: it lends `&T`.
unsafe impl<T: ?Sized + Sync> Sync for UpgradableGuard<'_, T> {}

impl<T: ?Sized> RwLock<T> {
    fn upgradable(&self, taken: bool) -> Option<UpgradableGuard<'_, T>> {
        // A guard that is made is dropped, too.
        taken.then(|| UpgradableGuard {
            lock: self,
            here: PhantomData,
        })
    }

    /// Recreates a forgotten guard that reads upgradably.
    ///
    /// ```
    /// let total = cohort::RwLock::new(1);
    /// std::mem::forget(total.upgradable_read());
    /// // SAFETY: forgotten above, in this thread.
    /// drop(unsafe { total.make_upgradable_guard_unchecked() });
    /// assert!(!total.is_locked());
    /// ```
    ///
    /// # Safety
    /// The calling thread reads upgradably, and no guard stands for that.
    pub unsafe fn make_upgradable_guard_unchecked(&self) -> UpgradableGuard<'_, T> {
        UpgradableGuard {
            lock: self,
            here: PhantomData,
        }
    }

    /// Blocks until the data may be read, by a guard that can become a writer's. A thread that
    /// already reads must not call this: if another thread has such a guard and upgrades it, the
    /// two deadlock.
    ///
    /// Readers asleep when this guard is acquired may sleep on for up to 5 ms.
    ///
    /// # Panics
    /// If half a million read it already.
    ///
    /// ```
    /// use cohort::{RwLock, UpgradableGuard};
    ///
    /// let total = RwLock::new(1);
    /// let seen = total.upgradable_read();
    /// *UpgradableGuard::upgrade(seen) += 1;
    /// assert_eq!(*total.read(), 2);
    /// ```
    #[cfg_attr(observed, inline(always))]
    pub fn upgradable_read(&self) -> UpgradableGuard<'_, T> {
        let doing = Doing::ReadUpgradably;
        let taken = self.lock.begin_upgradable_read(doing, &Patience::ENDLESS);
        self.upgradable(taken)
            .unwrap_or_else(|| panic!("{TOO_MANY}"))
    }

    /// The same, if no writer holds the lock or waits ahead, and no other guard of this sort
    /// exists; never blocks.
    ///
    /// ```
    /// let total = cohort::RwLock::new(1);
    /// let guard = total.upgradable_read();
    /// assert!(total.try_upgradable_read().is_none());
    /// drop(guard);
    /// assert!(total.try_upgradable_read().is_some());
    /// ```
    #[cfg_attr(observed, inline(always))]
    pub fn try_upgradable_read(&self) -> Option<UpgradableGuard<'_, T>> {
        let read = || self.lock.try_read_upgradably();
        self.upgradable(upgradable_reading(&self.lock, Doing::Nothing, read))
    }

    /// The same, for at most `timeout`.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let total = cohort::RwLock::new(1);
    /// let guard = total.upgradable_read();
    /// assert!(total.try_upgradable_read_for(Duration::from_millis(1)).is_none());
    /// ```
    #[cfg_attr(observed, inline(always))]
    pub fn try_upgradable_read_for(&self, timeout: Duration) -> Option<UpgradableGuard<'_, T>> {
        let patience = patience(timeout);
        self.upgradable(self.lock.begin_upgradable_read(Doing::Timed, &patience))
    }
}

impl<'a, T: ?Sized> UpgradableGuard<'a, T> {
    /// Blocks until all other readers have released, then writes; no thread has written in between.
    /// No method, since the data may have one of that name.
    ///
    /// ```
    /// use cohort::{RwLock, UpgradableGuard};
    ///
    /// let total = RwLock::new(1);
    /// *UpgradableGuard::upgrade(total.upgradable_read()) += 1;
    /// assert_eq!(*total.read(), 2);
    /// ```
    #[cfg_attr(observed, inline(always))]
    pub fn upgrade(this: Self) -> WriteGuard<'a, T> {
        let lock = &this.lock.lock;
        upgrading(lock, Doing::Upgrade, || {
            // SAFETY: the guard reads upgradably.
            unsafe { lock.upgrade(&Patience::ENDLESS) == Outcome::Acquired }
        });
        Self::writer(this)
    }

    /// The same, if there are no other readers; never blocks.
    ///
    /// # Errors
    /// The guard, if there are other readers.
    ///
    /// ```
    /// use cohort::{RwLock, UpgradableGuard};
    ///
    /// let total = RwLock::new(1);
    /// let reader = total.read();
    /// let seen = UpgradableGuard::try_upgrade(total.upgradable_read()).unwrap_err();
    /// drop(reader);
    /// *UpgradableGuard::try_upgrade(seen).unwrap() += 1;
    /// assert_eq!(*total.read(), 2);
    /// ```
    #[cfg_attr(observed, inline(always))]
    pub fn try_upgrade(this: Self) -> Result<WriteGuard<'a, T>, Self> {
        let lock = &this.lock.lock;
        // SAFETY: the guard reads upgradably.
        if upgrading(lock, Doing::Nothing, || unsafe { lock.try_upgrade() }) {
            Ok(Self::writer(this))
        } else {
            Err(this)
        }
    }

    /// The same, for at most `timeout`.
    ///
    /// # Errors
    /// The guard, if other readers stay to the end.
    ///
    /// ```
    /// use cohort::{RwLock, UpgradableGuard};
    /// use std::time::Duration;
    ///
    /// let total = RwLock::new(1);
    /// let reader = total.read();
    /// let (seen, soon) = (total.upgradable_read(), Duration::from_millis(1));
    /// assert!(UpgradableGuard::try_upgrade_for(seen, soon).is_err());
    /// # drop(reader);
    /// ```
    #[cfg_attr(observed, inline(always))]
    pub fn try_upgrade_for(this: Self, timeout: Duration) -> Result<WriteGuard<'a, T>, Self> {
        let lock = &this.lock.lock;
        let patience = patience(timeout);
        let is_alone = upgrading(lock, Doing::Timed, || {
            // SAFETY: the guard reads upgradably.
            unsafe { lock.upgrade(&patience) == Outcome::Acquired }
        });
        if is_alone {
            Ok(Self::writer(this))
        } else {
            Err(this)
        }
    }

    /// Becomes an ordinary reader. Never blocks.
    ///
    /// ```
    /// use cohort::{RwLock, UpgradableGuard};
    ///
    /// let total = RwLock::new(1);
    /// let reader = UpgradableGuard::downgrade(total.upgradable_read());
    /// assert!(total.try_upgradable_read().is_some());
    /// assert_eq!(*reader, 1);
    /// ```
    pub fn downgrade(this: Self) -> ReadGuard<'a, T> {
        let lock = this.lock;
        mem::forget(this);
        changing(&lock.lock, How::OwnUpgradable, How::OwnRead, || {
            // SAFETY: the guard read upgradably.
            unsafe { lock.lock.end_upgradable() }
        });
        lock.reader()
    }

    /// Blocks until all other readers have released, runs `change` on the data, and reads on as
    /// before; no thread writes in between.
    ///
    /// ```
    /// use cohort::{RwLock, UpgradableGuard};
    ///
    /// let total = RwLock::new(1);
    /// let mut seen = total.upgradable_read();
    /// UpgradableGuard::with_upgraded(&mut seen, |total| *total += 1);
    /// assert!(*seen == 2 && total.try_read().is_some() && total.try_upgradable_read().is_none());
    /// ```
    #[cfg_attr(observed, inline(always))]
    pub fn with_upgraded<R>(this: &mut Self, change: impl FnOnce(&mut T) -> R) -> R {
        let lock = &this.lock.lock;
        upgrading(lock, Doing::Upgrade, || {
            // SAFETY: the guard reads upgradably.
            unsafe { lock.upgrade_for_a_while(&Patience::ENDLESS) == Outcome::Acquired }
        });
        // SAFETY: it writes for a while.
        unsafe { Self::change(this, change) }
    }

    /// The same, if there are no other readers; never blocks for them.
    ///
    /// ```
    /// use cohort::{RwLock, UpgradableGuard};
    ///
    /// let total = RwLock::new(1);
    /// let (mut seen, reader) = (total.upgradable_read(), total.read());
    /// let change = |total: &mut i32| *total += 1;
    /// assert!(UpgradableGuard::try_with_upgraded(&mut seen, change).is_none());
    /// drop(reader);
    /// assert!(UpgradableGuard::try_with_upgraded(&mut seen, change).is_some());
    /// assert_eq!(*seen, 2);
    /// ```
    pub fn try_with_upgraded<R>(this: &mut Self, change: impl FnOnce(&mut T) -> R) -> Option<R> {
        let lock = &this.lock.lock;
        // SAFETY: the guard reads upgradably.
        let upgrade = || unsafe { lock.try_upgrade_for_a_while() };
        let alone = upgrading(lock, Doing::Nothing, upgrade);
        // SAFETY: it writes for a while.
        alone.then(|| unsafe { Self::change(this, change) })
    }

    /// [`with_upgraded`](Self::with_upgraded), but waits at most `timeout` for other readers;
    /// `None` after that.
    ///
    /// ```
    /// use cohort::{RwLock, UpgradableGuard};
    /// use std::time::Duration;
    ///
    /// let total = RwLock::new(1);
    /// let (mut seen, reader) = (total.upgradable_read(), total.read());
    /// let soon = Duration::from_millis(1);
    /// let change = |total: &mut i32| *total += 1;
    /// assert!(UpgradableGuard::try_with_upgraded_for(&mut seen, soon, change).is_none());
    /// drop(reader);
    /// assert!(UpgradableGuard::try_with_upgraded_for(&mut seen, soon, change).is_some());
    /// assert_eq!(*seen, 2);
    /// ```
    pub fn try_with_upgraded_for<R>(
        this: &mut Self,
        timeout: Duration,
        change: impl FnOnce(&mut T) -> R,
    ) -> Option<R> {
        let lock = &this.lock.lock;
        let patience = patience(timeout);
        let alone = upgrading(lock, Doing::Timed, || {
            // SAFETY: the guard reads upgradably.
            unsafe { lock.upgrade_for_a_while(&patience) == Outcome::Acquired }
        });
        // SAFETY: it writes for a while.
        alone.then(|| unsafe { Self::change(this, change) })
    }

    /// Runs `change` on the data, and reads on.
    ///
    /// # Safety
    /// The guard has been upgraded for a while.
    unsafe fn change<R>(this: &mut Self, change: impl FnOnce(&mut T) -> R) -> R {
        let lock = this.lock;
        let _last = Defer(|| {
            changing(&lock.lock, How::OwnWrite, How::OwnUpgradable, || {
                // SAFETY: the caller's.
                unsafe { lock.lock.downgrade() }
            });
        });
        // SAFETY: the guard has exclusive access to the data.
        lock.data.with_mut(|data| change(unsafe { &mut *data }))
    }

    /// Runs `pause` without the lock, then blocks until the guard reads upgradably again, even
    /// while half a million readers hold the lock.
    ///
    /// ```
    /// use cohort::{RwLock, UpgradableGuard};
    ///
    /// let total = RwLock::new(1);
    /// let mut seen = total.upgradable_read();
    /// UpgradableGuard::unlocked(&mut seen, || *total.write() += 1);
    /// assert!(*seen == 2 && total.try_upgradable_read().is_none());
    /// ```
    pub fn unlocked<R>(this: &mut Self, pause: impl FnOnce() -> R) -> R {
        let lock = &this.lock.lock;
        // SAFETY: the guard reads upgradably, is borrowed, and is given back when it does again.
        unsafe { lock.end_upgradable_read() };
        let _last = Defer(|| lock.begin_upgradable_read_at_last());
        pause()
    }

    /// The same, with a release as by [`unlock_fair`](Self::unlock_fair).
    ///
    /// ```
    /// use cohort::{RwLock, UpgradableGuard};
    ///
    /// let total = RwLock::new(1);
    /// let mut seen = total.upgradable_read();
    /// UpgradableGuard::unlocked_fair(&mut seen, || *total.write() += 1);
    /// assert_eq!(*seen, 2);
    /// ```
    pub fn unlocked_fair<R>(this: &mut Self, pause: impl FnOnce() -> R) -> R {
        let lock = &this.lock.lock;
        // SAFETY: the guard reads upgradably, is borrowed, and is given back when it does again.
        unsafe { lock.end_upgradable_read_fair() };
        let _last = Defer(|| lock.begin_upgradable_read_at_last());
        pause()
    }

    /// Ends the read as [`ReadGuard::unlock_fair`] does. The first thread asleep until it may read
    /// upgradably is the next upgradable reader, before any arrival.
    ///
    /// ```
    /// use cohort::{RwLock, UpgradableGuard};
    ///
    /// let total = RwLock::new(1);
    /// UpgradableGuard::unlock_fair(total.upgradable_read());
    /// assert!(!total.is_locked());
    /// ```
    pub fn unlock_fair(this: Self) {
        let lock = this.lock;
        mem::forget(this);
        // SAFETY: the guard read upgradably, and stood for one of the readers.
        unsafe { lock.lock.end_upgradable_read_fair() };
    }

    /// Lets the lock's waiters acquire it, and blocks until the data may be read upgradably again.
    ///
    /// ```
    /// use cohort::{RwLock, UpgradableGuard};
    ///
    /// let total = RwLock::new(1);
    /// let mut seen = total.upgradable_read();
    /// UpgradableGuard::bump(&mut seen);
    /// assert!(total.try_upgradable_read().is_none());
    /// ```
    pub fn bump(this: &mut Self) {
        // A waiter at the gate leaves no mark in the word.
        Self::unlocked_fair(this, || ());
    }

    fn writer(this: Self) -> WriteGuard<'a, T> {
        let lock = this.lock;
        mem::forget(this);
        lock.writer()
    }
}

impl<'a, T: ?Sized> WriteGuard<'a, T> {
    /// Becomes an ordinary reader, with no other writer in between. Never blocks.
    ///
    /// ```
    /// use cohort::{RwLock, WriteGuard};
    ///
    /// let total = RwLock::new(1);
    /// let mut guard = total.write();
    /// *guard += 1;
    /// let reader = WriteGuard::downgrade(guard);
    /// assert_eq!((*reader, total.try_read().as_deref()), (2, Some(&2)));
    /// ```
    pub fn downgrade(this: Self) -> ReadGuard<'a, T> {
        let lock = this.lock;
        mem::forget(this);
        changing(&lock.lock, How::OwnWrite, How::OwnRead, || {
            // SAFETY: the guard was its writer's.
            unsafe { lock.lock.downgrade() }
        });
        lock.reader()
    }

    /// Becomes an upgradable reader, with no other writer in between. Never blocks.
    ///
    /// A later upgrade polls, up to 50 µs apart, until all other readers have released; a guard
    /// from [`RwLock::upgradable_read`] is woken instead.
    ///
    /// ```
    /// use cohort::{RwLock, UpgradableGuard, WriteGuard};
    ///
    /// let total = RwLock::new(1);
    /// let mut guard = total.write();
    /// *guard += 1;
    /// let seen = WriteGuard::downgrade_to_upgradable(guard);
    /// assert!(total.try_read().is_some() && total.try_upgradable_read().is_none());
    /// *UpgradableGuard::upgrade(seen) += 1;
    /// assert_eq!(*total.read(), 3);
    /// ```
    pub fn downgrade_to_upgradable(this: Self) -> UpgradableGuard<'a, T> {
        let lock = this.lock;
        mem::forget(this);
        changing(&lock.lock, How::OwnWrite, How::OwnUpgradable, || {
            // SAFETY: the guard was its writer's.
            unsafe { lock.lock.downgrade_to_upgradable() }
        });
        UpgradableGuard {
            lock,
            here: PhantomData,
        }
    }
}

impl<T: ?Sized> Deref for UpgradableGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the guard holds the lock to read.
        self.lock.data.with(|data| unsafe { &*data })
    }
}

impl<T: ?Sized> Drop for UpgradableGuard<'_, T> {
    fn drop(&mut self) {
        // SAFETY: the guard reads upgradably, and stands for one of the readers.
        unsafe { self.lock.lock.end_upgradable_read() };
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for UpgradableGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for UpgradableGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
