//! The names that the crate `parking_lot` exports, for the locks of this crate.
//!
//! ```
//! use cohort::compat::parking_lot::{Condvar, Mutex};
//!
//! static READY: Mutex<bool> = Mutex::new(false);
//! static CHANGED: Condvar = Condvar::new();
//!
//! std::thread::spawn(|| {
//!     *READY.lock() = true;
//!     CHANGED.notify_all();
//! });
//! let mut ready = READY.lock();
//! CHANGED.wait_while(&mut ready, |ready| !*ready);
//! ```
//!
//! Guards, mapped guards, and guards of locks in an `Arc`:
//!
//! ```
//! use cohort::compat::parking_lot::*;
//! use std::sync::Arc;
//!
//! let (pair, arc) = (Mutex::new((1, "one")), Arc::new(Mutex::new(1)));
//! let guard: MutexGuard<'_, _> = pair.lock();
//! let number: MappedMutexGuard<'_, i32> = MutexGuard::map(guard, |pair| &mut pair.0);
//! let owned: ArcMutexGuard<i32> = arc.lock_arc();
//! assert_eq!(*number, *owned);
//!
//! let fair = FairMutex::new((1, "one"));
//! let guard: FairMutexGuard<'_, _> = fair.lock();
//! let _: MappedFairMutexGuard<'_, i32> = FairMutexGuard::map(guard, |pair| &mut pair.0);
//!
//! let (pair, arc) = (RwLock::new((1, "one")), Arc::new(RwLock::new(1)));
//! let guard: RwLockReadGuard<'_, _> = pair.read();
//! drop::<MappedRwLockReadGuard<'_, i32>>(RwLockReadGuard::map(guard, |pair| &pair.0));
//! let guard: RwLockUpgradableReadGuard<'_, _> = pair.upgradable_read();
//! let guard: RwLockWriteGuard<'_, _> = RwLockUpgradableReadGuard::upgrade(guard);
//! let _: MappedRwLockWriteGuard<'_, i32> = RwLockWriteGuard::map(guard, |pair| &mut pair.0);
//! drop::<ArcRwLockReadGuard<i32>>(arc.read_arc());
//! drop::<ArcRwLockWriteGuard<i32>>(arc.write_arc());
//! drop::<ArcRwLockUpgradableReadGuard<i32>>(arc.upgradable_read_arc());
//!
//! let (pair, arc) = (ReentrantMutex::new((1, "one")), Arc::new(ReentrantMutex::new(1)));
//! let guard: ReentrantMutexGuard<'_, _> = pair.lock();
//! let _: MappedReentrantMutexGuard<'_, i32> = ReentrantMutexGuard::map(guard, |pair| &pair.0);
//! drop::<ArcReentrantMutexGuard<i32>>(arc.lock_arc());
//! ```
//!
//! The types are those of `lock_api`, with the same methods: fair releases, deadlines, upgrades and
//! downgrades. `docs/from-parking-lot.md` lists the differences in behaviour.

use crate::door::thread;
use crate::support::condvar::{RawCondvar, Waited};
use crate::sync::condvar::waits_while;
use crate::sync::interop::instant::left;
use crate::sync::mutex::patience;
use cohort_raw::Patience;
use core::fmt;
use core::num::NonZeroUsize;
use core::time::Duration;
use std::time::Instant;

extern crate std;

pub use crate::numa::FutexHmcs as RawMutex;
pub use crate::rwlock::RawRwLock;
pub use crate::sync::condvar::WaitTimeoutResult;
pub use crate::sync::fair::FairLock as RawFairMutex;
pub use crate::sync::once::{Once, OnceState};
pub use ::lock_api;

/// A mutex under the default lock.
pub type Mutex<T> = lock_api::Mutex<RawMutex, T>;
/// Access to a [`Mutex`]'s data.
pub type MutexGuard<'a, T> = lock_api::MutexGuard<'a, RawMutex, T>;
/// Access to a part of a [`Mutex`]'s data.
pub type MappedMutexGuard<'a, T> = lock_api::MappedMutexGuard<'a, RawMutex, T>;
/// Access to the data of a [`Mutex`] in an `Arc`.
pub type ArcMutexGuard<T> = lock_api::ArcMutexGuard<RawMutex, T>;

