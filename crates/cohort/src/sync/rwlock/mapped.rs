//! Guards of a part of an [`RwLock`](super::RwLock)'s data.

use super::{ReadGuard, WriteGuard};
use crate::rwlock::RawRwLock;
use core::fmt;
use core::marker::PhantomData;
use core::mem;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;

/// Shared access to a part of an [`RwLock`](super::RwLock)'s data, by [`ReadGuard::map`]; unlocks
/// when dropped.
///
/// ```
/// use cohort::{MappedReadGuard, ReadGuard, RwLock};
///
/// let pair = RwLock::new((1, "one"));
/// let number: MappedReadGuard<'_, i32> = ReadGuard::map(pair.read(), |pair| &pair.0);
/// assert_eq!(*number, 1);
/// ```
#[must_use = "the lock is released as soon as its guard is dropped"]
pub struct MappedReadGuard<'a, T: ?Sized> {
    lock: &'a RawRwLock,
    part: NonNull<T>,
    /// The acquiring thread releases it: a thread's read locks may be counted.
    here: PhantomData<&'a T>,
}

/// Exclusive access to a part of an [`RwLock`](super::RwLock)'s data, by [`WriteGuard::map`];
/// unlocks when dropped.
///
/// ```
/// use cohort::{MappedWriteGuard, RwLock, WriteGuard};
///
/// let pair = RwLock::new((1, "one"));
/// let word: MappedWriteGuard<'_, &str> = WriteGuard::map(pair.write(), |pair| &mut pair.1);
/// assert_eq!(*word, "one");
/// ```
#[must_use = "the lock is released as soon as its guard is dropped"]
pub struct MappedWriteGuard<'a, T: ?Sized> {
    lock: &'a RawRwLock,
    part: NonNull<T>,
    data: PhantomData<&'a mut T>,
}

// SAFETY: it lends `&T`.
unsafe impl<T: ?Sized + Sync> Sync for MappedReadGuard<'_, T> {}
// SAFETY: it is `&mut T`, and the right to release a lock that any thread may release.
unsafe impl<T: ?Sized + Send> Send for MappedWriteGuard<'_, T> {}
// SAFETY: it lends `&T`.
unsafe impl<T: ?Sized + Sync> Sync for MappedWriteGuard<'_, T> {}

impl<'a, T: ?Sized> ReadGuard<'a, T> {
    /// Narrows the guard to a part of the data. No method, since the data may have one of that name.
    ///
    /// ```
    /// use cohort::{ReadGuard, RwLock};
    ///
    /// let pair = RwLock::new((1, "one"));
    /// let number = ReadGuard::map(pair.read(), |pair| &pair.0);
    /// assert!(*number == 1 && pair.try_write().is_none());
    /// drop(number);
    /// assert!(pair.try_write().is_some());
    /// ```
    pub fn map<U: ?Sized>(this: Self, part: impl FnOnce(&T) -> &U) -> MappedReadGuard<'a, U> {
        let part = NonNull::from(part(&this));
        Self::with_part(this, part)
    }

    /// Narrows the guard to a part of the data, if there is one.
    ///
    /// # Errors
    /// The guard, if there is none.
    ///
    /// ```
    /// use cohort::{ReadGuard, RwLock};
    ///
    /// let words = RwLock::new(vec!["one"]);
    /// let all = ReadGuard::try_map(words.read(), |words| words.get(1)).unwrap_err();
    /// assert_eq!(*ReadGuard::try_map(all, |words| words.get(0)).unwrap(), "one");
    /// ```
    pub fn try_map<U: ?Sized>(
        this: Self,
        part: impl FnOnce(&T) -> Option<&U>,
    ) -> Result<MappedReadGuard<'a, U>, Self> {
        match part(&this).map(NonNull::from) {
            Some(part) => Ok(Self::with_part(this, part)),
            None => Err(this),
        }
    }

    fn with_part<U: ?Sized>(this: Self, part: NonNull<U>) -> MappedReadGuard<'a, U> {
        let lock = &this.lock.lock;
        mem::forget(this);
        MappedReadGuard {
            lock,
            part,
            here: PhantomData,
        }
    }
}

