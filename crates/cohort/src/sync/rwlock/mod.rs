//! `RwLock<T>`: data behind a reader–writer lock.

mod mapped;
mod reported;
mod upgradable;

pub use mapped::{MappedReadGuard, MappedWriteGuard};
pub use upgradable::UpgradableGuard;

use crate::door::recorder::{Doing, How};
use crate::door::{Cell, to_its_end};
use crate::rwlock::{RawRwLock, TOO_MANY};
use crate::support::defer::Defer;
use crate::support::heed::heeding;
use crate::sync::mutex::patience;
use crate::sync::token::Token;
use cohort_raw::{AbortableShared, Outcome, Patience, RawShared, Recursion};
use core::fmt;
use core::marker::PhantomData;
use core::mem;
use core::ops::{Deref, DerefMut};
use core::time::Duration;

/// Data for many readers or one writer; see [`RawRwLock`]. Sixteen bytes beside the data; not
/// poisoned by a panic.
///
/// A thread may acquire a read lock that it already holds. [`read_recursive`](Self::read_recursive)
/// passes waiting writers; [`read`](Self::read) does so after five milliseconds, and so does a
/// thread that tries repeatedly. From then on, threads of that process count the read locks that
/// they acquire, and a thread with a counted one passes at once; earlier read locks are not
/// counted. A thread must not acquire the write lock while it holds a read lock: that deadlocks.
///
/// Any other reader–writer lock can replace the default one, through closures: a guard can be
/// moved, and the context of an acquisition cannot.
///
/// ```
/// use cohort::RwLock;
/// use cohort::rwlock::CRwNp;
/// let lock: RwLock<Vec<u32>, CRwNp> = RwLock::from(vec![1]);
/// lock.writing(|list| list.push(2));
/// assert_eq!(lock.reading(|list| list.len()), 2);
/// ```
///
/// Access goes from writing to reading, and from reading to writing, without a gap:
/// [`WriteGuard::downgrade`] and [`upgradable_read`](Self::upgradable_read).
///
/// A read guard stays in its thread:
///
/// ```compile_fail,E0277
/// let lock = cohort::RwLock::new(1);
/// let guard = lock.read();
/// std::thread::scope(|scope| {
///     scope.spawn(move || drop(guard));
/// });
/// ```
#[derive(Default)]
pub struct RwLock<T: ?Sized, L = RawRwLock> {
    lock: L,
    pub(in crate::sync) data: Cell<T>,
}

// SAFETY: the lock gives out `&T` to several threads at once, or `&mut T` to one.
unsafe impl<T: ?Sized + Send + Sync, L: RawShared> Sync for RwLock<T, L> {}

impl<T, L: RawShared> From<T> for RwLock<T, L> {
    fn from(data: T) -> Self {
        Self::from_raw(L::default(), data)
    }
}

impl<T, L> RwLock<T, L> {
    crate::door::constructor! {
        /// A free lock `lock` around `data`.
        ///
        /// ```
        /// use cohort::compose::{CMcsMcs, Numa};
        /// use cohort::{RwLock, rwlock::CohortRw};
        ///
        /// type ByNode = CohortRw<CMcsMcs, true, Numa>;
        /// let total = RwLock::from_raw(ByNode::new(CMcsMcs::new(), Numa), 1);
        /// assert_eq!(total.reading(|total| *total), 1);
        /// ```
        #[must_use]
        pub fn from_raw(lock: L, data: T) -> Self {
            Self {
                lock,
                data: Cell::new(data),
            }
        }
    }

    /// The data of a lock without other users.
    ///
    /// ```
    /// assert_eq!(cohort::RwLock::new(1).into_inner(), 1);
    /// ```
    #[must_use]
    pub fn into_inner(self) -> T {
        self.data.into_inner()
    }
}

impl<T: ?Sized, L> RwLock<T, L> {
    /// A pointer to the data. A look there without the lock is a race.
    ///
    /// ```
    /// let total = cohort::RwLock::new(1);
    /// let guard = total.read();
    ///  // SAFETY: no thread writes while the guard reads.
    /// assert_eq!(unsafe { *total.data_ptr() }, *guard);
    /// ```
    pub fn data_ptr(&self) -> *mut T {
        self.data.with_mut(|data| data)
    }