/// A mutex with FIFO order.
pub type FairMutex<T> = lock_api::Mutex<RawFairMutex, T>;
/// Access to a [`FairMutex`]'s data.
pub type FairMutexGuard<'a, T> = lock_api::MutexGuard<'a, RawFairMutex, T>;
/// Access to a part of a [`FairMutex`]'s data.
pub type MappedFairMutexGuard<'a, T> = lock_api::MappedMutexGuard<'a, RawFairMutex, T>;

/// Data that many threads may read or one may write.
pub type RwLock<T> = lock_api::RwLock<RawRwLock, T>;
/// Shared access to an [`RwLock`]'s data.
pub type RwLockReadGuard<'a, T> = lock_api::RwLockReadGuard<'a, RawRwLock, T>;
/// Exclusive access to an [`RwLock`]'s data.
pub type RwLockWriteGuard<'a, T> = lock_api::RwLockWriteGuard<'a, RawRwLock, T>;
/// Shared access to an [`RwLock`]'s data that can become exclusive.
pub type RwLockUpgradableReadGuard<'a, T> = lock_api::RwLockUpgradableReadGuard<'a, RawRwLock, T>;
/// Shared access to a part of an [`RwLock`]'s data.
pub type MappedRwLockReadGuard<'a, T> = lock_api::MappedRwLockReadGuard<'a, RawRwLock, T>;
/// Exclusive access to a part of an [`RwLock`]'s data.
pub type MappedRwLockWriteGuard<'a, T> = lock_api::MappedRwLockWriteGuard<'a, RawRwLock, T>;
/// Shared access to the data of an [`RwLock`] in an `Arc`.
pub type ArcRwLockReadGuard<T> = lock_api::ArcRwLockReadGuard<RawRwLock, T>;
/// Exclusive access to the data of an [`RwLock`] in an `Arc`.
pub type ArcRwLockWriteGuard<T> = lock_api::ArcRwLockWriteGuard<RawRwLock, T>;
/// Shared access to the data of an [`RwLock`] in an `Arc` that can become exclusive.
pub type ArcRwLockUpgradableReadGuard<T> = lock_api::ArcRwLockUpgradableReadGuard<RawRwLock, T>;

/// A mutex that its holder may lock again.
pub type ReentrantMutex<T> = lock_api::ReentrantMutex<RawMutex, RawThreadId, T>;
/// Shared access to a [`ReentrantMutex`]'s data.
pub type ReentrantMutexGuard<'a, T> = lock_api::ReentrantMutexGuard<'a, RawMutex, RawThreadId, T>;
/// Shared access to a part of a [`ReentrantMutex`]'s data.
pub type MappedReentrantMutexGuard<'a, T> =
    lock_api::MappedReentrantMutexGuard<'a, RawMutex, RawThreadId, T>;
/// Shared access to the data of a [`ReentrantMutex`] in an `Arc`.
pub type ArcReentrantMutexGuard<T> = lock_api::ArcReentrantMutexGuard<RawMutex, RawThreadId, T>;

/// Creates a mutex around `data`, as [`Mutex::new`](lock_api::Mutex::new) does.
///
/// ```
/// use cohort::compat::parking_lot::{Mutex, const_mutex};
///
/// static TOTAL: Mutex<u64> = const_mutex(1);
/// assert_eq!(*TOTAL.lock(), 1);
/// ```
pub const fn const_mutex<T>(data: T) -> Mutex<T> {
    Mutex::from_raw(RawMutex::new(), data)
}

/// Creates a mutex with FIFO order around `data`.
///
/// ```
/// use cohort::compat::parking_lot::{FairMutex, const_fair_mutex};
///
/// static TOTAL: FairMutex<u64> = const_fair_mutex(1);
/// assert_eq!(*TOTAL.lock(), 1);
/// ```
pub const fn const_fair_mutex<T>(data: T) -> FairMutex<T> {
    FairMutex::from_raw(<RawFairMutex as lock_api::RawMutex>::INIT, data)
}

