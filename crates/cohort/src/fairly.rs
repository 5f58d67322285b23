//! Releases after which the lock goes to a thread that waits for it, past any that comes.

use cohort_raw::{Fair, ThreadOblivious};

/// A lock that its holder can pass on to a waiting thread.  The usual release of the default
/// lock leaves it to the thread that comes first, which may be the releasing one, as long as no other has
/// waited for half a millisecond; locks that serve in order have no other release than a fair one.
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
    /// Releases the lock; if a thread sleeps for it, that one has it next, which may take as long as
    /// waking it does.  Of threads that spin, or have only just come, any may be first.  Never blocks.
    ///
    /// # Safety
    /// As [`release`](cohort_raw::RawLock::release).
    unsafe fn release_fairly(&self, cx: &Self::Context);

    /// Whether a thread may have waited, a moment ago, that a fair release lets in; for the holder.
    fn is_waited_for(&self, cx: &Self::Context) -> bool;
}

// SAFETY: every release is one.
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
