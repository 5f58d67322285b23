//! Guards that own what they lock: by an [`Arc`](std::sync::Arc) (feature `std`).

extern crate std;

use crate::context::Kept;
use crate::mutex::Mutex;
use crate::numa::FutexHmcs;
use crate::rwlock::RwLock;
use cohort_raw::{Patience, RawLock, RawShared, RawTry, Recursion, ThreadOblivious};
use core::fmt;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use std::sync::Arc;

/// Access to the data of a [`Mutex`] that the guard keeps alive; unlocks when dropped.
///
/// ```
/// use cohort::{ArcMutexGuard, Mutex};
/// use std::sync::Arc;
///
/// fn locked() -> ArcMutexGuard<u64> {
///     Arc::new(Mutex::new(1)).lock_arc()
/// }
/// assert_eq!(*locked(), 1);
/// ```
#[must_use = "the mutex is unlocked as soon as its guard is dropped"]
pub struct ArcMutexGuard<T: ?Sized, L: RawLock = FutexHmcs> {
    context: Kept<L>,
    mutex: Arc<Mutex<T, L>>,
    /// A guard shares what `&mut T` may share.
    data: PhantomData<T>,
}

/// Shared access to the data of an [`RwLock`] that the guard keeps alive; unlocks when dropped.
///
/// ```
/// use cohort::{ArcReadGuard, RwLock};
/// use std::sync::Arc;
///
/// fn read() -> ArcReadGuard<u64> {
///     Arc::new(RwLock::new(1)).read_arc()
/// }
/// assert_eq!(*read(), 1);
/// ```
#[must_use = "the lock is released as soon as its guard is dropped"]
pub struct ArcReadGuard<T: ?Sized> {
    lock: Arc<RwLock<T>>,
    /// Released by the thread that took it, since a thread's read locks may be counted.
    here: PhantomData<*const T>,
}

/// Exclusive access to the data of an [`RwLock`] that the guard keeps alive; unlocks when
/// dropped.
///
/// ```
/// use cohort::{ArcWriteGuard, RwLock};
/// use std::sync::Arc;
///
/// fn written() -> ArcWriteGuard<u64> {
///     Arc::new(RwLock::new(1)).write_arc()
/// }
/// assert_eq!(*written(), 1);
/// ```
#[must_use = "the lock is released as soon as its guard is dropped"]
pub struct ArcWriteGuard<T: ?Sized> {
    lock: Arc<RwLock<T>>,
    data: PhantomData<T>,
}

// SAFETY: it lends `&T`.
unsafe impl<T: ?Sized + Send + Sync> Sync for ArcReadGuard<T> {}

impl<T: ?Sized, L: RawLock + ThreadOblivious> Mutex<T, L> {
    /// Blocks until the mutex is locked, by a guard that keeps it alive (feature `std`).
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// let mut guard = Arc::new(cohort::Mutex::new(1)).lock_arc();
    /// std::thread::spawn(move || *guard += 1).join().unwrap();
    /// ```
    pub fn lock_arc(self: &Arc<Self>) -> ArcMutexGuard<T, L> {
        let context = Kept::new();
        self.raw().acquire(context.get());
        ArcMutexGuard {
            context,
            mutex: Arc::clone(self),
            data: PhantomData,
        }
    }

    /// The same, if nobody has locked it; never blocks.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// let total = Arc::new(cohort::Mutex::new(1));
    /// let guard = total.try_lock_arc().unwrap();
    /// assert!(total.try_lock_arc().is_none());
    /// assert_eq!(*guard, 1);
    /// ```
    pub fn try_lock_arc(self: &Arc<Self>) -> Option<ArcMutexGuard<T, L>>
    where
        L: RawTry,
    {
        let context = Kept::new();
        let locked = self.raw().try_acquire(context.get());
        locked.then(|| ArcMutexGuard {
            context,
            mutex: Arc::clone(self),
            data: PhantomData,
        })
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Blocks until the data may be read, by a guard that keeps it alive (feature `std`).
    ///
    /// # Panics
    /// If half a million read it already.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// let guard = Arc::new(cohort::RwLock::new(1)).read_arc();
    /// assert_eq!(*guard, 1);
    /// ```
    pub fn read_arc(self: &Arc<Self>) -> ArcReadGuard<T> {
        RawShared::read(self.raw(), &(), Recursion::Allowed);
        ArcReadGuard {
            lock: Arc::clone(self),
            here: PhantomData,
        }
    }

    /// The same, if no writer holds the lock or waits ahead; never blocks.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// let total = Arc::new(cohort::RwLock::new(1));
    /// let guard = total.try_read_arc().unwrap();
    /// assert!(total.try_write_arc().is_none());
    /// assert_eq!(*guard, 1);
    /// ```
    pub fn try_read_arc(self: &Arc<Self>) -> Option<ArcReadGuard<T>> {
        let taken = self.raw().try_read(Recursion::Allowed);
        taken.then(|| ArcReadGuard {
            lock: Arc::clone(self),
            here: PhantomData,
        })
    }

    /// Blocks until the data may be written, by a guard that keeps it alive (feature `std`).
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// let total = Arc::new(cohort::RwLock::new(1));
    /// *total.write_arc() += 1;
    /// assert_eq!(*total.read(), 2);
    /// ```
    pub fn write_arc(self: &Arc<Self>) -> ArcWriteGuard<T> {
        let _ = self.raw().write(&Patience::ENDLESS);
        ArcWriteGuard {
            lock: Arc::clone(self),
            data: PhantomData,
        }
    }

    /// The same, if nobody holds the lock; never blocks.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// let total = Arc::new(cohort::RwLock::new(1));
    /// *total.try_write_arc().unwrap() += 1;
    /// assert_eq!(*total.read(), 2);
    /// ```
    pub fn try_write_arc(self: &Arc<Self>) -> Option<ArcWriteGuard<T>> {
        let taken = self.raw().try_write();
        taken.then(|| ArcWriteGuard {
            lock: Arc::clone(self),
            data: PhantomData,
        })
    }
}

impl<T: ?Sized, L: RawLock> Deref for ArcMutexGuard<T, L> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard holds the lock, and lends the data no longer than itself.
        unsafe { &*self.mutex.data_ptr() }
    }
}

impl<T: ?Sized, L: RawLock> DerefMut for ArcMutexGuard<T, L> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and the guard is borrowed mutably.
        unsafe { &mut *self.mutex.data_ptr() }
    }
}

impl<T: ?Sized> Deref for ArcReadGuard<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard holds the lock to read.
        unsafe { &*self.lock.data_ptr() }
    }
}

impl<T: ?Sized> Deref for ArcWriteGuard<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard holds the lock to write.
        unsafe { &*self.lock.data_ptr() }
    }
}

impl<T: ?Sized> DerefMut for ArcWriteGuard<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and the guard is borrowed mutably.
        unsafe { &mut *self.lock.data_ptr() }
    }
}

impl<T: ?Sized, L: RawLock> Drop for ArcMutexGuard<T, L> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the guard stands for the acquisition, which the mutex outlives.
        unsafe { self.mutex.raw().release(self.context.get()) };
    }
}

impl<T: ?Sized> Drop for ArcReadGuard<T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the guard stands for one of the readers.
        unsafe { self.lock.raw().release_read() };
    }
}

impl<T: ?Sized> Drop for ArcWriteGuard<T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the guard stands for the writer.
        unsafe { self.lock.raw().release_write() };
    }
}

impl<T: ?Sized + fmt::Debug, L: RawLock> fmt::Debug for ArcMutexGuard<T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for ArcReadGuard<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for ArcWriteGuard<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