    /// The raw lock. An acquisition there is released there.
    ///
    /// ```
    /// use cohort::{RawShared, Recursion, RwLock};
    ///
    /// let total = RwLock::new(1);
    /// // SAFETY: the lock has no contexts, and stays for the release, which is this thread's too.
    /// unsafe {
    ///     RawShared::read(total.raw(), &(), Recursion::Allowed);
    ///     assert!(total.try_write().is_none());
    ///     total.raw().release_read();
    /// }
    /// ```
    pub const fn raw(&self) -> &L {
        &self.lock
    }

    /// The data, without locking: the borrow is exclusive.
    ///
    /// ```
    /// let mut total = cohort::RwLock::new(1);
    /// *total.get_mut() += 1;
    /// assert_eq!(total.into_inner(), 2);
    /// ```
    pub fn get_mut(&mut self) -> &mut T {
        // SAFETY: borrowed mutably.
        self.data.with_mut(|data| unsafe { &mut *data })
    }
}

/// Acquires a lock for reading, and reports it.
///
/// # Safety
/// As [`RawShared::read`].
#[inline(always)]
unsafe fn read<L: RawShared>(lock: &L, context: &L::Context) {
    reported::reading(lock, Doing::Read, || {
        // SAFETY: the caller's.
        unsafe { lock.read(context, Recursion::Allowed) };
        true
    });
}

/// Acquires a lock for writing, and reports it.
///
/// # Safety
/// As [`RawShared::write`].
#[inline(always)]
unsafe fn write<L: RawShared>(lock: &L, context: &L::Context) {
    reported::writing(lock, Doing::Write, || {
        // SAFETY: the caller's.
        unsafe { lock.write(context) };
        true
    });
}

/// Ends a read, and reports it.
///
/// # Safety
/// As [`RawShared::release_read`].
#[inline(always)]
unsafe fn release_read<L: RawShared>(lock: &L, context: &L::Context) {
    // SAFETY: the caller's.
    reported::releasing(lock, How::OwnRead, || unsafe { lock.release_read(context) });
}

/// Ends a write, and reports it.
///
/// # Safety
/// As [`RawShared::release_write`].
#[inline(always)]
unsafe fn release_write<L: RawShared>(lock: &L, context: &L::Context) {
    // SAFETY: the caller's.
    reported::releasing(lock, How::OwnWrite, || unsafe {
        lock.release_write(context)
    });
}

/// Each function states its own bound, so that the compiler's error for an unsuited lock names a
/// suited one.
impl<T: ?Sized, L> RwLock<T, L> {
    /// Whether the lock was held a moment ago, to read or to write; never blocks.
    ///
    /// ```
    /// let total = cohort::RwLock::new(1);
    /// let guard = total.read();
    /// assert!(total.is_locked());
    /// drop(guard);
    /// assert!(!total.is_locked());
    /// ```
    pub fn is_locked(&self) -> bool
    where
        L: RawShared,
    {
        self.lock.is_locked()
    }

    /// Whether a writer held the lock a moment ago; never blocks.
    ///
    /// ```
    /// let total = cohort::RwLock::new(1);
    /// let guard = total.read();
    /// assert!(!total.is_locked_exclusive());
    /// drop(guard);
    /// let guard = total.write();
    /// assert!(total.is_locked_exclusive());
    /// # drop(guard);
    /// ```
    pub fn is_locked_exclusive(&self) -> bool
    where
        L: RawShared,
    {
        self.lock.is_write_locked()
    }

    /// Blocks until the data may be read, and runs `look` on it.
    ///
    /// ```
    /// use cohort::{RwLock, rwlock::CRwWp};
    ///
    /// let words: RwLock<Vec<&str>, CRwWp> = RwLock::from(vec!["one"]);
    /// assert_eq!(words.reading(|words| words.len()), 1);
    /// ```
    #[cfg_attr(observed, inline(always))]
    pub fn reading<R>(&self, look: impl FnOnce(&T) -> R) -> R
    where
        L: RawShared,
    {
        let context = L::Context::default();
        // SAFETY: the context is used for this acquisition alone; it and the lock, which is borrowed, stay
        // until the release below.  So for all like it.
        to_its_end(size_of::<L::Context>() > 0, || unsafe {
            read(&self.lock, &context)
        });
        // SAFETY: acquired above, by this thread and with this context.
        let _last = Defer(|| unsafe { release_read(&self.lock, &context) });
        // SAFETY: the lock is held to read.
        self.data.with(|data| look(unsafe { &*data }))
    }