impl<'a, T: ?Sized> WriteGuard<'a, T> {
    /// Narrows the guard to a part of the data. No method, since the data may have one of that name.
    ///
    /// ```
    /// use cohort::{RwLock, WriteGuard};
    ///
    /// let pair = RwLock::new((1, "one"));
    /// *WriteGuard::map(pair.write(), |pair| &mut pair.0) += 1;
    /// assert_eq!(*pair.read(), (2, "one"));
    /// ```
    pub fn map<U: ?Sized>(
        mut this: Self,
        part: impl FnOnce(&mut T) -> &mut U,
    ) -> MappedWriteGuard<'a, U> {
        let part = NonNull::from(part(&mut this));
        Self::with_part(this, part)
    }

    /// Narrows the guard to a part of the data, if there is one.
    ///
    /// # Errors
    /// The guard, if there is none.
    ///
    /// ```
    /// use cohort::{WriteGuard, RwLock};
    ///
    /// let words = RwLock::new(vec!["one"]);
    /// let all = WriteGuard::try_map(words.write(), |words| words.get_mut(1)).unwrap_err();
    /// assert_eq!(*WriteGuard::try_map(all, |words| words.get_mut(0)).unwrap(), "one");
    /// ```
    pub fn try_map<U: ?Sized>(
        mut this: Self,
        part: impl FnOnce(&mut T) -> Option<&mut U>,
    ) -> Result<MappedWriteGuard<'a, U>, Self> {
        match part(&mut this).map(NonNull::from) {
            Some(part) => Ok(Self::with_part(this, part)),
            None => Err(this),
        }
    }

    fn with_part<U: ?Sized>(this: Self, part: NonNull<U>) -> MappedWriteGuard<'a, U> {
        let lock = &this.lock.lock;
        mem::forget(this);
        MappedWriteGuard {
            lock,
            part,
            data: PhantomData,
        }
    }
}

impl<'a, T: ?Sized> MappedReadGuard<'a, T> {
    /// As [`ReadGuard::unlock_fair`].
    ///
    /// ```
    /// use cohort::{MappedReadGuard, ReadGuard, RwLock};
    ///
    /// let pair = RwLock::new((1, 2));
    /// MappedReadGuard::unlock_fair(ReadGuard::map(pair.read(), |pair| &pair.0));
    /// assert!(!pair.is_locked());
    /// ```
    pub fn unlock_fair(this: Self) {
        let lock = this.lock;
        mem::forget(this);
        // SAFETY: the guard stood for one of the readers.
        unsafe { lock.end_read_fair() };
    }

    /// Narrows the guard to a part of the part.
    ///
    /// ```
    /// use cohort::{MappedReadGuard, ReadGuard, RwLock};
    ///
    /// let nested = RwLock::new((1, (2, 3)));
    /// let pair = ReadGuard::map(nested.read(), |nested| &nested.1);
    /// assert_eq!(*MappedReadGuard::map(pair, |pair| &pair.1), 3);
    /// ```
    pub fn map<U: ?Sized>(this: Self, part: impl FnOnce(&T) -> &U) -> MappedReadGuard<'a, U> {
        let part = NonNull::from(part(&this));
        Self::with_part(this, part)
    }

    /// Narrows the guard to a part of the part, if there is one.
    ///
    /// # Errors
    /// The guard, if there is none.
    ///
    /// ```
    /// use cohort::{MappedReadGuard, ReadGuard, RwLock};
    ///
    /// let words = RwLock::new((1, ["one"]));
    /// let all = ReadGuard::map(words.read(), |words| &words.1[..]);
    /// assert!(MappedReadGuard::try_map(all, |words| words.get(1)).is_err());
    /// ```
    pub fn try_map<U: ?Sized>(
        this: Self,
        part: impl FnOnce(&T) -> Option<&U>,
    ) -> Result<MappedReadGuard<'a, U>, Self> {
        match part(&this).map(NonNull::from) {
            Some(part) => Ok(Self::with_part(this, part)),
            None => Err(this),
        }
    }

    fn with_part<U: ?Sized>(this: Self, part: NonNull<U>) -> MappedReadGuard<'a, U> {
        let lock = this.lock;
        mem::forget(this);
        MappedReadGuard {
            lock,
            part,
            here: PhantomData,
        }
    }
}

