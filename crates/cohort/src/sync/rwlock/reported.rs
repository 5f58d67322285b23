//! Operations of an [`RwLock`](super::RwLock), reported to the process's
//! [`recorder`](crate::door::recorder).

use crate::door::recorder::{self, Doing, How};
use crate::rwlock::{RawRwLock, read_at_last};
use cohort_raw::{Outcome, Patience, RawShared, Recursion};
use core::ptr;

/// Acquires the lock for reading as `acquire` does.
#[inline(always)]
pub fn reading<L: RawShared>(lock: &L, doing: Doing, acquire: impl FnOnce() -> bool) -> bool {
    let keeps_out = || lock.is_write_locked();
    recorder::acquiring(doing, How::OwnRead, address(lock), keeps_out, acquire)
}

/// Acquires the lock for writing as `acquire` does.
#[inline(always)]
pub fn writing<L: RawShared>(lock: &L, doing: Doing, acquire: impl FnOnce() -> bool) -> bool {
    let is_held = || lock.is_locked();
    recorder::acquiring(doing, How::OwnWrite, address(lock), is_held, acquire)
}

/// Acquires the lock for upgradable reading as `acquire` does.
#[inline(always)]
pub fn upgradable_reading(lock: &RawRwLock, doing: Doing, acquire: impl FnOnce() -> bool) -> bool {
    let keeps_out = || lock.is_write_locked();
    let how = How::OwnUpgradable;
    recorder::acquiring(doing, how, address(lock), keeps_out, acquire)
}

/// Makes the upgradable reader a writer as `upgrade` does.
#[inline(always)]
pub fn upgrading(lock: &RawRwLock, doing: Doing, upgrade: impl FnOnce() -> bool) -> bool {
    writing(lock, doing, || {
        let is_alone = upgrade();
        if is_alone {
            // Not before: other threads' waits need the hold.
            releasing(lock, How::OwnUpgradable, || ());
        }
        is_alone
    })
}

/// Replaces the holder's rights by lesser ones as `change` does, which never blocks.
#[inline(always)]
pub fn changing(lock: &RawRwLock, from: How, to: How, change: impl FnOnce()) {
    releasing(lock, from, || ());
    let step = || {
        change();
        true
    };
    recorder::acquiring(Doing::Nothing, to, address(lock), || false, step);
}

/// Releases the lock as `release` does.
#[inline(always)]
pub fn releasing<L>(lock: &L, how: How, release: impl FnOnce()) {
    recorder::releasing(how, address(lock), release);
}

/// The lock as records name it.
#[inline(always)]
fn address<L>(lock: &L) -> usize {
    ptr::from_ref(lock).addr()
}

/// The operations of guards; each is that of the default lock without `begin` or `end`.
impl RawRwLock {
    #[inline(always)]
    pub(crate) fn begin_read(&self, doing: Doing, patience: &Patience) -> bool {
        let read = || self.read(Recursion::Allowed, patience) == Outcome::Acquired;
        reading(self, doing, read)
    }

    #[inline(always)]
    pub(crate) fn begin_read_again(&self, doing: Doing, patience: &Patience) -> bool {
        let read = || self.read_again(patience) == Outcome::Acquired;
        reading(self, doing, read)
    }

    #[inline(always)]
    pub(crate) fn begin_try_read(&self) -> bool {
        reading(self, Doing::Nothing, || self.try_read(Recursion::Allowed))
    }

    /// [`begin_read`](Self::begin_read), even while the lock has the greatest number of readers.
    #[inline(always)]
    pub(crate) fn begin_read_at_last(&self) {
        reading(self, Doing::Read, || {
            read_at_last(|| self.read(Recursion::Allowed, &Patience::ENDLESS));
            true
        });
    }

    #[inline(always)]
    pub(super) fn begin_upgradable_read(&self, doing: Doing, patience: &Patience) -> bool {
        let read = || self.read_upgradably(patience) == Outcome::Acquired;
        upgradable_reading(self, doing, read)
    }

    /// [`begin_upgradable_read`](Self::begin_upgradable_read), even while the lock has the greatest
    /// number of readers.
    #[inline(always)]
    pub(super) fn begin_upgradable_read_at_last(&self) {
        upgradable_reading(self, Doing::ReadUpgradably, || {
            read_at_last(|| self.read_upgradably(&Patience::ENDLESS));
            true
        });
    }

    #[inline(always)]
    pub(crate) fn begin_write(&self, doing: Doing, patience: &Patience) -> bool {
        writing(self, doing, || self.write(patience) == Outcome::Acquired)
    }

    #[inline(always)]
    pub(crate) fn begin_try_write(&self) -> bool {
        writing(self, Doing::Nothing, || self.try_write())
    }

    /// # Safety
    /// As [`release_read`](Self::release_read).
    #[inline(always)]
    pub(crate) unsafe fn end_read(&self) {
        // SAFETY: the caller's.
        releasing(self, How::OwnRead, || unsafe { self.release_read() });
    }

    /// # Safety
    /// As [`release_read_fairly`](Self::release_read_fairly).
    #[inline(always)]
    pub(super) unsafe fn end_read_fair(&self) {
        // SAFETY: the caller's.
        releasing(self, How::OwnRead, || unsafe { self.release_read_fairly() });
    }

    /// # Safety
    /// As [`release_write`](Self::release_write).
    #[inline(always)]
    pub(crate) unsafe fn end_write(&self) {
        // SAFETY: the caller's.
        releasing(self, How::OwnWrite, || unsafe { self.release_write() });
    }

    /// # Safety
    /// As [`release_write_fairly`](Self::release_write_fairly).
    #[inline(always)]
    pub(super) unsafe fn end_write_fair(&self) {
        // SAFETY: the caller's.
        releasing(self, How::OwnWrite, || unsafe {
            self.release_write_fairly()
        });
    }

    /// Ends an upgradable read.
    ///
    /// # Safety
    /// The caller reads upgradably.
    #[inline(always)]
    pub(super) unsafe fn end_upgradable_read(&self) {
        // SAFETY: the caller's.
        releasing(self, How::OwnUpgradable, || unsafe {
            self.end_upgradable();
            self.release_read();
        });
    }

    /// [`end_upgradable_read`](Self::end_upgradable_read), fairly.
    ///
    /// # Safety
    /// The caller reads upgradably.
    #[inline(always)]
    pub(super) unsafe fn end_upgradable_read_fair(&self) {
        // SAFETY: the caller's.
        releasing(self, How::OwnUpgradable, || unsafe {
            self.end_upgradable_fairly();
            self.release_read_fairly();
        });
    }
}
