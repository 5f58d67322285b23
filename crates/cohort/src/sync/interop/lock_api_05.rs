//! Traits of the crate `lock_api` 0.5, under which a guard has a state of its acquisition: a queue lock's
//! context. So every lock and composition with a constant constructor and a try stands under that crate's
//! types (feature `lock_api_05`, Rust 1.95).
//!
//! ```
//! use cohort::compose::{CTktMcs, Gated};
//! use cohort::{basic::Mcs, numa::HmcsT2};
//! use lock_api_05::Mutex;
//! use std::time::Duration;
//!
//! static QUEUE: Mutex<Gated<Mcs>, u64> = Mutex::new(0);
//! static NODES: Mutex<CTktMcs, u64> = Mutex::new(1);
//! static TIMED: Mutex<HmcsT2, u64> = Mutex::new(2);
//! *QUEUE.lock() += *NODES.lock();
//! let guard = TIMED.lock();
//! assert!(TIMED.try_lock_for(Duration::from_millis(1)).is_none());
//! assert_eq!(*QUEUE.lock() + *guard, 3);
//! ```
//!
//! Unlike [`Mutex::locking`](crate::Mutex::locking), a guard keeps the context in a block of a pool.

use crate::abortable::{ABo, AClh, ClhNb, ClhTry, McsNb, McsTry, clh, clh_nb, clh_try, mcs_nb};
use crate::adaptive::Glk;
use crate::adaptive::glk::Judge;
use crate::basic::{
    Anderson, Bo, Clh, ClhPublished, Futex, Hemlock, K42, Malthusian, Mcs, Ptl, Reciprocating, Tas,
    Ticket, TicketApart, Ttas,
};
use crate::compose::fresh::Fresh;
use crate::compose::{AClof, Clof, Gated};
use crate::numa::{
    Cna, FcMcs, FcMcsPublished, Fissile, FutexHmcs, Hbo, Hclh, Hmcs, HmcsT, Near, Shfl, hclh, hmcs,
    hmcs_t,
};
use crate::rwlock::{RawRwLock, read_at_last};
use crate::support::context::Kept;
use crate::sync::fair_release::ReleaseFairly;
use crate::sync::interop::instant::left;
use crate::sync::mutex::patience;
use crate::wait::Parking;
use cohort_raw::{Abortable, Outcome, Patience, RawLock, RawTry, Recursion, ThreadOblivious};
use core::fmt;
use core::mem::ManuallyDrop;
use core::time::Duration;
use lock_api_05::{
    GuardNoSend, GuardSend, RawMutex, RawMutexFair, RawMutexTimed, RawRwLockDowngrade,
    RawRwLockFair, RawRwLockTimed, RawRwLockUpgrade, RawRwLockUpgradeDowngrade,
    RawRwLockUpgradeFair, RawRwLockUpgradeTimed,
};
use std::time::Instant;

extern crate std;

mod condvar;

pub use condvar::RawCondvar;

/// The context of an acquisition. Dropped, it leaves the mutex locked, and its block in use: a waiter may
/// read it.
pub struct Held<L: RawLock>(ManuallyDrop<Kept<L>>);

impl<L: RawLock> fmt::Debug for Held<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Held").finish_non_exhaustive()
    }
}

impl<L: RawLock> Held<L> {
    /// A context for an acquisition. If the lock panics, its queue may still contain the context.
    #[inline]
    fn begin() -> Self {
        Self(ManuallyDrop::new(Kept::new()))
    }

    #[inline]
    fn context(&self) -> &L::Context {
        self.0.get()
    }

    /// Gives the context back, after the release or a failed try.
    #[inline]
    fn end(self) {
        drop(ManuallyDrop::into_inner(self.0));
    }

    /// The same, unless acquired.
    #[inline]
    fn acquired(self, is_acquired: bool) -> Option<Self> {
        if is_acquired {
            return Some(self);
        }
        self.end();
        None
    }
}

