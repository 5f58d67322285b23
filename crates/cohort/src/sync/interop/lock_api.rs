//! Traits of the crate `lock_api` for locks without a context and with a constant constructor:
//! `lock_api::Mutex<cohort::basic::Ticket, T>` (feature `lock_api`).
//!
//! These traits have no place for a queue lock's context. For queue locks, use
//! [`Mutex`](crate::Mutex): its guards have one.
//!
//! ```
//! static TOTAL: lock_api::Mutex<cohort::basic::Ticket, u64> = lock_api::Mutex::new(0);
//! *TOTAL.lock() += 1;
//!
//! let table: lock_api::RwLock<cohort::rwlock::RawRwLock, u64> = lock_api::RwLock::new(1);
//! assert_eq!(*table.read(), *TOTAL.lock());
//! ```

use crate::basic::{Bo, Futex, K42, Tas, Ticket, Ttas};
use crate::numa::FutexHmcs;
use crate::rwlock::{RawRwLock, read_at_last};
use crate::sync::fair::FairLock;
use crate::sync::fair_release::ReleaseFairly;
use crate::sync::interop::instant::left;
use crate::sync::mutex::patience;
use crate::wait::Parking;
use cohort_raw::{Abortable, Outcome, Patience, RawLock, RawTry, Recursion};
use core::time::Duration;
use lock_api::{
    GuardNoSend, GuardSend, RawMutex, RawMutexFair, RawMutexTimed, RawRwLock as _,
    RawRwLockDowngrade, RawRwLockFair, RawRwLockRecursive, RawRwLockRecursiveTimed, RawRwLockTimed,
    RawRwLockUpgrade, RawRwLockUpgradeDowngrade, RawRwLockUpgradeFair, RawRwLockUpgradeTimed,
};
use std::time::Instant;

extern crate std;

/// The trait of one lock.
macro_rules! raw_mutex {
    ($([$($generics:tt)*] $lock:ty = $new:expr;)+) => {$(
        // SAFETY: a `RawLock` excludes, and any thread may release it.
        unsafe impl<$($generics)*> RawMutex for $lock {
            const INIT: Self = $new;
            type GuardMarker = GuardSend;

            #[inline]
            fn lock(&self) {
                // SAFETY: the lock has no contexts, and its guard borrows it until the release, or
                // is forgotten; so below.
                unsafe { self.acquire(&()) };
            }

            #[inline]
            fn try_lock(&self) -> bool {
                // SAFETY: as above.
                unsafe { self.try_acquire(&()) }
            }

            #[inline]
            unsafe fn unlock(&self) {
                // SAFETY: the caller's.
                unsafe { self.release(&()) };
            }

            fn is_locked(&self) -> bool {
                RawLock::is_locked(self)
            }
        }
    )+};
}

/// The trait of a lock with timed waiters.
macro_rules! raw_mutex_timed {
    ($([$($generics:tt)*] $lock:ty;)+) => {$(
        // SAFETY: `Outcome::Acquired` is an acquisition.
        unsafe impl<$($generics)*> RawMutexTimed for $lock {
            type Duration = Duration;
            type Instant = Instant;

            fn try_lock_for(&self, timeout: Duration) -> bool {
                // SAFETY: the lock has no contexts, and its guard borrows it until the release, or
                // is forgotten.
                unsafe { self.acquire_within(&(), &patience(timeout)) == Outcome::Acquired }
            }

            fn try_lock_until(&self, deadline: Instant) -> bool {
                self.try_lock_for(left(deadline))
            }
        }
    )+};
}

raw_mutex! {
    [] FutexHmcs = Self::new();
    [] Futex = Self::new();
    [] K42 = Self::new();
    [P: Parking] Tas<P> = Self::new();
    [P: Parking] Ttas<P> = Self::new();
    [P: Parking] Bo<P> = Self::new();
    [P: Parking, const UNIT: u64] Ticket<P, UNIT> = Self::new();
    [] FairLock = Self::new(Ticket::new());
}

raw_mutex_timed! {
    [] FutexHmcs;
    [] Futex;
    [P: Parking] Tas<P>;
    [P: Parking] Ttas<P>;
    [P: Parking] Bo<P>;
    [] FairLock;
}

/// The trait of a lock with a fair release.
macro_rules! raw_mutex_fair {
    ($([$($generics:tt)*] $lock:ty;)+) => {$(
        // SAFETY: either release is a release.
        unsafe impl<$($generics)*> RawMutexFair for $lock {
            unsafe fn unlock_fair(&self) {
                // SAFETY: the caller's.
                unsafe { self.release_fairly(&()) };
            }

            unsafe fn bump(&self) {
                if self.is_waited_for(&()) {
                    // SAFETY: the caller's.
                    unsafe { self.unlock_fair() };
                    self.lock();
                }
            }
        }
    )+};
}

raw_mutex_fair! {
    [] FutexHmcs;
    [] Futex;
    [] K42;
    [P: Parking, const UNIT: u64] Ticket<P, UNIT>;
    [] FairLock;
}

// SAFETY: a `RawRwLock` excludes, and its readers are released by their own threads, since guards
// stay there. Beyond the largest countable number of readers, a reader waits: if this panicked, a
// guard that unlocks itself for a while would continue without the lock.
unsafe impl lock_api::RawRwLock for RawRwLock {
    const INIT: Self = Self::new();
    type GuardMarker = GuardNoSend;

    #[inline]
    fn lock_shared(&self) {
        read_at_last(|| self.read(Recursion::Allowed, &Patience::ENDLESS));
    }

    #[inline]
    fn try_lock_shared(&self) -> bool {
        self.try_read(Recursion::Allowed)
    }