impl<'a, T: ?Sized> MappedWriteGuard<'a, T> {
    /// As [`WriteGuard::unlock_fair`].
    ///
    /// ```
    /// use cohort::{MappedWriteGuard, RwLock, WriteGuard};
    ///
    /// let pair = RwLock::new((1, 2));
    /// MappedWriteGuard::unlock_fair(WriteGuard::map(pair.write(), |pair| &mut pair.0));
    /// assert!(!pair.is_locked());
    /// ```
    pub fn unlock_fair(this: Self) {
        let lock = this.lock;
        mem::forget(this);
        // SAFETY: the guard stood for the writer.
        unsafe { lock.end_write_fair() };
    }

    /// Narrows the guard to a part of the part.
    ///
    /// ```
    /// use cohort::{MappedWriteGuard, RwLock, WriteGuard};
    ///
    /// let nested = RwLock::new((1, (2, 3)));
    /// let pair = WriteGuard::map(nested.write(), |nested| &mut nested.1);
    /// *MappedWriteGuard::map(pair, |pair| &mut pair.1) += 1;
    /// assert_eq!(*nested.read(), (1, (2, 4)));
    /// ```
    pub fn map<U: ?Sized>(
        mut this: Self,
        part: impl FnOnce(&mut T) -> &mut U,
    ) -> MappedWriteGuard<'a, U> {
        let part = NonNull::from(part(&mut this));
        Self::with_part(this, part)
    }

    /// Narrows the guard to a part of the part, if there is one.
    ///
    /// # Errors
    /// The guard, if there is none.
    ///
    /// ```
    /// use cohort::{MappedWriteGuard, RwLock, WriteGuard};
    ///
    /// let words = RwLock::new((1, ["one"]));
    /// let all = WriteGuard::map(words.write(), |words| &mut words.1[..]);
    /// assert!(MappedWriteGuard::try_map(all, |words| words.get_mut(1)).is_err());
    /// ```
    pub fn try_map<U: ?Sized>(
        mut this: Self,
        part: impl FnOnce(&mut T) -> Option<&mut U>,
    ) -> Result<MappedWriteGuard<'a, U>, Self> {
        match part(&mut this).map(NonNull::from) {
            Some(part) => Ok(Self::with_part(this, part)),
            None => Err(this),
        }
    }

    fn with_part<U: ?Sized>(this: Self, part: NonNull<U>) -> MappedWriteGuard<'a, U> {
        let lock = this.lock;
        mem::forget(this);
        MappedWriteGuard {
            lock,
            part,
            data: PhantomData,
        }
    }
}

impl<T: ?Sized> Deref for MappedReadGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: a part of what the lock guards, which the guard holds to read.
        unsafe { self.part.as_ref() }
    }
}

impl<T: ?Sized> Deref for MappedWriteGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: a part of what the lock guards, which the guard holds to write.
        unsafe { self.part.as_ref() }
    }
}

impl<T: ?Sized> DerefMut for MappedWriteGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and the guard is borrowed mutably.
        unsafe { self.part.as_mut() }
    }
}

impl<T: ?Sized> Drop for MappedReadGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the guard stands for one of the readers.
        unsafe { self.lock.end_read() };
    }
}

impl<T: ?Sized> Drop for MappedWriteGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the guard stands for the writer.
        unsafe { self.lock.end_write() };
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MappedReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MappedWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for MappedReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for MappedWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