/// The traits of locks, each as far as the lock has what it needs.  Of a type without parameters, the
/// compiler refuses an impl that lacks something: `untimed` leaves out the one with timeouts.
macro_rules! raw_mutex {
    (untimed: $([] $lock:ty;)+) => {
        $(raw_mutex!(@mutex [] $lock);)+
        $(raw_mutex!(@fair [] $lock);)+
    };
    ($([$($generics:tt)*] $lock:ty;)+) => {
        $(raw_mutex!(@mutex [$($generics)*] $lock);)+
        $(raw_mutex!(@timed [$($generics)*] $lock);)+
        $(raw_mutex!(@fair [$($generics)*] $lock);)+
    };
    (@mutex [$($generics:tt)*] $lock:ty) => {
        // SAFETY: a `RawLock` excludes, and any thread may release a thread-oblivious one. Its context
        // stays in its block until it is released, for ever if the state was dropped or forgotten.
        unsafe impl<$($generics)*> RawMutex for $lock
        where
            $lock: RawTry + ThreadOblivious + Fresh,
        {
            const INIT: Self = <Self as Fresh>::FRESH;
            type Guard = Held<Self>;

            #[inline]
            fn lock(&self) -> Held<Self> {
                let held = Held::begin();
                // SAFETY: a new context, which stays until the release; so below.
                unsafe { self.acquire(held.context()) };
                held
            }

            #[inline]
            fn try_lock(&self) -> Option<Held<Self>> {
                let held = Held::begin();
                // SAFETY: as above.
                let is_acquired = unsafe { self.try_acquire(held.context()) };
                held.acquired(is_acquired)
            }

            #[inline]
            unsafe fn unlock(&self, held: Held<Self>) {
                // SAFETY: the caller's.
                unsafe { self.release(held.context()) };
                held.end();
            }

            fn is_locked(&self) -> bool {
                RawLock::is_locked(self)
            }
        }
    };
    (@timed [$($generics:tt)*] $lock:ty) => {
        // SAFETY: `Outcome::Acquired` is an acquisition.
        unsafe impl<$($generics)*> RawMutexTimed for $lock
        where
            $lock: RawMutex<Guard = Held<Self>> + Abortable,
        {
            type Duration = Duration;
            type Instant = Instant;

            fn try_lock_for(&self, timeout: Duration) -> Option<Held<Self>> {
                let held = Held::begin();
                // SAFETY: as in `lock`.
                let outcome = unsafe { self.acquire_within(held.context(), &patience(timeout)) };
                held.acquired(outcome == Outcome::Acquired)
            }

            fn try_lock_until(&self, deadline: Instant) -> Option<Held<Self>> {
                self.try_lock_for(left(deadline))
            }
        }
    };
    (@fair [$($generics:tt)*] $lock:ty) => {
        // SAFETY: either release is a release.
        unsafe impl<$($generics)*> RawMutexFair for $lock
        where
            $lock: RawMutex<Guard = Held<Self>> + ReleaseFairly,
        {
            unsafe fn unlock_fair(&self, held: Held<Self>) {
                // SAFETY: the caller's.
                unsafe { self.release_fairly(held.context()) };
                held.end();
            }
        }
    };
}

raw_mutex! {
    untimed:
    [] K42;
    [] Clh;
    [] ClhPublished;
}