    /// Blocks until the data may be written, and runs `change` on it.
    ///
    /// ```
    /// use cohort::{RwLock, rwlock::CRwWp};
    ///
    /// let words: RwLock<Vec<&str>, CRwWp> = RwLock::from(vec!["one"]);
    /// words.writing(|words| words.push("two"));
    /// assert_eq!(words.into_inner(), ["one", "two"]);
    /// ```
    #[cfg_attr(observed, inline(always))]
    pub fn writing<R>(&self, change: impl FnOnce(&mut T) -> R) -> R
    where
        L: RawShared,
    {
        let context = L::Context::default();
        // SAFETY: as in `reading`.
        to_its_end(size_of::<L::Context>() > 0, || unsafe {
            write(&self.lock, &context)
        });
        // SAFETY: acquired above, by this thread and with this context.
        let _last = Defer(|| unsafe { release_write(&self.lock, &context) });
        // SAFETY: the lock is held to write.
        self.data.with_mut(|data| change(unsafe { &mut *data }))
    }

    /// Blocks until the data may be read, and runs `look` on it; `None` if patience runs out.
    ///
    /// ```
    /// use cohort::{Deadline, Patience, RwLock, rwlock::CRwNp};
    ///
    /// let total: RwLock<u32, CRwNp> = RwLock::from(1);
    /// let past = Patience::until(Deadline::monotonic(1));
    /// let looked = total.writing(|_| total.reading_within(&past, |total| *total));
    /// assert_eq!(looked, None);
    /// ```
    #[cfg_attr(observed, inline(always))]
    pub fn reading_within<R>(&self, patience: &Patience, look: impl FnOnce(&T) -> R) -> Option<R>
    where
        L: AbortableShared,
    {
        let context = L::Context::default();
        let held = heeding(patience, |patience| {
            let read = || {
                let recursion = Recursion::Allowed;
                // SAFETY: as in `reading`.
                unsafe { self.lock.read_within(&context, recursion, patience) }
            };
            let acquired = to_its_end(size_of::<L::Context>() > 0, || {
                reported::reading(&self.lock, Doing::Timed, || read() == Outcome::Acquired)
            });
            // SAFETY: acquired above, by this thread and with this context.
            let release = || unsafe { release_read(&self.lock, &context) };
            acquired.then(|| Defer(release))
        });
        // SAFETY: the lock is held to read.
        held.map(|_held| self.data.with(|data| look(unsafe { &*data })))
    }

    /// Blocks until the data may be written, and runs `change` on it; `None` if patience runs out.
    ///
    /// ```
    /// use cohort::numa::HmcsT2;
    /// use cohort::rwlock::{Abandoning, CRwNp};
    /// use cohort::{Patience, RwLock, Token};
    ///
    /// let total: RwLock<u32, CRwNp<Abandoning<HmcsT2>>> = RwLock::from(1);
    /// let enough = Token::new();
    /// let patience = Patience::ENDLESS.unless(&enough);
    /// assert_eq!(total.writing_within(&patience, |total| *total += 1), Some(()));
    /// enough.cancel();
    /// let written = total.reading(|_| total.writing_within(&patience, |total| *total += 1));
    /// assert_eq!(written, None);
    /// ```
    #[cfg_attr(observed, inline(always))]
    pub fn writing_within<R>(
        &self,
        patience: &Patience,
        change: impl FnOnce(&mut T) -> R,
    ) -> Option<R>
    where
        L: AbortableShared,
    {
        let context = L::Context::default();
        let held = heeding(patience, |patience| {
            // SAFETY: as in `reading`.
            let write = || unsafe { self.lock.write_within(&context, patience) };
            let acquired = to_its_end(size_of::<L::Context>() > 0, || {
                reported::writing(&self.lock, Doing::Timed, || write() == Outcome::Acquired)
            });
            // SAFETY: acquired above, by this thread and with this context.
            let release = || unsafe { release_write(&self.lock, &context) };
            acquired.then(|| Defer(release))
        });
        // SAFETY: the lock is held to write.
        held.map(|_held| self.data.with_mut(|data| change(unsafe { &mut *data })))
    }
}

/// Shared access to an [`RwLock`]'s data; unlocks when dropped.
///
/// ```
/// let total = cohort::RwLock::new(1);
/// let guard: cohort::ReadGuard<'_, i32> = total.read();
/// assert_eq!(*guard, 1);
/// ```
#[must_use = "the lock is released as soon as its guard is dropped"]
pub struct ReadGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    /// The acquiring thread releases it: a thread's read locks may be counted.
    here: PhantomData<*const T>,
}

