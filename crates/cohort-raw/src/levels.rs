//! Requirements of compositions, which have one high lock above a low lock per cohort, on their
//! parts (Chehab et al. 2021 §4.1, Dice et al. 2015 §2).

use crate::{Abortable, DetectsWaiters, Outcome, Patience, RawLock};

/// A lock for a cohort. A release may carry a number to the next holder: how often the cohort has
/// kept the high lock, in memory that a release writes and an acquisition reads anyway.
///
/// # Safety
/// Compositions exclude by it. [`hand_offs`](Self::hand_offs) must be the number in the
/// predecessor's [release](Self::release_counted) to this holder, and 0 if there was none or the
/// lock was free, however it was acquired.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the low lock of a composition",
    note = "use `compose::Counted<L>`, for any lock `L`; for a lock that detects waiters, \
            `cohort_raw::standalone!` implements it without a counter"
)]
pub unsafe trait LowLock: DetectsWaiters {
    /// The largest number that [`release_counted`](Self::release_counted) carries; 0: none.
    fn hand_off_limit(&self) -> u32;

    /// The number that came with the lock.
    ///
    /// # Safety
    /// The caller holds the lock, by that context.
    unsafe fn hand_offs(&self, cx: &Self::Context) -> u32;

    /// Acquires, and returns [`hand_offs`](Self::hand_offs). Blocks like
    /// [`acquire`](RawLock::acquire).
    ///
    /// # Safety
    /// As [`acquire`](RawLock::acquire).
    unsafe fn acquire_counted(&self, cx: &Self::Context) -> u32;

    /// Releases, and carries a number to the next waiter.
    ///
    /// # Safety
    /// As [`release`](RawLock::release).  The number is at most
    /// [`hand_off_limit`](Self::hand_off_limit), and 0 unless
    /// [`has_waiters`](DetectsWaiters::has_waiters) has said "yes" to this holder.
    unsafe fn release_counted(&self, cx: &Self::Context, number: u32);
}

/// A lock for the level above cohorts. Each cohort acquires it by a context of its own, and so from
/// one place of the machine.
///
/// # Safety
/// [`acquire_at_cached_place`](Self::acquire_at_cached_place) is an acquisition, as
/// [`acquire`](RawLock::acquire) is.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the high lock of a composition",
    note = "`cohort_raw::standalone!` implements it for a lock that ignores its caller's CPU"
)]
pub unsafe trait HighLock: RawLock {
    /// [`acquire`](RawLock::acquire), by a context that acquires this lock only, and from one place
    /// of the machine, like a cohort's: the lock may reuse its last look-up of that place.
    ///
    /// # Safety
    /// As [`acquire`](RawLock::acquire).
    unsafe fn acquire_at_cached_place(&self, cx: &Self::Context);

    /// Makes the next [`acquire_at_cached_place`](Self::acquire_at_cached_place) by a context look
    /// up the place again.
    ///
    /// # Safety
    /// No acquisition uses the context.
    unsafe fn forget_cached_place(cx: &Self::Context);
}

/// An abortable lock for the level above cohorts. A wait that has timed out *stays* with its
/// context, and with the part of the lock that it holds, until another thread resumes or ends it
/// (Chabbi et al. 2017 §4, Dice et al. 2015 §3.4).
///
/// # Safety
/// Compositions exclude by it. [`Outcome::Acquired`] is an acquisition, whichever thread began the
/// wait, if the lock is [`ThreadOblivious`](crate::ThreadOblivious). While the wait stays, and
/// after [`retract`](Self::retract), its context is not granted the lock.
///
/// ```
/// use cohort_raw::{Outcome, Patience, Resumable};
///
///  /// Acquires, and runs `meanwhile` after the first timeout.
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
    message = "`{Self}` cannot be the high lock of an abortable composition",
    note = "`cohort_raw::standalone!` implements it for an `Abortable` lock that holds no node after a \
            timeout"
)]
pub unsafe trait Resumable: Abortable {
    /// Whether a wait that stays may hold a part of the lock, which its cohort's other threads take
    /// over rather than acquire anew.
    const STAYS: bool;

    /// [`acquire_within`](Abortable::acquire_within), but the wait stays if patience runs out.
    ///
    /// # Safety
    /// No other acquisition, of this or any lock, uses `cx`. It stays in place until the wait has
    /// ended, or until the release of an acquired lock returns.
    unsafe fn begin_within(&self, cx: &Self::Context, patience: &Patience) -> Outcome;

    /// Resumes a wait that stays; it stays again if patience runs out.
    ///
    /// # Safety
    /// The wait of that context stays.
    unsafe fn resume_within(&self, cx: &Self::Context, patience: &Patience) -> Outcome;

    /// Ends a wait that stays: its part of the lock goes to other threads. Never blocks.
    ///
    /// # Safety
    /// The wait of that context stays.
    unsafe fn retract(&self, cx: &Self::Context);
}