raw_mutex! {
    [] FutexHmcs;
    [] Futex;
    [P: Parking] Tas<P>;
    [P: Parking] Ttas<P>;
    [P: Parking] Bo<P>;
    [P: Parking, const UNIT: u64] Ticket<P, UNIT>;
    [P: Parking] TicketApart<P>;
    [const SLOTS: usize, P: Parking] Ptl<SLOTS, P>;
    [P: Parking] Mcs<P>;
    [const CTR: bool, P: Parking] Hemlock<CTR, P>;
    [const SLOTS: usize, P: Parking] Anderson<SLOTS, P>;
    [P: Parking] Reciprocating<P>;
    [P: Parking, const ONE_IN: u32] Malthusian<P, ONE_IN>;
    [J: Judge] Glk<J>;
    [P: Parking, const HAND_OFFS: u32] Cna<P, HAND_OFFS>;
    [P: Parking, const BOUND: u8] Near<P, BOUND>;
    [P: Parking, const GRACE: u64, const HAND_OFFS: u32] Fissile<P, GRACE, HAND_OFFS>;
    [P: Parking, const BATCH: u32] Shfl<P, BATCH>;
    [P: Parking, T] Hbo<P, T>;
    [P: Parking, const WINDOW: u64] FcMcs<P, WINDOW>;
    [const PASSES: u32, const AGE: u32] FcMcsPublished<PASSES, AGE>;
    [P: hclh::Form, const WINDOW: u64] Hclh<P, WINDOW>;
    [
        L,
        const LEAVES: usize,
        const INNER: usize,
        P: hmcs::Form,
        const HAND_OFFS: u32,
        E
    ] Hmcs<L, LEAVES, INNER, P, HAND_OFFS, E>;
    [
        L,
        const LEAVES: usize,
        const INNER: usize,
        P: hmcs_t::Form,
        const HAND_OFFS: u32,
        E
    ] HmcsT<L, LEAVES, INNER, P, HAND_OFFS, E>;
    [P: Parking] ABo<P>;
    [P: clh::Form] AClh<P>;
    [P: clh_nb::Form] ClhNb<P>;
    [P: mcs_nb::Form] McsNb<P>;
    [P: clh_try::Form] ClhTry<P>;
    [P: Parking] McsTry<P>;
    [
        Low,
        High: RawLock,
        At,
        const HAND_OFFS: u32,
        const COHORTS: usize
    ] Clof<Low, High, At, HAND_OFFS, COHORTS>;
    [
        Low,
        High: RawLock,
        At,
        const HAND_OFFS: u32,
        const COHORTS: usize
    ] AClof<Low, High, At, HAND_OFFS, COHORTS>;
    [L] Gated<L>;
}

/// Whether a timed or tried shared acquisition succeeded, as a guard's state.
#[inline]
fn state(is_acquired: bool) -> Option<GuardNoSend> {
    is_acquired.then(GuardNoSend::new)
}

/// [`state`] of an exclusive acquisition.
#[inline]
fn exclusive(is_acquired: bool) -> Option<GuardSend> {
    is_acquired.then(GuardSend::new)
}

// SAFETY: a `RawRwLock` excludes. Its readers are released by their own threads, since their guards stay
// there; any thread may release a writer. Beyond the largest countable number of readers, a reader waits.
unsafe impl lock_api_05::RawRwLock for RawRwLock {
    const INIT: Self = Self::new();
    type SharedGuard = GuardNoSend;
    type ExclusiveGuard = GuardSend;

    #[inline]
    fn lock_shared(&self) -> GuardNoSend {
        read_at_last(|| self.read(Recursion::Allowed, &Patience::ENDLESS));
        GuardNoSend::new()
    }

    #[inline]
    fn try_lock_shared(&self) -> Option<GuardNoSend> {
        state(self.try_read(Recursion::Allowed))
    }

    #[inline]
    unsafe fn unlock_shared(&self, _state: GuardNoSend) {
        // SAFETY: the caller's.
        unsafe { self.release_read() };
    }

    #[inline]
    fn lock_exclusive(&self) -> GuardSend {
        let _ = self.write(&Patience::ENDLESS);
        GuardSend::new()
    }

    #[inline]
    fn try_lock_exclusive(&self) -> Option<GuardSend> {
        exclusive(self.try_write())
    }

    #[inline]
    unsafe fn unlock_exclusive(&self, _state: GuardSend) {
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

    fn try_lock_shared_for(&self, timeout: Duration) -> Option<GuardNoSend> {
        state(self.read(Recursion::Allowed, &patience(timeout)) == Outcome::Acquired)
    }

    fn try_lock_shared_until(&self, deadline: Instant) -> Option<GuardNoSend> {
        self.try_lock_shared_for(left(deadline))
    }

    fn try_lock_exclusive_for(&self, timeout: Duration) -> Option<GuardSend> {
        exclusive(self.write(&patience(timeout)) == Outcome::Acquired)
    }

    fn try_lock_exclusive_until(&self, deadline: Instant) -> Option<GuardSend> {
        self.try_lock_exclusive_for(left(deadline))
    }
}

// SAFETY: the writer becomes a reader in one step.
unsafe impl RawRwLockDowngrade for RawRwLock {
    unsafe fn downgrade(&self, _state: GuardSend) -> GuardNoSend {
        // SAFETY: the caller's.
        unsafe { self.downgrade() };
        GuardNoSend::new()
    }
}

// SAFETY: either release is a release.
unsafe impl RawRwLockFair for RawRwLock {
    unsafe fn unlock_shared_fair(&self, _state: GuardNoSend) {
        // SAFETY: the caller's.
        unsafe { self.release_read_fairly() };
    }