/// Creates a reader–writer lock around `data`.
///
/// ```
/// use cohort::compat::parking_lot::{RwLock, const_rwlock};
///
/// static TOTAL: RwLock<u64> = const_rwlock(1);
/// assert_eq!(*TOTAL.read(), 1);
/// ```
pub const fn const_rwlock<T>(data: T) -> RwLock<T> {
    RwLock::from_raw(RawRwLock::new(), data)
}

/// Creates a mutex around `data` that its holder may lock again.
///
/// ```
/// use cohort::compat::parking_lot::{ReentrantMutex, const_reentrant_mutex};
///
/// static TOTAL: ReentrantMutex<u64> = const_reentrant_mutex(1);
/// assert_eq!(*TOTAL.lock() + *TOTAL.lock(), 2);
/// ```
pub const fn const_reentrant_mutex<T>(data: T) -> ReentrantMutex<T> {
    ReentrantMutex::from_raw(RawMutex::new(), RawThreadId, data)
}

/// Names of threads, for [`ReentrantMutex`].
///
/// ```
/// use cohort::compat::parking_lot::{RawThreadId, lock_api::GetThreadId};
///
/// let here = RawThreadId.nonzero_thread_id();
/// assert_eq!(here, RawThreadId.nonzero_thread_id());
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct RawThreadId;

// SAFETY: the names of a process's threads are distinct.
unsafe impl lock_api::GetThreadId for RawThreadId {
    const INIT: Self = Self;

    fn nonzero_thread_id(&self) -> NonZeroUsize {
        NonZeroUsize::new(thread().name()).unwrap_or(NonZeroUsize::MIN)
    }
}

/// A condition variable: threads wait until a [`Mutex`]'s data has changed. Twenty bytes. Waiters
/// are notified by real-time priority, FIFO among equals; they may use several mutexes.
///
/// ```
/// use cohort::compat::parking_lot::{Condvar, Mutex};
/// use std::time::{Duration, Instant};
///
/// let (mutex, changed) = (Mutex::new(1), Condvar::new());
/// let mut guard = mutex.lock();
/// assert!(changed.wait_for(&mut guard, Duration::from_millis(1)).timed_out());
/// assert!(changed.wait_until(&mut guard, Instant::now()).timed_out());
/// ```
#[derive(Default)]
pub struct Condvar {
    queue: RawCondvar,
}

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Condvar").finish_non_exhaustive()
    }
}

impl Condvar {
    /// Creates a condition without waiters.
    ///
    /// ```
    /// use cohort::compat::parking_lot::Condvar;
    ///
    /// static CHANGED: Condvar = Condvar::new();
    /// CHANGED.notify_all();
    /// ```
    #[must_use]
    pub const fn new() -> Self {
        Self {
            queue: RawCondvar::new(),
        }
    }