/// Exclusive access to an [`RwLock`]'s data; unlocks when dropped.
///
/// ```
/// let total = cohort::RwLock::new(1);
/// let mut guard: cohort::WriteGuard<'_, i32> = total.write();
/// *guard += 1;
/// assert_eq!(*guard, 2);
/// ```
#[must_use = "the lock is released as soon as its guard is dropped"]
pub struct WriteGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    data: PhantomData<&'a mut T>,
}

impl<T> RwLock<T> {
    crate::door::constructor! {
        /// A free lock around `data`.
        ///
        /// ```
        /// static WORDS: cohort::RwLock<Vec<&str>> = cohort::RwLock::new(Vec::new());
        /// WORDS.write().push("one");
        /// assert_eq!(WORDS.read().len(), 1);
        /// ```
        #[must_use]
        pub fn new(data: T) -> Self {
            Self::from_raw(RawRwLock::new(), data)
        }
    }
}

impl<T: ?Sized> RwLock<T> {
    fn reader(&self) -> ReadGuard<'_, T> {
        ReadGuard {
            lock: self,
            here: PhantomData,
        }
    }

    fn writer(&self) -> WriteGuard<'_, T> {
        WriteGuard {
            lock: self,
            data: PhantomData,
        }
    }

    /// Ends a read after its guard was forgotten.
    ///
    /// ```
    /// let total = cohort::RwLock::new(1);
    /// std::mem::forget(total.read());
    /// assert!(total.try_write().is_none());
    /// // SAFETY: forgotten above, in this thread.
    /// unsafe { total.force_unlock_read() };
    /// assert!(total.try_write().is_some());
    /// ```
    ///
    /// # Safety
    /// The calling thread reads, by a guard that was forgotten.
    pub unsafe fn force_unlock_read(&self) {
        // SAFETY: the caller's.
        unsafe { self.lock.end_read() };
    }

    /// Ends a write after its guard was forgotten.
    ///
    /// # Safety
    /// The lock is held to write, by a guard that was forgotten.
    ///
    /// ```
    /// let total = cohort::RwLock::new(1);
    /// std::mem::forget(total.write());
    /// assert!(total.try_read().is_none());
    /// // SAFETY: forgotten above.
    /// unsafe { total.force_unlock_write() };
    /// assert!(total.try_read().is_some());
    /// ```
    pub unsafe fn force_unlock_write(&self) {
        // SAFETY: the caller's.
        unsafe { self.lock.end_write() };
    }

    /// Ends a read after its guard was forgotten, as [`ReadGuard::unlock_fair`] does.
    ///
    /// ```
    /// let total = cohort::RwLock::new(1);
    /// std::mem::forget(total.read());
    /// // SAFETY: forgotten above, in this thread.
    /// unsafe { total.force_unlock_read_fair() };
    /// assert!(!total.is_locked());
    /// ```
    ///
    /// # Safety
    /// As [`force_unlock_read`](Self::force_unlock_read).
    pub unsafe fn force_unlock_read_fair(&self) {
        // SAFETY: the caller's.
        unsafe { self.lock.end_read_fair() };
    }

    /// Ends a write after its guard was forgotten, as [`WriteGuard::unlock_fair`] does.
    ///
    /// ```
    /// let total = cohort::RwLock::new(1);
    /// std::mem::forget(total.write());
    /// // SAFETY: forgotten above.
    /// unsafe { total.force_unlock_write_fair() };
    /// assert!(!total.is_locked());
    /// ```
    ///
    /// # Safety
    /// As [`force_unlock_write`](Self::force_unlock_write).
    pub unsafe fn force_unlock_write_fair(&self) {
        // SAFETY: the caller's.
        unsafe { self.lock.end_write_fair() };
    }

    /// Recreates a forgotten read guard.
    ///
    /// ```
    /// let total = cohort::RwLock::new(1);
    /// std::mem::forget(total.read());
    /// // SAFETY: forgotten above, in this thread.
    /// drop(unsafe { total.make_read_guard_unchecked() });
    /// assert!(!total.is_locked());
    /// ```
    ///
    /// # Safety
    /// The calling thread has taken a read lock for which there is no guard.
    pub unsafe fn make_read_guard_unchecked(&self) -> ReadGuard<'_, T> {
        self.reader()
    }

    /// Recreates a forgotten write guard.
    ///
    /// ```
    /// let total = cohort::RwLock::new(1);
    /// std::mem::forget(total.write());
    /// // SAFETY: forgotten above.
    /// *unsafe { total.make_write_guard_unchecked() } += 1;
    /// assert_eq!(*total.read(), 2);
    /// ```
    ///
    /// # Safety
    /// The lock is held to write, and there is no guard for that.
    pub unsafe fn make_write_guard_unchecked(&self) -> WriteGuard<'_, T> {
        self.writer()
    }

    /// Blocks until the data may be read.
    ///
    /// # Panics
    /// If half a million readers hold the lock.
    ///
    /// ```
    /// let total = cohort::RwLock::new(1);
    /// let (one, another) = (total.read(), total.read());
    /// assert_eq!(*one, *another);
    /// ```
    #[cfg_attr(observed, inline(always))]
    #[cfg_attr(not(observed), inline)]
    pub fn read(&self) -> ReadGuard<'_, T> {
        let taken = self.lock.begin_read(Doing::Read, &Patience::ENDLESS);
        assert!(taken, "{TOO_MANY}");
        self.reader()
    }

    /// Blocks until the data may be read, past waiting writers: for a thread that may already read
    /// it. Under a steady stream of such readers, writers starve.
    ///
    /// # Panics
    /// If half a million readers hold the lock.
    ///
    /// ```
    /// let total = cohort::RwLock::new(1);
    /// let guard = total.read();
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| *total.write() += 1);
    ///     assert_eq!(*total.read_recursive(), 1);
    ///     drop(guard);
    /// });
    /// ```
    #[cfg_attr(observed, inline(always))]
    #[cfg_attr(not(observed), inline)]
    pub fn read_recursive(&self) -> ReadGuard<'_, T> {
        let taken = self.lock.begin_read_again(Doing::Read, &Patience::ENDLESS);
        assert!(taken, "{TOO_MANY}");
        self.reader()
    }

    /// The same, if no writer holds the lock; never blocks.
    ///
    /// ```
    /// let total = cohort::RwLock::new(1);
    /// let guard = total.read();
    /// assert_eq!(total.try_read_recursive().as_deref(), Some(&1));
    /// drop(guard);
    /// let guard = total.write();
    /// assert!(total.try_read_recursive().is_none());
    /// # drop(guard);
    /// ```
    #[cfg_attr(observed, inline(always))]
    #[cfg_attr(not(observed), inline)]
    pub fn try_read_recursive(&self) -> Option<ReadGuard<'_, T>> {
        let read = || self.lock.try_read_again();
        reported::reading(&self.lock, Doing::Nothing, read).then(|| self.reader())
    }

    /// [`read_recursive`](Self::read_recursive), for at most `timeout`.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let total = cohort::RwLock::new(1);
    /// let (guard, soon) = (total.write(), Duration::from_millis(1));
    /// assert!(total.try_read_recursive_for(soon).is_none());
    /// # drop(guard);
    /// ```
    #[cfg_attr(observed, inline(always))]
    #[cfg_attr(not(observed), inline)]
    pub fn try_read_recursive_for(&self, timeout: Duration) -> Option<ReadGuard<'_, T>> {
        let taken = self.lock.begin_read_again(Doing::Timed, &patience(timeout));
        taken.then(|| self.reader())
    }

    /// Takes the lock to read unless a writer holds it or waits ahead; never blocks. A thread that
    /// waiting writers first refused at least five milliseconds ago passes them.
    ///
    /// ```
    /// let total = cohort::RwLock::new(1);
    /// let guard = total.write();
    /// assert!(total.try_read().is_none());
    /// drop(guard);
    /// assert_eq!(total.try_read().as_deref(), Some(&1));
    /// ```
    #[cfg_attr(observed, inline(always))]
    #[cfg_attr(not(observed), inline)]
    pub fn try_read(&self) -> Option<ReadGuard<'_, T>> {
        let taken = self.lock.begin_try_read();
        taken.then(|| self.reader())
    }

    /// Blocks until the data may be read, for at most `timeout`.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let total = cohort::RwLock::new(1);
    /// let soon = Duration::from_millis(1);
    /// let guard = total.write();
    /// assert!(total.try_read_for(soon).is_none());
    /// assert_eq!(format!("{total:?}"), "RwLock { <locked> }");
    /// drop(guard);
    /// assert_eq!(total.try_read_for(soon).as_deref(), Some(&1));
    /// assert_eq!(format!("{total:?}"), "RwLock { data: 1 }");
    /// ```
    #[cfg_attr(observed, inline(always))]
    #[cfg_attr(not(observed), inline)]
    pub fn try_read_for(&self, timeout: Duration) -> Option<ReadGuard<'_, T>> {
        let taken = self.lock.begin_read(Doing::Timed, &patience(timeout));
        taken.then(|| self.reader())
    }

    /// Blocks until the data may be read or the token is cancelled, which wakes this thread.
    ///
    /// ```
    /// let (total, stop) = (cohort::RwLock::new(1), cohort::Token::new());
    /// let guard = total.write();
    /// stop.cancel();
    /// assert!(total.read_unless(&stop).is_none());
    /// # drop(guard);
    /// ```
    #[cfg_attr(observed, inline(always))]
    #[cfg_attr(not(observed), inline)]
    pub fn read_unless(&self, token: &Token) -> Option<ReadGuard<'_, T>> {
        let patience = Patience::ENDLESS.unless(token);
        let taken = self.lock.begin_read(Doing::Timed, &patience);
        taken.then(|| self.reader())
    }

    /// Blocks until the data may be written.
    ///
    /// ```
    /// let total = cohort::RwLock::new(1);
    /// *total.write() += 1;
    /// assert_eq!(*total.read(), 2);
    /// ```
    #[cfg_attr(observed, inline(always))]
    #[cfg_attr(not(observed), inline)]
    pub fn write(&self) -> WriteGuard<'_, T> {
        let _ = self.lock.begin_write(Doing::Write, &Patience::ENDLESS);
        self.writer()
    }

    /// Takes the lock to write if it is free; never blocks.
    ///
    /// ```
    /// let total = cohort::RwLock::new(1);
    /// let guard = total.read();
    /// assert!(total.try_write().is_none());
    /// drop(guard);
    /// assert!(total.try_write().is_some());
    /// ```
    #[cfg_attr(observed, inline(always))]
    #[cfg_attr(not(observed), inline)]
    pub fn try_write(&self) -> Option<WriteGuard<'_, T>> {
        self.lock.begin_try_write().then(|| self.writer())
    }

    /// Blocks until the data may be written, for at most `timeout`.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let total = cohort::RwLock::new(1);
    /// let guard = total.read();
    /// assert!(total.try_write_for(Duration::from_millis(1)).is_none());
    /// # drop(guard);
    /// ```
    #[cfg_attr(observed, inline(always))]
    #[cfg_attr(not(observed), inline)]
    pub fn try_write_for(&self, timeout: Duration) -> Option<WriteGuard<'_, T>> {
        let taken = self.lock.begin_write(Doing::Timed, &patience(timeout));
        taken.then(|| self.writer())
    }

    /// Blocks until the data may be written or the token is cancelled, which wakes this thread.
    ///
    /// ```
    /// let (total, stop) = (cohort::RwLock::new(1), cohort::Token::new());
    /// let guard = total.read();
    /// stop.cancel();
    /// assert!(total.write_unless(&stop).is_none());
    /// # drop(guard);
    /// ```
    #[cfg_attr(observed, inline(always))]
    #[cfg_attr(not(observed), inline)]
    pub fn write_unless(&self, token: &Token) -> Option<WriteGuard<'_, T>> {
        let patience = Patience::ENDLESS.unless(token);
        let taken = self.lock.begin_write(Doing::Timed, &patience);
        taken.then(|| self.writer())
    }
}

