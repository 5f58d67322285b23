//! What compositions, which have a low lock for each cohort below one high lock, ask of their
//! parts (Chehab et al. 2021 §4.1, Dice et al. 2015 §2).

use crate::{DetectsWaiters, RawLock};

/// A lock that can be that of a cohort, and may carry a number to the waiter that it is released
/// to: how often the cohort has kept the high lock, in memory that a release writes and an
/// acquisition reads anyway.
///
/// # Safety
/// Compositions exclude by it.  [`hand_offs`](Self::hand_offs) must be the number with which this
/// holder's predecessor [released to it](Self::release_counted), and 0 if it was given none or
/// found the lock free, in whatever way it was acquired.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the low lock of a composition",
    note = "`compose::Counted<L>` can be for any lock `L`; `cohort_raw::standalone!` makes a lock whose \
            holder can tell whether others wait one that carries no number"
)]
pub unsafe trait LowLock: DetectsWaiters {
    /// The largest number that [`release_counted`](Self::release_counted) brings to the
    /// next holder; 0: it brings none.
    fn hand_off_limit(&self) -> u32;

    /// The number that came with the lock.  Call it while holding.
    fn hand_offs(&self, cx: &Self::Context) -> u32;

    /// Acquires; what is [`hand_offs`](Self::hand_offs) then.  Blocks as
    /// [`acquire`](RawLock::acquire).
    ///
    /// # Safety
    /// As [`acquire`](RawLock::acquire).
    unsafe fn acquire_counted(&self, cx: &Self::Context) -> u32;

    /// Releases, and carries a number to the waiter that is next.
    ///
    /// # Safety
    /// As [`release`](RawLock::release).  The number is at most
    /// [`hand_off_limit`](Self::hand_off_limit), and 0 unless
    /// [`has_waiters`](DetectsWaiters::has_waiters) has said "yes" to this holder.
    unsafe fn release_counted(&self, cx: &Self::Context, number: u32);
}

/// A lock that can stand above cohorts, each of which acquires it by a context of its own, and so
/// from one place of the machine.
///
/// # Safety
/// [`acquire_at_cached_place`](Self::acquire_at_cached_place) is an acquisition, as
/// [`acquire`](RawLock::acquire) is.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the high lock of a composition",
    note = "`cohort_raw::standalone!` makes a lock one that does not ask where its caller runs"
)]
pub unsafe trait HighLock: RawLock {
    /// [`acquire`](RawLock::acquire), by a context that acquires this lock alone, and from one
    /// place of the machine, as a cohort's does: a lock that asks where its caller runs may go
    /// by what it was told the last time.
    ///
    /// # Safety
    /// As [`acquire`](RawLock::acquire).
    unsafe fn acquire_at_cached_place(&self, cx: &Self::Context);

    /// Makes the next [`acquire_at_cached_place`](Self::acquire_at_cached_place) by a context,
    /// which is not in use, ask again.
    fn forget_cached_place(cx: &Self::Context);
}
