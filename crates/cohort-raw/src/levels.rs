//! What compositions, which have a low lock for each cohort below one high lock, ask of their
//! parts (Chehab et al. 2021 §4.1, Dice et al. 2015 §2).

use crate::{Abortable, DetectsWaiters, Outcome, Patience, RawLock};

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

    /// The number that came with the lock.
    ///
    /// # Safety
    /// The caller holds the lock, by that context.
    unsafe fn hand_offs(&self, cx: &Self::Context) -> u32;

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

    /// Makes the next [`acquire_at_cached_place`](Self::acquire_at_cached_place) by a context ask
    /// again.
    ///
    /// # Safety
    /// No acquisition uses the context.
    unsafe fn forget_cached_place(cx: &Self::Context);
}

/// A lock that can stand above cohorts of waiters that can give up: a wait that has given up *stays*
/// with its context, and with whatever part of the lock it has come to hold, until another
/// thread goes on with it or ends it (Chabbi et al. 2017 §4, Dice et al. 2015 §3.4).
///
/// # Safety
/// Compositions exclude by it.  [`Outcome::Acquired`] is an acquisition, whichever thread has begun
/// the wait, if the lock is [`ThreadOblivious`](crate::ThreadOblivious); while the wait stays, and
/// after [`retract`](Self::retract), nobody grants the lock to its context.
///
/// ```
/// use cohort_raw::{Outcome, Patience, Resumable};
///
/// /// Acquires, and does something else when patience has run out for the first time.
/// ///
/// /// # Safety
/// /// As [`Resumable::begin_within`].
/// unsafe fn acquire_after_all<L: Resumable>(
///     lock: &L,
///     cx: &L::Context,
///     patience: &Patience,
///     meanwhile: impl FnOnce(),
/// ) {
///     // SAFETY: the caller's; a wait that has given up stays.
///     unsafe {
///         if lock.begin_within(cx, patience) == Outcome::GaveUp {
///             meanwhile();
///             assert_eq!(lock.resume_within(cx, &Patience::ENDLESS), Outcome::Acquired);
///         }
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot stand above cohorts of waiters that give up",
    note = "an `Abortable` lock can, by `cohort_raw::standalone!`, if its waiters hold nothing of it when \
            they have given up"
)]
pub unsafe trait Resumable: Abortable {
    /// Whether a wait that stays may hold a part of the lock, which others of its cohort would
    /// rather have than acquire.
    const STAYS: bool;

    /// [`acquire_within`](Abortable::acquire_within), of a wait that stays if patience runs out.
    ///
    /// # Safety
    /// No other acquisition, of this or any lock, uses `cx`.  It stays where it is until the wait has
    /// ended, or, if that had the lock, until its release returns.
    unsafe fn begin_within(&self, cx: &Self::Context, patience: &Patience) -> Outcome;

    /// Goes on with a wait that stays, and stays again if patience runs out.
    ///
    /// # Safety
    /// The wait of that context stays.
    unsafe fn resume_within(&self, cx: &Self::Context, patience: &Patience) -> Outcome;

    /// Ends a wait that stays: what it holds goes to others.  Never blocks.
    ///
    /// # Safety
    /// The wait of that context stays.
    unsafe fn retract(&self, cx: &Self::Context);
}
