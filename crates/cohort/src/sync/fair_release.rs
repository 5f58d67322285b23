//! Fair releases: the lock goes to a waiting thread, ahead of later arrivals.

use cohort_raw::{Fair, ThreadOblivious};

/// A lock with a fair release. The usual release of the default lock permits barging, even by the
/// releasing thread, until a waiter has waited for half a millisecond. Locks in FIFO order have
/// only fair releases.
///
/// ```
/// use cohort::numa::FutexHmcs;
/// use cohort::{RawLock, ReleaseFairly};
///
/// let lock = FutexHmcs::new();
/// // SAFETY: the lock stays, and is released once.
/// unsafe {
///     lock.acquire(&());
///     assert!(!lock.is_waited_for(&()));
///     lock.release_fairly(&());
/// }
/// assert!(!lock.is_locked());
/// ```
///
/// # Safety
/// As [`RawLock`](cohort_raw::RawLock), of either release.
#[diagnostic::on_unimplemented(
    message = "no release of `{Self}` is fair",
    note = "the default lock has one that is, and of locks that serve in order, such as `basic::Ticket` \
            and `basic::Mcs`, each is"
)]
pub unsafe trait ReleaseFairly: ThreadOblivious {
    /// Releases the lock; a sleeping waiter acquires it next, even if its wake-up takes long.
    /// Otherwise any spinning or arriving thread may acquire it. Never blocks.
    ///
    /// # Safety
    /// As [`release`](cohort_raw::RawLock::release).
    unsafe fn release_fairly(&self, cx: &Self::Context);

    /// Whether the lock may have a waiter that a fair release would admit, at the time of the read;
    /// for the holder.
    fn is_waited_for(&self, cx: &Self::Context) -> bool;
}

// SAFETY: every release of such a lock is fair.
unsafe impl<L: Fair + ThreadOblivious> ReleaseFairly for L {
    #[inline]
    unsafe fn release_fairly(&self, cx: &L::Context) {
        // SAFETY: the caller's.
        unsafe { self.release(cx) };
    }

    fn is_waited_for(&self, _cx: &L::Context) -> bool {
        true
    }
}