    #[inline]
    unsafe fn unlock_shared(&self) {
        // SAFETY: the caller's.
        unsafe { self.release_read() };
    }

    #[inline]
    fn lock_exclusive(&self) {
        let _ = self.write(&Patience::ENDLESS);
    }

    #[inline]
    fn try_lock_exclusive(&self) -> bool {
        self.try_write()
    }

    #[inline]
    unsafe fn unlock_exclusive(&self) {
        // SAFETY: the caller's.
        unsafe { self.release_write() };
    }

    fn is_locked(&self) -> bool {
        Self::is_locked(self)
    }

    fn is_locked_exclusive(&self) -> bool {
        self.is_write_locked()
    }
}

// SAFETY: `Outcome::Acquired` is an acquisition.
unsafe impl RawRwLockTimed for RawRwLock {
    type Duration = Duration;
    type Instant = Instant;

    fn try_lock_shared_for(&self, timeout: Duration) -> bool {
        self.read(Recursion::Allowed, &patience(timeout)) == Outcome::Acquired
    }

    fn try_lock_shared_until(&self, deadline: Instant) -> bool {
        self.try_lock_shared_for(left(deadline))
    }

    fn try_lock_exclusive_for(&self, timeout: Duration) -> bool {
        self.write(&patience(timeout)) == Outcome::Acquired
    }

    fn try_lock_exclusive_until(&self, deadline: Instant) -> bool {
        self.try_lock_exclusive_for(left(deadline))
    }
}

// SAFETY: a reading thread may read again, whatever waits.
unsafe impl RawRwLockRecursive for RawRwLock {
    #[inline]
    fn lock_shared_recursive(&self) {
        read_at_last(|| self.read_again(&Patience::ENDLESS));
    }

    #[inline]
    fn try_lock_shared_recursive(&self) -> bool {
        self.try_read_again()
    }
}

// SAFETY: as above.
unsafe impl RawRwLockRecursiveTimed for RawRwLock {
    fn try_lock_shared_recursive_for(&self, timeout: Duration) -> bool {
        self.read_again(&patience(timeout)) == Outcome::Acquired
    }

    fn try_lock_shared_recursive_until(&self, deadline: Instant) -> bool {
        self.try_lock_shared_recursive_for(left(deadline))
    }
}

// SAFETY: the writer becomes a reader in one step.
unsafe impl RawRwLockDowngrade for RawRwLock {
    unsafe fn downgrade(&self) {
        // SAFETY: the caller's.
        unsafe { self.downgrade() };
    }
}

// SAFETY: either release is a release.
unsafe impl RawRwLockFair for RawRwLock {
    unsafe fn unlock_shared_fair(&self) {
        // SAFETY: the caller's.
        unsafe { self.release_read_fairly() };
    }

    unsafe fn unlock_exclusive_fair(&self) {
        // SAFETY: the caller's.
        unsafe { self.release_write_fairly() };
    }

    unsafe fn bump_shared(&self) {
        if self.is_waited_for() {
            // SAFETY: the caller's.
            unsafe { self.unlock_shared_fair() };
            self.lock_shared();
        }
    }

    unsafe fn bump_exclusive(&self) {
        if self.is_waited_for() {
            // SAFETY: the caller's.
            unsafe { self.unlock_exclusive_fair() };
            self.lock_exclusive();
        }
    }
}

// SAFETY: as above.
unsafe impl RawRwLockUpgradeFair for RawRwLock {
    unsafe fn unlock_upgradable_fair(&self) {
        // SAFETY: the caller's.
        unsafe {
            self.end_upgradable_fairly();
            self.release_read_fairly();
        }
    }
}

// SAFETY: each changes in one step.
unsafe impl RawRwLockUpgradeDowngrade for RawRwLock {
    unsafe fn downgrade_upgradable(&self) {
        // SAFETY: the caller's.
        unsafe { self.end_upgradable() };
    }

    unsafe fn downgrade_to_upgradable(&self) {
        // SAFETY: the caller's.
        unsafe { self.downgrade_to_upgradable() };
    }
}

// SAFETY: an upgradable reader excludes writers and other upgradable readers, and becomes a writer
// in one step.
unsafe impl RawRwLockUpgrade for RawRwLock {
    fn lock_upgradable(&self) {
        read_at_last(|| self.read_upgradably(&Patience::ENDLESS));
    }

    fn try_lock_upgradable(&self) -> bool {
        self.try_read_upgradably()
    }

    unsafe fn unlock_upgradable(&self) {
        // SAFETY: the caller's.
        unsafe {
            self.end_upgradable();
            self.release_read();
        }
    }

    unsafe fn upgrade(&self) {
        // SAFETY: the caller's.
        let _ = unsafe { self.upgrade(&Patience::ENDLESS) };
    }

    unsafe fn try_upgrade(&self) -> bool {
        // SAFETY: the caller's.
        unsafe { self.try_upgrade() }
    }
}

// SAFETY: `Outcome::Acquired` is an acquisition.
unsafe impl RawRwLockUpgradeTimed for RawRwLock {
    fn try_lock_upgradable_for(&self, timeout: Duration) -> bool {
        self.read_upgradably(&patience(timeout)) == Outcome::Acquired
    }

    fn try_lock_upgradable_until(&self, deadline: Instant) -> bool {
        self.try_lock_upgradable_for(left(deadline))
    }

    unsafe fn try_upgrade_for(&self, timeout: Duration) -> bool {
        // SAFETY: the caller's.
        unsafe { self.upgrade(&patience(timeout)) == Outcome::Acquired }
    }

    unsafe fn try_upgrade_until(&self, deadline: Instant) -> bool {
        // SAFETY: the caller's.
        unsafe { self.try_upgrade_for(left(deadline)) }
    }
}
