//! `Mutex<T>`: data behind the default lock.

use crate::basic::Futex;
use crate::door::Cell;
use cohort_raw::{Abortable, Outcome, Patience, RawLock, RawTry};
use core::fmt;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};

/// Data that one thread at a time may touch.  Eight bytes beside the data; not
/// poisoned by a panic, since a guard unlocks when it is dropped.
#[derive(Debug, Default)]
pub struct Mutex<T> {
    lock: Futex,
    data: Cell<T>,
}

/// Access to a [`Mutex`]'s data; unlocks when dropped.
#[must_use = "the mutex is unlocked as soon as its guard is dropped"]
pub struct MutexGuard<'a, T> {
    mutex: &'a Mutex<T>,
    /// A guard shares what `&mut T` may share.
    data: PhantomData<&'a mut T>,
}

impl<T> Mutex<T> {
    crate::door::constructor! {
        /// A mutex around `data`, unlocked.
        #[must_use]
        pub fn new(data: T) -> Self {
            Self {
                lock: Futex::new(),
                data: Cell::new(data),
            }
        }
    }

    fn guard(&self) -> MutexGuard<'_, T> {
        MutexGuard {
            mutex: self,
            data: PhantomData,
        }
    }

    /// Blocks until the mutex is locked.  Locking it twice in one thread never
    /// returns.
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.lock.acquire(&());
        self.guard()
    }

    /// Locks the mutex if nobody has; never blocks.
    #[inline]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.lock.try_acquire(&()).then(|| self.guard())
    }

    /// Blocks until the mutex is locked or patience runs out.
    #[inline]
    pub fn lock_within(&self, patience: &Patience) -> Option<MutexGuard<'_, T>> {
        (self.lock.acquire_within(&(), patience) == Outcome::Acquired).then(|| self.guard())
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard holds the lock, and lends the data no longer than
        // itself.
        self.mutex.data.with(|data| unsafe { &*data })
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and the guard is borrowed mutably.
        self.mutex.data.with_mut(|data| unsafe { &mut *data })
    }
}

impl<T> Drop for MutexGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the guard stands for the acquisition.
        unsafe { self.mutex.lock.release(&()) };
    }
}

impl<T: fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