/// Shows the data, or that a writer holds the lock or waits for it.
impl<T: ?Sized + fmt::Debug, L: RawShared> fmt::Debug for RwLock<T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let context = L::Context::default();
        // SAFETY: as in `reading`.
        let read = || unsafe { self.lock.try_read(&context, Recursion::Allowed) };
        if !reported::reading(&self.lock, Doing::Nothing, read) {
            return write!(f, "RwLock {{ <locked> }}");
        }
        // SAFETY: acquired above, by this thread and with this context.
        let _last = Defer(|| unsafe { release_read(&self.lock, &context) });
        // SAFETY: the lock is held to read.
        let data: &T = self.data.with(|data| unsafe { &*data });
        f.debug_struct("RwLock").field("data", &data).finish()
    }
}

// SAFETY: it lends `&T`.
unsafe impl<T: ?Sized + Sync> Sync for ReadGuard<'_, T> {}

impl<'a, T: ?Sized> ReadGuard<'a, T> {
    /// Runs `pause` without the lock, and blocks until the data may be read again, even while half
    /// a million readers hold the lock.
    ///
    /// ```
    /// use cohort::{ReadGuard, RwLock};
    ///
    /// let total = RwLock::new(1);
    /// let mut guard = total.read();
    /// ReadGuard::unlocked(&mut guard, || *total.write() += 1);
    /// assert_eq!(*guard, 2);
    /// ```
    pub fn unlocked<R>(this: &mut Self, pause: impl FnOnce() -> R) -> R {
        let lock = &this.lock.lock;
        // SAFETY: the guard reads, is borrowed, and is given back when it reads again.
        unsafe { lock.end_read() };
        let _last = Defer(|| lock.begin_read_at_last());
        pause()
    }

