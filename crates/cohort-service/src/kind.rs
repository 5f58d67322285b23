//! Locks of other algorithms for addresses: any lock with
//! [`Operations`](cohort::Operations).
//!
//! A key's first user chooses the kind of its lock, until the key is [freed](super::gls::free); use
//! under another kind fails. Entries of a kind keep it, and have a store of their own. Their locks,
//! of various sizes, lie in separate rooms, which are never returned.

pub use crate::lock::Algorithm;

use crate::table::TABLE;
use cohort::Patience;
use cohort::service::Refusal;

/// The former name of [`Algorithm`].
#[deprecated(since = "0.1.0", note = "renamed to `Algorithm`")]
pub type Kind = Algorithm;

impl Algorithm {
    /// Blocks until the key's lock is held.
    ///
    /// # Errors
    /// 0 is no key, and a key's lock may be of another kind (`EINVAL`, both).
    pub fn lock(&'static self, key: usize) -> Result<(), Refusal> {
        TABLE.lock(self.of_table(), key).map(drop)
    }

    /// Takes the key's lock if it is free.
    ///
    /// # Errors
    /// As [`lock`](Self::lock); the lock is held (`EBUSY`).
    pub fn try_lock(&'static self, key: usize) -> Result<(), Refusal> {
        TABLE.try_lock(self.of_table(), key).map(drop)
    }

    /// Blocks until the key's lock is held or patience runs out.
    ///
    /// # Errors
    /// As [`lock`](Self::lock); the deadline passed (`ETIMEDOUT`).
    pub fn lock_within(&'static self, key: usize, patience: &Patience) -> Result<(), Refusal> {
        TABLE.lock_within(self.of_table(), key, patience).map(drop)
    }

    /// Releases the key's lock, from any thread.
    ///
    /// # Errors
    /// As [`lock`](Self::lock); the lock is free, or the key has none (`EPERM`).
    ///
    /// # Safety
    /// No [`Guard`](crate::gls::Guard) has the lock, and the caller may release it. If it is free,
    /// no thread [frees](crate::gls::address::free) the key meanwhile.
    pub unsafe fn unlock(&'static self, key: usize) -> Result<(), Refusal> {
        // SAFETY: the caller's.
        unsafe { TABLE.unlock(self.of_table(), key) }
    }
}
