//! `Mutex<T>`: data behind a lock, the default one or any other.

use crate::at_last::AtLast;
use crate::door::{Cell, now};
use crate::numa::FutexHmcs;
use cohort_raw::{Abortable, Deadline, Outcome, Patience, RawLock, RawTry, ThreadOblivious};
use core::fmt;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use core::time::Duration;

/// Data that one thread at a time may touch.  The default lock takes eight bytes beside the
/// data.  Not poisoned by a panic, which releases the lock.
///
/// Any other lock can stand in for that one.  A lock whose acquisitions carry a context has
/// no guards, since a guard can be moved and a context cannot: it is used through closures.
///
/// ```
/// use cohort::Mutex;
/// use cohort::basic::{Mcs, Ticket};
/// use cohort::compose::{CacheGroup, Clof, Gated, Numa};
///
/// // Threads that share a cache take turns first, then those of a NUMA node.
/// type Near = Clof<Ticket, Clof<Mcs, Ticket, Numa>, CacheGroup>;
/// let total: Mutex<u64, Near> = Mutex::from(1);
/// assert_eq!(total.locking(|total| { *total += 1; *total }), 2);
///
/// // In strict order, but for more threads than CPUs.
/// let list: Mutex<Vec<u32>, Gated<Ticket>> = Mutex::from(Vec::new());
/// list.lock().push(1);
/// ```
#[derive(Debug, Default)]
pub struct Mutex<T, L = FutexHmcs> {
    lock: L,
    data: Cell<T>,
}

/// Access to a [`Mutex`]'s data; unlocks when dropped.
#[must_use = "the mutex is unlocked as soon as its guard is dropped"]
pub struct MutexGuard<'a, T, L: RawLock = FutexHmcs> {
    mutex: &'a Mutex<T, L>,
    /// A guard shares what `&mut T` may share.
    data: PhantomData<&'a mut T>,
}

impl<T> Mutex<T> {
    crate::door::constructor! {
        /// A mutex around `data`, unlocked.
        #[must_use]
        pub fn new(data: T) -> Self {
            Self {
                lock: FutexHmcs::new(),
                data: Cell::new(data),
            }
        }
    }
}

impl<T, L: RawLock> From<T> for Mutex<T, L> {
    fn from(data: T) -> Self {
        Self {
            lock: L::default(),
            data: Cell::new(data),
        }
    }
}

impl<T, L> Mutex<T, L> {
    /// Where the data is.  To look there without holding the mutex is a race.
    pub fn data_ptr(&self) -> *mut T {
        self.data.with_mut(|data| data)
    }
}

/// By guards, which may go to another thread.
impl<T, L: RawLock<Context = ()> + ThreadOblivious> Mutex<T, L> {
    fn guard(&self) -> MutexGuard<'_, T, L> {
        MutexGuard {
            mutex: self,
            data: PhantomData,
        }
    }

    /// Blocks until the mutex is locked.  Locking it twice in one thread never
    /// returns.
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T, L> {
        self.lock.acquire(&());
        self.guard()
    }

    /// Locks the mutex if nobody has; never blocks.
    #[inline]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T, L>>
    where
        L: RawTry,
    {
        self.lock.try_acquire(&()).then(|| self.guard())
    }

    /// Blocks until the mutex is locked or patience runs out.
    #[inline]
    pub fn lock_within(&self, patience: &Patience) -> Option<MutexGuard<'_, T, L>>
    where
        L: Abortable,
    {
        (self.lock.acquire_within(&(), patience) == Outcome::Acquired).then(|| self.guard())
    }

    /// Blocks until the mutex is locked, but no longer than that.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let total = cohort::Mutex::new(1);
    /// let guard = total.lock();
    /// assert!(total.try_lock_for(Duration::from_millis(1)).is_none());
    /// drop(guard);
    /// assert_eq!(total.try_lock_for(Duration::from_millis(1)).map(|total| *total), Some(1));
    /// ```
    #[inline]
    pub fn try_lock_for(&self, timeout: Duration) -> Option<MutexGuard<'_, T, L>>
    where
        L: Abortable,
    {
        self.lock_within(&patience(timeout))
    }
}

