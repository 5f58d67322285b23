//! Reader–writer locks: the raw ones, and data behind them.

pub mod cohorts;
mod count;
pub mod in_object;
pub mod object;
pub mod phase;
mod raw;
pub mod table;

pub use cohort_raw::Recursion;
pub use cohorts::{CRwNp, CRwWp, CohortRw};
pub use count::Count;
pub use in_object::InObject;
pub use object::Object;
pub use raw::RawRwLock;
pub use table::Table;

use crate::at_last::AtLast;
use crate::door::Cell;
use cohort_raw::{Patience, RawShared};
use core::fmt;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};

/// Data that many threads may read or one may write; see [`RawRwLock`].  Sixteen
/// bytes beside the data; not poisoned by a panic.
///
/// A thread may take a read lock it holds already.  It may not take the write lock
/// while it holds a read lock: that never returns.
///
/// Any other lock that readers share can stand in for that one, through closures: a
/// guard can be moved, and the context of an acquisition cannot.
///
/// ```
/// use cohort::RwLock;
/// use cohort::rwlock::CRwNp;
/// let lock: RwLock<Vec<u32>, CRwNp> = RwLock::from(vec![1]);
/// lock.writing(|list| list.push(2));
/// assert_eq!(lock.reading(|list| list.len()), 2);
/// ```
#[derive(Debug, Default)]
pub struct RwLock<T, L = RawRwLock> {
    lock: L,
    data: Cell<T>,
}

// SAFETY: the lock gives out `&T` to several threads at once, or `&mut T` to one.
unsafe impl<T: Send + Sync, L: RawShared> Sync for RwLock<T, L> {}

impl<T, L: RawShared> From<T> for RwLock<T, L> {
    fn from(data: T) -> Self {
        Self {
            lock: L::default(),
            data: Cell::new(data),
        }
    }
}

impl<T, L: RawShared> RwLock<T, L> {
    /// Blocks until the data may be read, and lets `look` do so.
    pub fn reading<R>(&self, look: impl FnOnce(&T) -> R) -> R {
        let context = L::Context::default();
        self.lock.read(&context, Recursion::Allowed);
        // SAFETY: acquired above, by this thread and with this context.
        let _last = AtLast(|| unsafe { self.lock.release_read(&context) });
        // SAFETY: the lock is held to read.
        self.data.with(|data| look(unsafe { &*data }))
    }

    /// Blocks until the data may be written, and lets `change` do so.
    pub fn writing<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        let context = L::Context::default();
        self.lock.write(&context);
        // SAFETY: acquired above, by this thread and with this context.
        let _last = AtLast(|| unsafe { self.lock.release_write(&context) });
        // SAFETY: the lock is held to write.
        self.data.with_mut(|data| change(unsafe { &mut *data }))
    }
}

/// Shared access to an [`RwLock`]'s data; unlocks when dropped.
#[must_use = "the lock is released as soon as its guard is dropped"]
pub struct ReadGuard<'a, T> {
    lock: &'a RwLock<T>,
    /// Released by the thread that took it, whose read locks are counted.
    here: PhantomData<*const T>,
}

/// Exclusive access to an [`RwLock`]'s data; unlocks when dropped.
#[must_use = "the lock is released as soon as its guard is dropped"]
pub struct WriteGuard<'a, T> {
    lock: &'a RwLock<T>,
    data: PhantomData<&'a mut T>,
}

impl<T> RwLock<T> {
    crate::door::constructor! {
        /// A lock around `data`, held by nobody.
        #[must_use]
        pub fn new(data: T) -> Self {
            Self {
                lock: RawRwLock::new(),
                data: Cell::new(data),
            }
        }
    }

    /// Blocks until the data may be read.
    ///
    /// # Panics
    /// If half a million read it already.
    #[inline]
    pub fn read(&self) -> ReadGuard<'_, T> {
        RawShared::read(&self.lock, &(), Recursion::Allowed);
        ReadGuard {
            lock: self,
            here: PhantomData,
        }
    }

    /// Takes the lock to read if no writer holds it or waits ahead; never blocks.
    #[inline]
    pub fn try_read(&self) -> Option<ReadGuard<'_, T>> {
        self.lock.try_read(Recursion::Allowed).then(|| ReadGuard {
            lock: self,
            here: PhantomData,
        })
    }

    /// Blocks until the data may be written.
    #[inline]
    pub fn write(&self) -> WriteGuard<'_, T> {
        let _ = self.lock.write(&Patience::ENDLESS);
        WriteGuard {
            lock: self,
            data: PhantomData,
        }
    }

    /// Takes the lock to write if nobody holds it; never blocks.
    #[inline]
    pub fn try_write(&self) -> Option<WriteGuard<'_, T>> {
        self.lock.try_write().then(|| WriteGuard {
            lock: self,
            data: PhantomData,
        })
    }
}

impl<T> Deref for ReadGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard holds the lock to read.
        self.lock.data.with(|data| unsafe { &*data })
    }
}

impl<T> Deref for WriteGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard holds the lock to write.
        self.lock.data.with(|data| unsafe { &*data })
    }
}

impl<T> DerefMut for WriteGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and the guard is borrowed mutably.
        self.lock.data.with_mut(|data| unsafe { &mut *data })
    }
}

impl<T> Drop for ReadGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the guard stands for one of its readers.
        unsafe { self.lock.lock.release_read() };
    }
}

impl<T> Drop for WriteGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the guard stands for its writer.
        unsafe { self.lock.lock.release_write() };
    }
}

impl<T: fmt::Debug> fmt::Debug for ReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: fmt::Debug> fmt::Debug for WriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
