//! Reader–writer locks.

use crate::{Outcome, Patience};

/// Whether a thread that may already hold a read lock passes waiting writers.
///
/// ```
/// use cohort_raw::{RawShared, Recursion};
///
///  /// For code without recursive reads.
/// ///
/// /// # Safety
/// /// As [`RawShared::read`].
/// unsafe fn read_once<L: RawShared>(lock: &L, cx: &L::Context) {
///     // SAFETY: the caller's.
///     unsafe { lock.read(cx, Recursion::Excluded) };
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recursion {
    /// It passes, at once or after a while, so recursive read locks never deadlock.
    Allowed,
    /// It waits behind them: the caller promises not to recurse.
    Excluded,
}

/// A readers–writer lock with a context for each acquisition, as a
/// [`RawLock`](crate::RawLock)'s do.
///
/// # Safety
/// An implementation must give exclusion: while a writer holds the lock, there is no other holder.
/// Everything before a release happens before whatever follows the next acquisition, unless both
/// are to read. As for a [`RawLock`](crate::RawLock), a lock that is held and never released stays
/// held after a move, and accesses no memory that is gone.
///
/// ```
/// use cohort_raw::{RawShared, Recursion};
///
///  /// Releases also where a panic leaves the context's frame.
/// struct Reading<'a, L: RawShared>(&'a L, &'a L::Context);
///
/// impl<L: RawShared> Drop for Reading<'_, L> {
///     fn drop(&mut self) {
///         // SAFETY: read below, by this thread and with that context.
///         unsafe { self.0.release_read(self.1) };
///     }
/// }
///
/// fn reading<L: RawShared, R>(lock: &L, look: impl FnOnce() -> R) -> R {
///     let context = L::Context::default();
///     // SAFETY: the context is used for this acquisition alone; it and the lock stay for the release.
///     unsafe { lock.read(&context, Recursion::Allowed) };
///     let _last = Reading(lock, &context);
///     look()
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an rwlock",
    note = "use `rwlock::RawRwLock`, the default, `rwlock::CRwNp` or `rwlock::CRwWp`; \
            other locks go into `Mutex`"
)]
pub unsafe trait RawShared: Default + Send + Sync {
    /// The state of one acquisition, to read or to write.
    type Context: Default;

    /// Whether [`Recursion::Allowed`] is honoured.
    const RECURSES: bool = true;

    /// Blocks until the lock is held to read.
    ///
    /// # Safety
    /// As [`RawLock::acquire`](crate::RawLock::acquire).
    unsafe fn read(&self, cx: &Self::Context, recursion: Recursion);

    /// Takes the lock to read unless a writer holds it or waits ahead of the caller; never blocks.
    ///
    /// # Safety
    /// As [`read`](Self::read), and no longer than the call if that returns `false`.
    unsafe fn try_read(&self, cx: &Self::Context, recursion: Recursion) -> bool;

    /// Releases a lock held to read.
    ///
    /// # Safety
    /// The calling thread holds it to read, through an acquisition that used `cx`.
    unsafe fn release_read(&self, cx: &Self::Context);

    /// Blocks until the lock is held to write. A thread that holds it to read deadlocks.
    ///
    /// # Safety
    /// As [`read`](Self::read).
    unsafe fn write(&self, cx: &Self::Context);

    /// Takes the lock to write if it is free and no thread waits ahead of the caller; never blocks.
    ///
    /// # Safety
    /// As [`try_read`](Self::try_read).
    unsafe fn try_write(&self, cx: &Self::Context) -> bool;

    /// Releases a lock held to write.
    ///
    /// # Safety
    /// The calling thread holds it to write, through an acquisition that used `cx`.
    unsafe fn release_write(&self, cx: &Self::Context);

    /// Whether the lock was held a moment ago: a hint.
    fn is_locked(&self) -> bool;

    /// Whether a writer held the lock a moment ago: a hint.
    fn is_write_locked(&self) -> bool;
}

/// A reader–writer lock with timed waiters.
///
/// # Safety
/// As [`RawShared`]: [`Outcome::Acquired`] is an acquisition, [`Outcome::GaveUp`] none.
///
/// ```
/// use cohort_raw::{AbortableShared, Outcome, Patience};
///
/// /// # Safety
/// /// As [`AbortableShared::write_within`].
/// unsafe fn write_or_not<L: AbortableShared>(
///     lock: &L,
///     cx: &L::Context,
///     patience: &Patience,
/// ) -> bool {
///     // SAFETY: the caller's.
///     unsafe { lock.write_within(cx, patience) == Outcome::Acquired }
/// }
/// ```
pub unsafe trait AbortableShared: RawShared {
    /// Blocks until the lock is held to read or `patience` runs out.
    ///
    /// # Safety
    /// As [`read`](RawShared::read), and no longer than the call if that gives up.
    unsafe fn read_within(
        &self,
        cx: &Self::Context,
        recursion: Recursion,
        patience: &Patience,
    ) -> Outcome;

    /// Blocks until the lock is held to write or `patience` runs out.
    ///
    /// # Safety
    /// As [`read_within`](Self::read_within).
    unsafe fn write_within(&self, cx: &Self::Context, patience: &Patience) -> Outcome;
}