/// By closures, under every lock.
impl<T, L: RawLock> Mutex<T, L> {
    /// Blocks until the mutex is locked, and lets `section` have the data.  Locking it
    /// twice in one thread never returns.
    #[inline]
    pub fn locking<R>(&self, section: impl FnOnce(&mut T) -> R) -> R {
        let context = L::Context::default();
        self.lock.acquire(&context);
        // SAFETY: acquired just now, with this context.
        unsafe { self.inside(&context, section) }
    }

    /// Lets `section` have the data if nobody has; never blocks for the lock.
    #[inline]
    pub fn try_locking<R>(&self, section: impl FnOnce(&mut T) -> R) -> Option<R>
    where
        L: RawTry,
    {
        let context = L::Context::default();
        let locked = self.lock.try_acquire(&context);
        // SAFETY: as above.
        locked.then(|| unsafe { self.inside(&context, section) })
    }

    /// Blocks until the mutex is locked or patience runs out, and lets `section` have the
    /// data if it is.
    #[inline]
    pub fn locking_within<R>(
        &self,
        patience: &Patience,
        section: impl FnOnce(&mut T) -> R,
    ) -> Option<R>
    where
        L: Abortable,
    {
        let context = L::Context::default();
        let outcome = self.lock.acquire_within(&context, patience);
        // SAFETY: as above.
        (outcome == Outcome::Acquired).then(|| unsafe { self.inside(&context, section) })
    }

    /// Blocks until the mutex is locked, but no longer than that, and lets `section` have the
    /// data if it is.
    ///
    /// ```
    /// use cohort::Mutex;
    /// use cohort::numa::HmcsT2;
    /// use std::time::Duration;
    ///
    /// // Waiters stand in a queue for each NUMA node, and leave it when their time is up.
    /// let total: Mutex<u64, HmcsT2> = Mutex::from(1);
    /// let soon = Duration::from_millis(1);
    /// total.locking(|_| assert_eq!(total.try_locking_for(soon, |total| *total), None));
    /// assert_eq!(total.try_locking_for(soon, |total| *total), Some(1));
    /// ```
    #[inline]
    pub fn try_locking_for<R>(
        &self,
        timeout: Duration,
        section: impl FnOnce(&mut T) -> R,
    ) -> Option<R>
    where
        L: Abortable,
    {
        self.locking_within(&patience(timeout), section)
    }

    /// Runs the section, and releases.
    ///
    /// # Safety
    /// The caller has acquired the lock, with that context.
    #[inline(always)]
    unsafe fn inside<R>(&self, context: &L::Context, section: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: the caller's.
        let _last = AtLast(|| unsafe { self.lock.release(context) });
        // SAFETY: the lock is held.
        self.data.with_mut(|data| section(unsafe { &mut *data }))
    }
}

/// So long from now; for ever, if that is beyond the clock.
pub(crate) fn patience(timeout: Duration) -> Patience {
    let nanoseconds = u64::try_from(timeout.as_nanos()).ok();
    let end = nanoseconds.and_then(|nanoseconds| now().checked_add(nanoseconds));
    end.map_or(Patience::ENDLESS, |end| {
        Patience::until(Deadline::monotonic(end))
    })
}

impl<T, L: RawLock> Deref for MutexGuard<'_, T, L> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard holds the lock, and lends the data no longer than
        // itself.
        self.mutex.data.with(|data| unsafe { &*data })
    }
}

impl<T, L: RawLock> DerefMut for MutexGuard<'_, T, L> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and the guard is borrowed mutably.
        self.mutex.data.with_mut(|data| unsafe { &mut *data })
    }
}

impl<T, L: RawLock> Drop for MutexGuard<'_, T, L> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the guard stands for the acquisition.
        unsafe { self.mutex.lock.release(&L::Context::default()) };
    }
}

impl<T: fmt::Debug, L: RawLock> fmt::Debug for MutexGuard<'_, T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
