//! The names that the crate `parking_lot` exports from version 0.13 on, for the locks of this crate
//! (feature `lock_api_05`, Rust 1.95).
//!
//! ```
//! use cohort::compat::parking_lot_013::{Condvar, Mutex};
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
//! use cohort::compat::parking_lot_013::*;
//! use std::sync::Arc;
//!
//! let (pair, arc) = (Mutex::new((1, "one")), Arc::new(Mutex::new(1)));
//! let guard: MutexGuard<'_, _> = pair.lock();
//! let number: MappedMutexGuard<'_, i32> = MutexGuard::map(guard, |pair| &mut pair.0);
//! let owned: ArcMutexGuard<RawMutex, i32> = arc.lock_arc();
//! assert_eq!(*number, *owned);
//!
//! let fair = FairMutex::new((1, "one"));
//! let guard: FairMutexGuard<'_, _> = fair.lock();
//! let _: MappedFairMutexGuard<'_, i32> = FairMutexGuard::map(guard, |pair| &mut pair.0);
//!
//! let pair = RwLock::new((1, "one"));
//! let guard: RwLockReadGuard<'_, _> = pair.read();
//! drop::<MappedRwLockReadGuard<'_, i32>>(RwLockReadGuard::map(guard, |pair| &pair.0));
//! let guard: RwLockUpgradableReadGuard<'_, _> = pair.upgradable_read();
//! let guard: RwLockWriteGuard<'_, _> = RwLockUpgradableReadGuard::upgrade(guard);
//! let _: MappedRwLockWriteGuard<'_, i32> = RwLockWriteGuard::map(guard, |pair| &mut pair.0);
//!
//! let pair = RecursiveRwLock::new((1, "one"));
//! let guard: RecursiveRwLockReadGuard<'_, _> = pair.read();
//! let again: MappedRecursiveRwLockReadGuard<'_, i32> =
//!     RecursiveRwLockReadGuard::map(pair.read(), |pair| &pair.0);
//! drop((guard, again));
//! let guard: RecursiveRwLockUpgradableReadGuard<'_, _> = pair.upgradable_read();
//! let guard: RecursiveRwLockWriteGuard<'_, _> =
//!     RecursiveRwLockUpgradableReadGuard::upgrade(guard);
//! let _: MappedRecursiveRwLockWriteGuard<'_, i32> =
//!     RecursiveRwLockWriteGuard::map(guard, |pair| &mut pair.0);
//!
//! let pair = ReentrantMutex::new((1, "one"));
//! let guard: ReentrantMutexGuard<'_, _> = pair.lock();
//! let _: MappedReentrantMutexGuard<'_, i32> = ReentrantMutexGuard::map(guard, |pair| &pair.0);
//! ```
//!
//! The types are those of `lock_api` 0.5, with the same methods. `docs/from-parking-lot.md` lists
//! the differences in behaviour.

use crate::door::thread;
use crate::rwlock::read_at_last;
use crate::sync::interop::instant::left;
use crate::sync::mutex::patience;
use ::lock_api_05::{GuardNoSend, GuardSend};
use cohort_raw::{Outcome, Patience};
use core::num::NonZeroUsize;
use core::time::Duration;
use std::time::Instant;

extern crate std;

pub use crate::numa::FutexHmcs as RawMutex;
pub use crate::rwlock::RawRwLock;
pub use crate::sync::fair::FairLock as RawFairMutex;
pub use crate::sync::once::{Once, OnceState};
pub use ::lock_api_05 as lock_api;
pub use ::lock_api_05::{
    ArcMutexGuard, ArcReentrantMutexGuard, ArcRwLockReadGuard, ArcRwLockUpgradableReadGuard,
    ArcRwLockWriteGuard, WaitTimeoutResult,
};

/// A mutex under the default lock.
pub type Mutex<T> = lock_api::Mutex<RawMutex, T>;
/// Access to a [`Mutex`]'s data.
pub type MutexGuard<'a, T> = lock_api::MutexGuard<'a, RawMutex, T>;
/// Access to a part of a [`Mutex`]'s data.
pub type MappedMutexGuard<'a, T> = lock_api::MappedMutexGuard<'a, RawMutex, T>;

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

/// An [`RwLock`] that a reader may read again: its readers never wait for waiting writers.
pub type RecursiveRwLock<T> = lock_api::RwLock<RawRwLockRecursive, T>;
/// Shared access to a [`RecursiveRwLock`]'s data.
pub type RecursiveRwLockReadGuard<'a, T> = lock_api::RwLockReadGuard<'a, RawRwLockRecursive, T>;
/// Exclusive access to a [`RecursiveRwLock`]'s data.
pub type RecursiveRwLockWriteGuard<'a, T> = lock_api::RwLockWriteGuard<'a, RawRwLockRecursive, T>;
/// Shared access to a [`RecursiveRwLock`]'s data that can become exclusive.
pub type RecursiveRwLockUpgradableReadGuard<'a, T> =
    lock_api::RwLockUpgradableReadGuard<'a, RawRwLockRecursive, T>;
