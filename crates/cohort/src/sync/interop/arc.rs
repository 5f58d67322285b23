//! Guards that own their locks, by an [`Arc`](std::sync::Arc), and a future of such a guard (feature `std`).

extern crate std;

use crate::door::recorder::Doing;
use crate::numa::FutexHmcs;
use crate::rwlock::{TOO_MANY, read_at_last};
use crate::support::context::Kept;
use crate::sync::mutex::{Mutex, MutexGuard, acquire, acquiring, patience, release};
use crate::sync::rwlock::RwLock;
use crate::sync::waking::{LockAsync, Waking};
use cohort_raw::{Abortable, Outcome, Patience, RawLock, RawTry, ThreadOblivious};
use core::fmt;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ops::{Deref, DerefMut};
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
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
    /// A guard may be shared if `&mut T` may.
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
    /// Released by its own thread, since read locks may be counted per thread.
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
        // If the lock panics, its queue may still contain the context.
        let context = ManuallyDrop::new(Kept::new());
        // SAFETY: a new context, in a block. Its guard keeps the block and the lock until the
        // release; if the guard is forgotten, both stay. So for all below.
        unsafe { acquire(self.raw(), context.get()) };
        self.arc_guard(ManuallyDrop::into_inner(context))
    }

    /// Creates the guard of a mutex locked by that context.
    fn arc_guard(self: &Arc<Self>, context: Kept<L>) -> ArcMutexGuard<T, L> {
        ArcMutexGuard {
            context,
            mutex: Arc::clone(self),
            data: PhantomData,
        }
    }

    /// Locks the mutex if it is free, by such a guard; never blocks.
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
        let context = ManuallyDrop::new(Kept::new());
        // SAFETY: as above.
        let try_acquire = || unsafe { self.raw().try_acquire(context.get()) };
        let locked = acquiring(self.raw(), Doing::Nothing, try_acquire);
        let context = ManuallyDrop::into_inner(context);
        locked.then(|| self.arc_guard(context))
    }

    /// Blocks until the mutex is locked, by such a guard, or the timeout ends.
    ///
    /// ```
    /// use std::{sync::Arc, time::Duration};
    ///
    /// let total = Arc::new(cohort::Mutex::new(1));
    /// let guard = total.try_lock_arc_for(Duration::from_millis(1)).unwrap();
    /// assert!(total.try_lock_arc_for(Duration::from_millis(1)).is_none());
    /// assert_eq!(*guard, 1);
    /// ```
    pub fn try_lock_arc_for(self: &Arc<Self>, timeout: Duration) -> Option<ArcMutexGuard<T, L>>
    where
        L: Abortable,
    {
        let context = ManuallyDrop::new(Kept::new());
        let patience = patience(timeout);
        // SAFETY: as above.
        let acquire = || unsafe { self.raw().acquire_within(context.get(), &patience) };
        let acquired = acquiring(self.raw(), Doing::Timed, || acquire() == Outcome::Acquired);
        let context = ManuallyDrop::into_inner(context);
        acquired.then(|| self.arc_guard(context))
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Blocks until the data may be read, by a guard that keeps it alive (feature `std`).
    ///
    /// # Panics
    /// If half a million readers hold the lock.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// let guard = Arc::new(cohort::RwLock::new(1)).read_arc();
    /// assert_eq!(*guard, 1);
    /// ```
    pub fn read_arc(self: &Arc<Self>) -> ArcReadGuard<T> {
        let taken = self.raw().begin_read(Doing::Read, &Patience::ENDLESS);
        assert!(taken, "{TOO_MANY}");
        self.arc_reader()
    }

    fn arc_reader(self: &Arc<Self>) -> ArcReadGuard<T> {
        ArcReadGuard {
            lock: Arc::clone(self),
            here: PhantomData,
        }
    }

    fn arc_writer(self: &Arc<Self>) -> ArcWriteGuard<T> {
        ArcWriteGuard {
            lock: Arc::clone(self),
            data: PhantomData,
        }
    }

    /// Locks the data for reading unless a writer holds the lock or waits ahead; never blocks.
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
        let taken = self.raw().begin_try_read();
        taken.then(|| self.arc_reader())
    }

    /// Blocks until the data may be read, or the timeout ends.
    ///
    /// ```
    /// use std::{sync::Arc, time::Duration};
    ///
    /// let total = Arc::new(cohort::RwLock::new(1));
    /// let guard = total.write();
    /// assert!(total.try_read_arc_for(Duration::from_millis(1)).is_none());
    /// # drop(guard);
    /// ```
    pub fn try_read_arc_for(self: &Arc<Self>, timeout: Duration) -> Option<ArcReadGuard<T>> {
        let taken = self.raw().begin_read(Doing::Timed, &patience(timeout));
        taken.then(|| self.arc_reader())
    }

    /// [`RwLock::read_recursive`], by a guard that keeps the lock alive (feature `std`). With half
    /// a million readers, it waits until one has left.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// let total = Arc::new(cohort::RwLock::new(1));
    /// let guard = total.read_arc();
    /// assert_eq!(*guard, *total.read_arc_recursive());
    /// ```
    pub fn read_arc_recursive(self: &Arc<Self>) -> ArcReadGuard<T> {
        let read = || self.raw().begin_read_again(Doing::Read, &Patience::ENDLESS);
        read_at_last(|| {
            if read() {
                Outcome::Acquired
            } else {
                Outcome::GaveUp
            }
        });
        self.arc_reader()
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
        let _ = self.raw().begin_write(Doing::Write, &Patience::ENDLESS);
        self.arc_writer()
    }

    /// Locks the data for writing if the lock is free; never blocks.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// let total = Arc::new(cohort::RwLock::new(1));
    /// *total.try_write_arc().unwrap() += 1;
    /// assert_eq!(*total.read(), 2);
    /// ```
    pub fn try_write_arc(self: &Arc<Self>) -> Option<ArcWriteGuard<T>> {
        let taken = self.raw().begin_try_write();
        taken.then(|| self.arc_writer())
    }

    /// Blocks until the data may be written, or the timeout ends.
    ///
    /// ```
    /// use std::{sync::Arc, time::Duration};
    ///
    /// let total = Arc::new(cohort::RwLock::new(1));
    /// let guard = total.read();
    /// assert!(total.try_write_arc_for(Duration::from_millis(1)).is_none());
    /// # drop(guard);
    /// ```
    pub fn try_write_arc_for(self: &Arc<Self>, timeout: Duration) -> Option<ArcWriteGuard<T>> {
        let taken = self.raw().begin_write(Doing::Timed, &patience(timeout));
        taken.then(|| self.arc_writer())
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
        // SAFETY: the guard stands for the acquisition; it keeps the mutex alive.
        unsafe { release(self.mutex.raw(), self.context.get()) };
    }
}