    /// The same, with a release as by [`unlock_fair`](Self::unlock_fair).
    ///
    /// ```
    /// use cohort::{ReadGuard, RwLock};
    ///
    /// let total = RwLock::new(1);
    /// let mut guard = total.read();
    /// ReadGuard::unlocked_fair(&mut guard, || *total.write() += 1);
    /// assert_eq!(*guard, 2);
    /// ```
    pub fn unlocked_fair<R>(this: &mut Self, pause: impl FnOnce() -> R) -> R {
        let lock = &this.lock.lock;
        // SAFETY: the guard reads, is borrowed, and is given back when it reads again.
        unsafe { lock.end_read_fair() };
        let _last = Defer(|| lock.begin_read_at_last());
        pause()
    }

    /// Ends the read. If it is the last and the lock has waiters, the head of the waiters acquires
    /// next, before any arrival, and further readers follow it. A thread that has only just
    /// arrived, or a reader that has not yet fallen asleep, has left no mark for a release to see.
    ///
    /// ```
    /// use cohort::{ReadGuard, RwLock};
    ///
    /// let total = RwLock::new(1);
    /// ReadGuard::unlock_fair(total.read());
    /// assert!(!total.is_locked());
    /// ```
    pub fn unlock_fair(this: Self) {
        let lock = this.lock;
        mem::forget(this);
        // SAFETY: the guard stood for one of the readers.
        unsafe { lock.lock.end_read_fair() };
    }