    unsafe fn unlock_exclusive_fair(&self, _state: GuardSend) {
        // SAFETY: the caller's.
        unsafe { self.release_write_fairly() };
    }
}

// SAFETY: an upgradable reader excludes writers and other upgradable readers, and becomes a writer in one
// step.
unsafe impl RawRwLockUpgrade for RawRwLock {
    type UpgradableGuard = GuardNoSend;

    fn lock_upgradable(&self) -> GuardNoSend {
        read_at_last(|| self.read_upgradably(&Patience::ENDLESS));
        GuardNoSend::new()
    }

    fn try_lock_upgradable(&self) -> Option<GuardNoSend> {
        state(self.try_read_upgradably())
    }

    unsafe fn unlock_upgradable(&self, _state: GuardNoSend) {
        // SAFETY: the caller's.
        unsafe {
            self.end_upgradable();
            self.release_read();
        }
    }

    unsafe fn upgrade(&self, _state: GuardNoSend) -> GuardSend {
        // SAFETY: the caller's.
        let _ = unsafe { self.upgrade(&Patience::ENDLESS) };
        GuardSend::new()
    }

    unsafe fn try_upgrade(&self, state: GuardNoSend) -> Result<GuardSend, GuardNoSend> {
        // SAFETY: the caller's.
        if unsafe { self.try_upgrade() } {
            Ok(GuardSend::new())
        } else {
            Err(state)
        }
    }
}

// SAFETY: as above.
unsafe impl RawRwLockUpgradeFair for RawRwLock {
    unsafe fn unlock_upgradable_fair(&self, _state: GuardNoSend) {
        // SAFETY: the caller's.
        unsafe {
            self.end_upgradable_fairly();
            self.release_read_fairly();
        }
    }
}

// SAFETY: each changes in one step.
unsafe impl RawRwLockUpgradeDowngrade for RawRwLock {
    unsafe fn downgrade_upgradable(&self, state: GuardNoSend) -> GuardNoSend {
        // SAFETY: the caller's.
        unsafe { self.end_upgradable() };
        state
    }

    unsafe fn downgrade_to_upgradable(&self, _state: GuardSend) -> GuardNoSend {
        // SAFETY: the caller's.
        unsafe { self.downgrade_to_upgradable() };
        GuardNoSend::new()
    }
}

// SAFETY: `Outcome::Acquired` is an acquisition.
unsafe impl RawRwLockUpgradeTimed for RawRwLock {
    fn try_lock_upgradable_for(&self, timeout: Duration) -> Option<GuardNoSend> {
        state(self.read_upgradably(&patience(timeout)) == Outcome::Acquired)
    }

    fn try_lock_upgradable_until(&self, deadline: Instant) -> Option<GuardNoSend> {
        self.try_lock_upgradable_for(left(deadline))
    }

    unsafe fn try_upgrade_for(
        &self,
        state: GuardNoSend,
        timeout: Duration,
    ) -> Result<GuardSend, GuardNoSend> {
        // SAFETY: the caller's.
        match unsafe { self.upgrade(&patience(timeout)) } {
            Outcome::Acquired => Ok(GuardSend::new()),
            _ => Err(state),
        }
    }

    unsafe fn try_upgrade_until(
        &self,
        state: GuardNoSend,
        deadline: Instant,
    ) -> Result<GuardSend, GuardNoSend> {
        // SAFETY: the caller's.
        unsafe { self.try_upgrade_for(state, left(deadline)) }
    }
}