/// Shared access to a part of a [`RecursiveRwLock`]'s data.
pub type MappedRecursiveRwLockReadGuard<'a, T> =
    lock_api::MappedRwLockReadGuard<'a, RawRwLockRecursive, T>;
/// Exclusive access to a part of a [`RecursiveRwLock`]'s data.
pub type MappedRecursiveRwLockWriteGuard<'a, T> =
    lock_api::MappedRwLockWriteGuard<'a, RawRwLockRecursive, T>;

/// A mutex that its holder may lock again.
pub type ReentrantMutex<T> = lock_api::ReentrantMutex<RawMutex, RawThreadId, T>;
/// Shared access to a [`ReentrantMutex`]'s data.
pub type ReentrantMutexGuard<'a, T> = lock_api::ReentrantMutexGuard<'a, RawMutex, RawThreadId, T>;
/// Shared access to a part of a [`ReentrantMutex`]'s data.
pub type MappedReentrantMutexGuard<'a, T> =
    lock_api::MappedReentrantMutexGuard<'a, RawMutex, RawThreadId, T>;

/// A condition variable: threads wait until a [`Mutex`]'s data has changed. Waiters may use several
/// mutexes.
///
/// ```
/// use cohort::compat::parking_lot_013::Condvar;
///
/// static CHANGED: Condvar = Condvar::new();
/// assert!(!CHANGED.notify_one());
/// ```
pub type Condvar = lock_api::Condvar<RawCondvar>;

/// Names of threads, for [`ReentrantMutex`].
///
/// ```
/// use cohort::compat::parking_lot_013::{RawThreadId, lock_api::GetThreadId};
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

/// The queue of a [`Condvar`], 20 bytes. Waiters are notified by real-time priority, FIFO among
/// equals, and counted exactly.
///
/// ```
/// use cohort::compat::parking_lot_013::{Mutex, RawCondvar, lock_api};
/// use std::time::{Duration, Instant};
///
/// let (mutex, changed) = (Mutex::new(1), lock_api::Condvar::<RawCondvar>::new());
/// let mut guard = mutex.lock();
/// assert!(changed.wait_for(&mut guard, Duration::from_millis(1)).timed_out());
/// assert!(changed.wait_until(&mut guard, Instant::now()).timed_out());
/// assert!(!changed.notify_one());
/// ```
pub type RawCondvar = crate::lock_api_05::RawCondvar<RawMutex>;

/// A [`RawRwLock`] that a reader may read again: its readers never wait for waiting writers.
///
/// ```
/// use cohort::compat::parking_lot_013::{RawRwLockRecursive, lock_api::RwLock};
///
/// static TOTAL: RwLock<RawRwLockRecursive, u64> = RwLock::new(1);
/// let outer = TOTAL.read();
/// std::thread::scope(|scope| {
///     scope.spawn(|| *TOTAL.write() += 1);
///     assert_eq!(*outer, *TOTAL.read());
///     drop(outer);
/// });
/// assert_eq!(*TOTAL.read(), 2);
/// ```
#[derive(Debug, Default)]
pub struct RawRwLockRecursive(RawRwLock);

/// Whether a timed or tried shared acquisition succeeded, as a guard's state.
#[inline]
fn state(is_acquired: bool) -> Option<GuardNoSend> {
    is_acquired.then(GuardNoSend::new)
}

// SAFETY: the inner lock's; so for all below. Beyond the largest countable number of readers, a
// reader waits.
unsafe impl lock_api::RawRwLock for RawRwLockRecursive {
    const INIT: Self = Self(RawRwLock::new());
    type SharedGuard = GuardNoSend;
    type ExclusiveGuard = GuardSend;

    #[inline]
    fn lock_shared(&self) -> GuardNoSend {
        read_at_last(|| self.0.read_again(&Patience::ENDLESS));
        GuardNoSend::new()
    }

    #[inline]
    fn try_lock_shared(&self) -> Option<GuardNoSend> {
        state(self.0.try_read_again())
    }

    #[inline]
    unsafe fn unlock_shared(&self, state: GuardNoSend) {
        // SAFETY: the caller's.
        unsafe { self.0.unlock_shared(state) };
    }

    #[inline]
    fn lock_exclusive(&self) -> GuardSend {
        self.0.lock_exclusive()
    }