    /// Lets a waiter acquire the lock, if there is one, and blocks until the data may be read
    /// again.
    ///
    /// ```
    /// use cohort::{ReadGuard, RwLock};
    ///
    /// let total = RwLock::new(1);
    /// let mut guard = total.read();
    /// ReadGuard::bump(&mut guard);
    /// assert_eq!(*guard, 1);
    /// ```
    pub fn bump(this: &mut Self) {
        if this.lock.lock.is_waited_for() {
            Self::unlocked_fair(this, || ());
        }
    }
}

impl<'a, T: ?Sized> WriteGuard<'a, T> {
    /// The guard's lock.
    ///
    /// ```
    /// use cohort::{RwLock, WriteGuard};
    ///
    /// let total = RwLock::new(1);
    /// let guard = total.write();
    /// assert!(WriteGuard::rwlock(&guard).is_locked_exclusive());
    /// ```
    pub const fn rwlock(this: &Self) -> &'a RwLock<T> {
        this.lock
    }

    /// Runs `pause` without the lock, and blocks until the guard holds it again.
    ///
    /// ```
    /// use cohort::{RwLock, WriteGuard};
    ///
    /// let total = RwLock::new(1);
    /// let mut guard = total.write();
    /// WriteGuard::unlocked(&mut guard, || *total.write() += 1);
    /// assert_eq!(*guard, 2);
    /// ```
    pub fn unlocked<R>(this: &mut Self, pause: impl FnOnce() -> R) -> R {
        let lock = &this.lock.lock;
        // SAFETY: the guard writes, is borrowed, and is given back when it writes again.
        unsafe { lock.end_write() };
        let _last = Defer(|| {
            let _ = lock.begin_write(Doing::Write, &Patience::ENDLESS);
        });
        pause()
    }

    /// The same, with a release as by [`unlock_fair`](Self::unlock_fair).
    ///
    /// ```
    /// use cohort::{RwLock, WriteGuard};
    ///
    /// let total = RwLock::new(1);
    /// let mut guard = total.write();
    /// WriteGuard::unlocked_fair(&mut guard, || *total.write() += 1);
    /// assert_eq!(*guard, 2);
    /// ```
    pub fn unlocked_fair<R>(this: &mut Self, pause: impl FnOnce() -> R) -> R {
        let lock = &this.lock.lock;
        // SAFETY: the guard writes, is borrowed, and is given back when it writes again.
        unsafe { lock.end_write_fair() };
        let _last = Defer(|| {
            let _ = lock.begin_write(Doing::Write, &Patience::ENDLESS);
        });
        pause()
    }

    /// Ends the write. If the lock has waiters, one acquires next, before any arrival: as
    /// [`ReadGuard::unlock_fair`].
    ///
    /// ```
    /// use cohort::{RwLock, WriteGuard};
    ///
    /// let total = RwLock::new(1);
    /// WriteGuard::unlock_fair(total.write());
    /// assert!(!total.is_locked());
    /// ```
    pub fn unlock_fair(this: Self) {
        let lock = this.lock;
        mem::forget(this);
        // SAFETY: the guard stood for the writer.
        unsafe { lock.lock.end_write_fair() };
    }

    /// Lets a waiter acquire the lock, if there is one, and blocks until the data may be written
    /// again.
    ///
    /// ```
    /// use cohort::{RwLock, WriteGuard};
    ///
    /// let total = RwLock::new(1);
    /// let mut guard = total.write();
    /// WriteGuard::bump(&mut guard);
    /// *guard += 1;
    /// ```
    pub fn bump(this: &mut Self) {
        if this.lock.lock.is_waited_for() {
            Self::unlocked_fair(this, || ());
        }
    }
}