impl<T: ?Sized> Drop for ArcReadGuard<T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the guard stands for one of the readers.
        unsafe { self.lock.raw().end_read() };
    }
}

impl<T: ?Sized> Drop for ArcWriteGuard<T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the guard stands for the writer.
        unsafe { self.lock.raw().end_write() };
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

/// A task's wait for a [`Mutex`] under [`Waking`], which it keeps alive; as is its guard. For tasks
/// that may outlive their creator, such as those of an executor's `spawn`. Created by
/// [`Mutex::lock_arc_async`]; dropping it gives up.
///
/// ```
/// use cohort::{LockArcAsync, Mutex, Waking, basic::Tas};
/// use std::sync::Arc;
///
/// let total: Arc<Mutex<u64, Waking<Tas>>> = Arc::default();
/// let future: LockArcAsync<u64, Tas> = total.lock_arc_async();
/// # drop(future);
/// ```
#[must_use = "nothing is locked before the first poll"]
pub struct LockArcAsync<T: ?Sized + 'static, L: 'static> {
    /// Borrows from `mutex`, and is dropped before it.
    wait: LockAsync<'static, T, L>,
    mutex: Arc<Mutex<T, Waking<L>>>,
}

impl<T: ?Sized, L> fmt::Debug for LockArcAsync<T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LockArcAsync").finish_non_exhaustive()
    }
}

impl<T: ?Sized + 'static, L: RawTry + ThreadOblivious + 'static> Mutex<T, Waking<L>> {
    /// Locks the mutex from a task, without blocking a thread, by a guard that keeps the mutex alive
    /// (feature `std`). Otherwise as [`lock_async`](Mutex::lock_async).
    ///
    /// ```
    /// use cohort::{Mutex, Waking, basic::Tas};
    /// use std::future::Future;
    /// use std::pin::pin;
    /// use std::sync::Arc;
    /// use std::task::{Context, Poll, Waker};
    ///
    /// let total: Arc<Mutex<u64, Waking<Tas>>> = Arc::default();
    /// let held = total.lock();
    /// let mut future = pin!(Arc::clone(&total).lock_arc_async());
    /// let mut task = Context::from_waker(Waker::noop());
    /// assert!(future.as_mut().poll(&mut task).is_pending());
    /// drop(held);
    /// let Poll::Ready(mut guard) = future.as_mut().poll(&mut task) else {
    ///     panic!("the mutex is free");
    /// };
    /// *guard += 1;
    /// ```
    pub fn lock_arc_async(self: &Arc<Self>) -> LockArcAsync<T, L> {
        let mutex = Arc::clone(self);
        // SAFETY: `mutex` stays for as long as the future that gets the reference, and does not move.
        let lent: &'static Self = unsafe { &*Arc::as_ptr(&mutex) };
        LockArcAsync {
            wait: lent.lock_async(),
            mutex,
        }
    }
}

impl<T: ?Sized, L: RawTry + ThreadOblivious> Future for LockArcAsync<T, L> {
    type Output = ArcMutexGuard<T, Waking<L>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: `wait` does not move out of the pinned future.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: as above.
        let wait = unsafe { Pin::new_unchecked(&mut this.wait) };
        // Nothing between the two can fail, so the acquisition always has a guard.
        let context = wait.poll(cx).map(MutexGuard::into_kept);
        context.map(|context| this.mutex.arc_guard(context))
    }
}