    #[inline]
    fn try_lock_exclusive(&self) -> Option<GuardSend> {
        self.0.try_lock_exclusive()
    }

    #[inline]
    unsafe fn unlock_exclusive(&self, state: GuardSend) {
        // SAFETY: the caller's.
        unsafe { self.0.unlock_exclusive(state) };
    }

    fn is_locked(&self) -> bool {
        lock_api::RawRwLock::is_locked(&self.0)
    }

    fn is_locked_exclusive(&self) -> bool {
        self.0.is_locked_exclusive()
    }
}

// SAFETY: as above.
unsafe impl lock_api::RawRwLockTimed for RawRwLockRecursive {
    type Duration = Duration;
    type Instant = Instant;

    fn try_lock_shared_for(&self, timeout: Duration) -> Option<GuardNoSend> {
        state(self.0.read_again(&patience(timeout)) == Outcome::Acquired)
    }

    fn try_lock_shared_until(&self, deadline: Instant) -> Option<GuardNoSend> {
        self.try_lock_shared_for(left(deadline))
    }

    fn try_lock_exclusive_for(&self, timeout: Duration) -> Option<GuardSend> {
        self.0.try_lock_exclusive_for(timeout)
    }

    fn try_lock_exclusive_until(&self, deadline: Instant) -> Option<GuardSend> {
        self.0.try_lock_exclusive_until(deadline)
    }
}

/// Passes functions of a trait on to the inner lock.
macro_rules! passes_on {
    ($trait:ident: $($name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;)+) => {
        // SAFETY: as above.
        unsafe impl lock_api::$trait for RawRwLockRecursive {
            $(
                unsafe fn $name(&self, $($argument: $type),*) $(-> $result)? {
                    // SAFETY: the caller's.
                    unsafe { lock_api::$trait::$name(&self.0, $($argument),*) }
                }
            )+
        }
    };
}

passes_on! {
    RawRwLockDowngrade:
    downgrade(state: GuardSend) -> GuardNoSend;
}

passes_on! {
    RawRwLockFair:
    unlock_shared_fair(state: GuardNoSend);
    unlock_exclusive_fair(state: GuardSend);
}

// SAFETY: as above.
unsafe impl lock_api::RawRwLockUpgrade for RawRwLockRecursive {
    type UpgradableGuard = GuardNoSend;

    fn lock_upgradable(&self) -> GuardNoSend {
        self.0.lock_upgradable()
    }

    fn try_lock_upgradable(&self) -> Option<GuardNoSend> {
        self.0.try_lock_upgradable()
    }

    unsafe fn unlock_upgradable(&self, state: GuardNoSend) {
        // SAFETY: the caller's.
        unsafe { self.0.unlock_upgradable(state) };
    }

    unsafe fn upgrade(&self, state: GuardNoSend) -> GuardSend {
        // SAFETY: the caller's.
        unsafe { lock_api::RawRwLockUpgrade::upgrade(&self.0, state) }
    }

    unsafe fn try_upgrade(&self, state: GuardNoSend) -> Result<GuardSend, GuardNoSend> {
        // SAFETY: the caller's.
        unsafe { lock_api::RawRwLockUpgrade::try_upgrade(&self.0, state) }
    }
}

passes_on! {
    RawRwLockUpgradeFair:
    unlock_upgradable_fair(state: GuardNoSend);
}

passes_on! {
    RawRwLockUpgradeDowngrade:
    downgrade_upgradable(state: GuardNoSend) -> GuardNoSend;
    downgrade_to_upgradable(state: GuardSend) -> GuardNoSend;
}

// SAFETY: as above.
unsafe impl lock_api::RawRwLockUpgradeTimed for RawRwLockRecursive {
    fn try_lock_upgradable_for(&self, timeout: Duration) -> Option<GuardNoSend> {
        self.0.try_lock_upgradable_for(timeout)
    }

    fn try_lock_upgradable_until(&self, deadline: Instant) -> Option<GuardNoSend> {
        self.0.try_lock_upgradable_until(deadline)
    }

    unsafe fn try_upgrade_for(
        &self,
        state: GuardNoSend,
        timeout: Duration,
    ) -> Result<GuardSend, GuardNoSend> {
        // SAFETY: the caller's.
        unsafe { self.0.try_upgrade_for(state, timeout) }
    }

    unsafe fn try_upgrade_until(
        &self,
        state: GuardNoSend,
        deadline: Instant,
    ) -> Result<GuardSend, GuardNoSend> {
        // SAFETY: the caller's.
        unsafe { self.0.try_upgrade_until(state, deadline) }
    }
}