impl<T: ?Sized> Deref for ReadGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard holds the lock to read.
        self.lock.data.with(|data| unsafe { &*data })
    }
}

impl<T: ?Sized> Deref for WriteGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard holds the lock to write.
        self.lock.data.with(|data| unsafe { &*data })
    }
}

impl<T: ?Sized> DerefMut for WriteGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and the guard is borrowed mutably.
        self.lock.data.with_mut(|data| unsafe { &mut *data })
    }
}

impl<T: ?Sized> Drop for ReadGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the guard stands for one of its readers.
        unsafe { self.lock.lock.end_read() };
    }
}

impl<T: ?Sized> Drop for WriteGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the guard stands for its writer.
        unsafe { self.lock.lock.end_write() };
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for ReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for WriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for ReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for WriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::RwLock;
    use crate::door::{has_yielded, waits_often};
    use crate::rwlock::{CRwNp, CRwWp, RawRwLock};
    use cohort_raw::{Outcome, Patience, RawShared};
    use core::time::Duration;
    use std::thread;

    /// Long enough for a waiter to fall asleep, or to yield if it does.
    const WAIT: Duration = Duration::from_millis(50);

    /// Whether a reader and a writer that wait for the first time yield.
    fn yield_when_they_wait<R: RawShared + Default + Sync + 'static>() -> (bool, bool)
    where
        RwLock<(), R>: Sync,
    {
        let lock = RwLock::<(), R>::from(());
        let mut yielded = (true, true);
        let (lock, (reader, writer)) = (&lock, (&mut yielded.0, &mut yielded.1));
        thread::scope(|scope| {
            lock.writing(|_| {
                scope.spawn(|| {
                    lock.reading(|_| ());
                    *reader = has_yielded();
                });
                thread::sleep(WAIT);
            });
        });
        thread::scope(|scope| {
            lock.reading(|_| {
                scope.spawn(|| {
                    lock.writing(|_| ());
                    *writer = has_yielded();
                });
                thread::sleep(WAIT);
            });
        });
        yielded
    }

    /// Whether a thread that has just done this many times waits often.
    fn waits_often_after(does: fn(&RawRwLock)) -> bool {
        let lock = RawRwLock::new();
        thread::spawn(move || {
            (0..u8::BITS).for_each(|_| does(&lock));
            waits_often()
        })
        .join()
        .unwrap()
    }

    #[test]
    fn what_is_free_is_no_wait() {
        assert!(!waits_often_after(|lock| {
            assert_eq!(lock.read_upgradably(&Patience::ENDLESS), Outcome::Acquired);
            // SAFETY: held above.
            unsafe {
                assert_eq!(lock.upgrade(&Patience::ENDLESS), Outcome::Acquired);
                lock.release_write();
            }
        }));
    }

    #[test]
    fn threads_that_seldom_wait_sleep_without_yielding() {
        assert_eq!(yield_when_they_wait::<RawRwLock>(), (false, false));
        assert_eq!(yield_when_they_wait::<CRwNp>(), (false, false));
        assert_eq!(yield_when_they_wait::<CRwWp>(), (false, false));
    }
}