    /// Wakes the waiter of the highest real-time priority, FIFO among equals; false without a
    /// waiter.
    ///
    /// ```
    /// use cohort::compat::parking_lot::{Condvar, Mutex};
    ///
    /// let (turns, changed) = (Mutex::new(0), Condvar::new());
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| changed.wait_while(&mut turns.lock(), |turns| *turns == 0));
    ///     *turns.lock() += 1;
    ///     changed.notify_one();
    /// });
    /// ```
    pub fn notify_one(&self) -> bool {
        self.queue.notify_one()
    }

    /// Wakes all waiters, and returns their number.
    ///
    /// ```
    /// use cohort::compat::parking_lot::{Condvar, Mutex};
    ///
    /// let (turns, changed) = (Mutex::new(0), Condvar::new());
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| changed.wait_while(&mut turns.lock(), |turns| *turns == 0));
    ///     *turns.lock() += 1;
    ///     changed.notify_all();
    /// });
    /// ```
    pub fn notify_all(&self) -> usize {
        self.queue.notify_all()
    }

    fn wait_within<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        patience: &Patience,
    ) -> WaitTimeoutResult {
        // SAFETY: the guard holds the lock, is borrowed, and is returned when it holds the lock
        // again; every thread that signals does so above.
        let waited = unsafe {
            let lock = MutexGuard::mutex(guard).raw();
            self.queue.wait_with(lock, patience)
        };
        WaitTimeoutResult(waited == Waited::GaveUp)
    }

    /// Unlocks the mutex, blocks until the thread is notified, and locks the mutex again.
    ///
    /// ```
    /// use cohort::compat::parking_lot::{Condvar, Mutex};
    ///
    /// let (ready, changed) = (Mutex::new(false), Condvar::new());
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| {
    ///         *ready.lock() = true;
    ///         changed.notify_one();
    ///     });
    ///     let mut ready = ready.lock();
    ///     while !*ready {
    ///         changed.wait(&mut ready);
    ///     }
    /// });
    /// ```
    pub fn wait<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T>) {
        let _ = self.wait_within(guard, &Patience::ENDLESS);
    }

    /// [`wait`](Self::wait), with a timeout.
    ///
    /// ```
    /// use cohort::compat::parking_lot::{Condvar, Mutex};
    /// use std::time::Duration;
    ///
    /// let (mutex, changed) = (Mutex::new(()), Condvar::new());
    /// assert!(changed.wait_for(&mut mutex.lock(), Duration::from_millis(1)).timed_out());
    /// ```
    pub fn wait_for<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        timeout: Duration,
    ) -> WaitTimeoutResult {
        self.wait_within(guard, &patience(timeout))
    }

    /// [`wait`](Self::wait), until the deadline at most.
    ///
    /// ```
    /// use cohort::compat::parking_lot::{Condvar, Mutex};
    /// use std::time::Instant;
    ///
    /// let (mutex, changed) = (Mutex::new(()), Condvar::new());
    /// assert!(changed.wait_until(&mut mutex.lock(), Instant::now()).timed_out());
    /// ```
    pub fn wait_until<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        deadline: Instant,
    ) -> WaitTimeoutResult {
        self.wait_for(guard, left(deadline))
    }

    /// Waits while `goes_on`, evaluated under the mutex, returns true.
    ///
    /// ```
    /// use cohort::compat::parking_lot::{Condvar, Mutex};
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
    pub fn wait_while<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        goes_on: impl FnMut(&mut T) -> bool,
    ) {
        let _ = self.wait_while_within(guard, goes_on, &Patience::ENDLESS);
    }

    /// [`wait_while`](Self::wait_while), with a timeout.
    ///
    /// ```
    /// use cohort::compat::parking_lot::{Condvar, Mutex};
    /// use std::time::Duration;
    ///
    /// let (ready, changed, soon) = (Mutex::new(false), Condvar::new(), Duration::from_millis(1));
    /// assert!(changed.wait_while_for(&mut ready.lock(), |ready| !*ready, soon).timed_out());
    /// ```
    pub fn wait_while_for<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        goes_on: impl FnMut(&mut T) -> bool,
        timeout: Duration,
    ) -> WaitTimeoutResult {
        self.wait_while_within(guard, goes_on, &patience(timeout))
    }

    /// [`wait_while`](Self::wait_while), until the deadline at most.
    ///
    /// ```
    /// use cohort::compat::parking_lot::{Condvar, Mutex};
    /// use std::time::Instant;
    ///
    /// let (ready, changed, now) = (Mutex::new(false), Condvar::new(), Instant::now());
    /// assert!(changed.wait_while_until(&mut ready.lock(), |ready| !*ready, now).timed_out());
    /// ```
    pub fn wait_while_until<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        goes_on: impl FnMut(&mut T) -> bool,
        deadline: Instant,
    ) -> WaitTimeoutResult {
        self.wait_while_for(guard, goes_on, left(deadline))
    }

    fn wait_while_within<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        goes_on: impl FnMut(&mut T) -> bool,
        patience: &Patience,
    ) -> WaitTimeoutResult {
        waits_while(guard, goes_on, |guard| self.wait_within(guard, patience))
    }
}
