//! The traits of the crate `lock_api`, for locks that need no context and are made by a constant:
//! `lock_api::Mutex<cohort::basic::Ticket, T>` (feature `lock_api`).
//!
//! A queue's acquisitions carry a context, for which those traits have no place: use
//! [`Mutex`](crate::Mutex), whose guards do.
//!
//! ```
//! static TOTAL: lock_api::Mutex<cohort::basic::Ticket, u64> = lock_api::Mutex::new(0);
//! *TOTAL.lock() += 1;
//!
//! let table: lock_api::RwLock<cohort::rwlock::RawRwLock, u64> = lock_api::RwLock::new(1);
//! assert_eq!(*table.read(), *TOTAL.lock());
//! ```

use crate::basic::{Bo, Futex, K42, Tas, Ticket, Ttas};
use crate::mutex::patience;
use crate::numa::FutexHmcs;
use crate::outside::instant::left;
use crate::rwlock::RawRwLock;
use crate::wait::Parking;
use cohort_raw::{Abortable, Outcome, Patience, RawLock, RawTry, Recursion};
use core::time::Duration;
use lock_api::{GuardNoSend, GuardSend, RawMutex, RawMutexTimed, RawRwLockTimed};
use std::time::Instant;

extern crate std;

/// One lock's trait.
macro_rules! raw_mutex {
    ($([$($generics:tt)*] $lock:ty;)+) => {$(
        // SAFETY: a `RawLock` excludes, and any thread may release it.
        unsafe impl<$($generics)*> RawMutex for $lock {
            const INIT: Self = Self::new();
            type GuardMarker = GuardSend;

            #[inline]
            fn lock(&self) {
                self.acquire(&());
            }

            #[inline]
            fn try_lock(&self) -> bool {
                self.try_acquire(&())
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

/// That of a lock whose waiters can give up.
macro_rules! raw_mutex_timed {
    ($([$($generics:tt)*] $lock:ty;)+) => {$(
        // SAFETY: an outcome that says so is an acquisition.
        unsafe impl<$($generics)*> RawMutexTimed for $lock {
            type Duration = Duration;
            type Instant = Instant;

            fn try_lock_for(&self, timeout: Duration) -> bool {
                self.acquire_within(&(), &patience(timeout)) == Outcome::Acquired
            }

            fn try_lock_until(&self, deadline: Instant) -> bool {
                self.try_lock_for(left(deadline))
            }
        }
    )+};
}

raw_mutex! {
    [] FutexHmcs;
    [] Futex;
    [] K42;
    [P: Parking] Tas<P>;
    [P: Parking] Ttas<P>;
    [P: Parking] Bo<P>;
    [P: Parking, const UNIT: u64] Ticket<P, UNIT>;
}

raw_mutex_timed! {
    [] FutexHmcs;
    [] Futex;
    [P: Parking] Tas<P>;
    [P: Parking] Ttas<P>;
    [P: Parking] Bo<P>;
}

// SAFETY: a `RawRwLock` excludes, and its readers are released by their own threads, since guards
// stay there.
unsafe impl lock_api::RawRwLock for RawRwLock {
    const INIT: Self = Self::new();
    type GuardMarker = GuardNoSend;

    #[inline]
    fn lock_shared(&self) {
        cohort_raw::RawShared::read(self, &(), Recursion::Allowed);
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

// SAFETY: an outcome that says so is an acquisition.
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
