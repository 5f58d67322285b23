//! Locks that readers share.

use crate::{Outcome, Patience};

/// Whether a thread that may hold a lock to read already passes waiting writers.
///
/// ```
/// use cohort_raw::{RawShared, Recursion};
///
/// /// For code that never reads twice at once.
/// fn read_once<L: RawShared>(lock: &L, cx: &L::Context) {
///     lock.read(cx, Recursion::Excluded);
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recursion {
    /// It does, at once or after a while, so recursive read locks never deadlock.
    Allowed,
    /// It waits behind them: the caller promises not to recurse.
    Excluded,
}

/// A readers–writer lock whose acquisitions carry a context, as a
/// [`RawLock`](crate::RawLock)'s do.
///
/// # Safety
/// An implementation must give exclusion: while somebody holds the lock to write,
/// nobody else holds it; and everything before a release happens before whatever
/// follows the next acquisition, unless both are to read.
///
/// ```
/// use cohort_raw::{RawShared, Recursion};
///
/// fn reading<L: RawShared, R>(lock: &L, look: impl FnOnce() -> R) -> R {
///     let context = L::Context::default();
///     lock.read(&context, Recursion::Allowed);
///     let seen = look();
///     // SAFETY: read above, by this thread and with that context.
///     unsafe { lock.release_read(&context) };
///     seen
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no lock that readers share",
    note = "those are `rwlock::RawRwLock`, the default, and `rwlock::CRwNp` and `rwlock::CRwWp`; \
            others go into `Mutex`"
)]
pub unsafe trait RawShared: Default + Send + Sync {
    /// What one acquisition carries, to read or to write.
    type Context: Default;

    /// Whether [`Recursion::Allowed`] is honoured.
    const RECURSES: bool = true;

    /// Blocks until the lock is held to read.
    ///
    /// `cx` must not be in use by another acquisition (of this or any lock) and must
    /// stay where it is until the matching release returns.
    fn read(&self, cx: &Self::Context, recursion: Recursion);

    /// Takes the lock to read if no writer holds it, nor waits for it ahead of the
    /// caller; never blocks.
    fn try_read(&self, cx: &Self::Context, recursion: Recursion) -> bool;

    /// Releases a lock held to read.
    ///
    /// # Safety
    /// The calling thread holds it to read, through an acquisition that used `cx`.
    unsafe fn release_read(&self, cx: &Self::Context);

    /// Blocks until the lock is held to write.  A thread that holds it to read waits
    /// for ever.
    ///
    /// `cx` as for [`read`](Self::read).
    fn write(&self, cx: &Self::Context);

    /// Takes the lock to write if nobody holds it or waits for it ahead of the caller;
    /// never blocks.
    fn try_write(&self, cx: &Self::Context) -> bool;

    /// Releases a lock held to write.
    ///
    /// # Safety
    /// The calling thread holds it to write, through an acquisition that used `cx`.
    unsafe fn release_write(&self, cx: &Self::Context);

    /// Whether somebody held the lock a moment ago: a hint.
    fn is_locked(&self) -> bool;

    /// Whether a writer held the lock a moment ago: a hint.
    fn is_write_locked(&self) -> bool;
}

/// A readers–writer lock whose waiters can give up.
///
/// # Safety
/// As [`RawShared`]: [`Outcome::Acquired`] is an acquisition, [`Outcome::GaveUp`] none.
///
/// ```
/// use cohort_raw::{AbortableShared, Outcome, Patience};
///
/// fn write_or_not<L: AbortableShared>(lock: &L, cx: &L::Context, patience: &Patience) -> bool {
///     lock.write_within(cx, patience) == Outcome::Acquired
/// }
/// ```
pub unsafe trait AbortableShared: RawShared {
    /// Blocks until the lock is held to read or `patience` runs out.
    fn read_within(&self, cx: &Self::Context, recursion: Recursion, patience: &Patience)
    -> Outcome;

    /// Blocks until the lock is held to write or `patience` runs out.
    fn write_within(&self, cx: &Self::Context, patience: &Patience) -> Outcome;
}
