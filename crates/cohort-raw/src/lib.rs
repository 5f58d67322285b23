//! The traits that every Cohort lock implements.
//!
//! [`RawLock`] is common to all locks. Each further capability is a trait, so that a composition
//! whose parts lack one does not compile; [`Able`] queries a type for it. The requirements of hosts
//! and compositions on any lock are traits too: [`Hosted`], [`QuickRelease`], [`LowLock`],
//! [`HighLock`], [`Resumable`]. They have no default methods, which a wrapper could take for the
//! inner lock's answers; [`standalone!`] implements the usual answers.
//!
//! Acquiring is `unsafe`: until the release, the lock may lead other threads to the caller's
//! context. [`Delegate`] runs a section under any lock safely, by a mutably borrowed context; so do
//! the mutexes of `cohort`.
//!
//! The terms are those of the papers: Dice, Marathe and Shavit, *Lock Cohorting*, 2015; Chehab et
//! al., *CLoF*, 2021; Chabbi, Amer, Wen and Liu, *HMCS-T*, 2017.
#![no_std]

mod able;
mod capability;
mod counter;
mod delegate;
mod forwards;
pub mod glk;
mod hosted;
mod levels;
mod list;
pub mod name;
mod operations;
mod patience;
pub mod recipe;
mod shared;
mod standalone;
mod thresholds;
pub mod tree;

pub use able::{Able, AcquireWithin, Adapting, InheritBy, Make, TryAcquire, Unable, Within};
pub use capability::Capability;
pub use counter::Counter;
pub use delegate::{AbortableDelegate, Attended, Delegate, Section, TryDelegate};
pub use hosted::{Hosted, Hosting, Quick, QuickRelease};
pub use levels::{HighLock, LowLock, Resumable};
pub use operations::{Operations, Reading};
pub use patience::{AnyOf, Cancellation, Clock, Deadline, Patience};
pub use shared::{AbortableShared, RawShared, Recursion};
pub use thresholds::{Idle, Thresholds, Tunable, WHOLE};

/// A mutual-exclusion lock with a context for each acquisition (Chehab et al. 2021 §4.1.3).
///
/// The context is the queue node, slot number or other per-acquisition state of
/// the lock; a lock without one uses `()`.  Contexts are shared and
/// interior-mutable because other threads write them.
///
/// # Safety
/// An implementation must give mutual exclusion: between the return of [`acquire`](Self::acquire)
/// and the call of [`release`](Self::release) no other acquisition returns, and everything before
/// that release happens before whatever follows the next acquisition. A lock that is held and never
/// released, as after a forgotten guard, stays held after a move, and accesses no memory that is
/// gone.
///
/// ```
/// use cohort_raw::RawLock;
/// use std::sync::atomic::{AtomicBool, Ordering};
///
/// /// A lock of one's own, which `cohort::Mutex` takes as any other.
/// #[derive(Default)]
/// struct Mine(AtomicBool);
///
/// // SAFETY: one thread at a time finds `false`, and it sees what the last one did.
/// unsafe impl RawLock for Mine {
///     type Context = ();
///
///     unsafe fn acquire(&self, (): &()) {
///         while self.0.swap(true, Ordering::Acquire) {
///             std::thread::yield_now();
///         }
///     }
///
///     unsafe fn release(&self, (): &()) {
///         self.0.store(false, Ordering::Release);
///     }
///
///     fn is_locked(&self) -> bool {
///         self.0.load(Ordering::Relaxed)
///     }
/// }
///
/// let mine = Mine::default();
/// // SAFETY: the context is used for this acquisition alone; it and the lock stay for the release.
/// unsafe {
///     mine.acquire(&());
///     assert!(mine.is_locked());
///     mine.release(&());
/// }
/// ```
///
/// Until the release, the lock may lead other threads to the context, and the compiler does not
/// check that the context is still there. So each acquisition needs a promise:
///
/// ```compile_fail,E0133
/// fn acquire<L: cohort_raw::RawLock>(lock: &L) {
///     lock.acquire(&L::Context::default());
/// }
/// ```
///
/// The guards and closures of `cohort::Mutex` make this promise for their callers.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a lock",
    note = "locks are in `cohort::basic`, `cohort::numa` and `cohort::compose`; `RwLock` takes the locks \
            for readers"
)]
pub unsafe trait RawLock: Default + Send + Sync {
    /// The per-acquisition state.
    type Context: Default;

    /// Blocks until the lock is held.
    ///
    /// # Safety
    /// No other acquisition, of this or any lock, uses `cx`.  Until the matching release returns, `cx`
    /// stays where it is and is used for nothing else, and the lock is neither moved nor dropped.
    ///
    /// An acquisition without a release uses `cx` for ever. The lock may then be moved or dropped,
    /// while no other call of it is in progress.
    unsafe fn acquire(&self, cx: &Self::Context);

    /// Releases the lock; wakes or grants the next waiter as the lock's policy says.
    ///
    /// # Safety
    /// The lock is held, through an acquisition that used `cx`, and the caller
    /// is entitled to release it (any thread if the lock is
    /// [`ThreadOblivious`]).
    unsafe fn release(&self, cx: &Self::Context);

    /// Whether the lock is held at the moment: a hint, stale as soon as it is returned. Never
    /// blocks.
    fn is_locked(&self) -> bool;
}

/// A lock that can be tried without waiting.
///
/// # Safety
/// As [`RawLock`]: a `true` is an acquisition.
///
/// ```
/// use cohort_raw::RawTry;
///
/// /// Tries a lock a few times.
/// ///
/// /// # Safety
/// /// As [`RawTry::try_acquire`].
/// unsafe fn try_often<L: RawTry>(lock: &L, cx: &L::Context, times: u32) -> bool {
///     // SAFETY: the caller's.
///     (0..times).any(|_| unsafe { lock.try_acquire(cx) })
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no try_lock",
    note = "every lock of `cohort list` has; `Gated<L>` has if `L` has"
)]
pub unsafe trait RawTry: RawLock {
    /// Takes the lock if it is free and no thread waits ahead of the caller; never blocks.
    ///
    /// # Safety
    /// As [`acquire`](RawLock::acquire), and no longer than the call if that returns `false`.
    unsafe fn try_acquire(&self, cx: &Self::Context) -> bool;
}

/// A lock with timed waiters (Chabbi et al. 2017).
///
/// # Safety
/// As [`RawLock`]: [`Outcome::Acquired`] is an acquisition; after [`Outcome::GaveUp`] this context
/// is never granted the lock.
///
/// ```
/// use cohort_raw::{Abortable, Deadline, Outcome, Patience};
///
/// /// Gives up at that time on the monotonic clock.
/// ///
/// /// # Safety
/// /// As [`Abortable::acquire_within`].
/// unsafe fn acquire_until<L: Abortable>(lock: &L, cx: &L::Context, nanoseconds: u64) -> bool {
///     let patience = Patience::until(Deadline::monotonic(nanoseconds));
///     // SAFETY: the caller's.
///     unsafe { lock.acquire_within(cx, &patience) == Outcome::Acquired }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "waiters of `{Self}` have no timeout",
    note = "for timeouts use the default lock, `basic::Bo`, `numa::HmcsT1` to `HmcsT4`, or a lock of \
            `abortable`"
)]
pub unsafe trait Abortable: RawLock {
    /// Blocks until the lock is held or `patience` runs out.
    ///
    /// # Safety
    /// As [`acquire`](RawLock::acquire), and no longer than the call if that gives up.
    unsafe fn acquire_within(&self, cx: &Self::Context, patience: &Patience) -> Outcome;
}

/// How a bounded acquisition ended.
///
/// ```
/// use cohort_raw::{Abortable, Outcome, Patience};
///
/// /// # Safety
/// /// As `acquire_within`.
/// unsafe fn acquire<L: Abortable>(lock: &L, cx: &L::Context) {
///     // SAFETY: the caller's.
///     match unsafe { lock.acquire_within(cx, &Patience::ENDLESS) } {
///         Outcome::Acquired => {}
///         Outcome::GaveUp => unreachable!("nothing ends this patience"),
///     }
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Outcome {
    /// The lock is held.
    Acquired,
    /// Patience ran out; the context may be reused at once.
    GaveUp,
}

/// Abandons in a bounded number of its own steps, whatever others do (Chabbi et al. 2017 §5).
///
/// # Safety
/// The bound must hold: callers rely on it for deadlines.
///
/// ```
/// use cohort_raw::{BoundedAbort, Outcome, Patience};
///
/// /// For callers that have promised to answer in time.
/// ///
/// /// # Safety
/// /// As `acquire_within`.
/// unsafe fn acquire_or_answer<L: BoundedAbort>(
///     lock: &L,
///     cx: &L::Context,
///     patience: &Patience,
/// ) -> Outcome {
///     // SAFETY: the caller's.
///     unsafe { lock.acquire_within(cx, patience) }
/// }
/// ```
pub unsafe trait BoundedAbort: Abortable {}

/// A lock that another thread may release, with the same context (Dice et al. 2015, definition
/// 2.1).
///
/// # Safety
/// `release` must not depend on the calling thread.
///
/// ```
/// use cohort_raw::ThreadOblivious;
///
/// /// Has another thread release the lock.
/// ///
/// /// # Safety
/// /// The lock is held, by that context.
/// unsafe fn release_elsewhere<L: ThreadOblivious<Context: Sync>>(lock: &L, cx: &L::Context) {
///     std::thread::scope(|scope| {
///         // SAFETY: the caller's, and any thread may.
///         scope.spawn(|| unsafe { lock.release(cx) });
///     });
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` must be released by the acquiring thread",
    note = "guards may move to another thread: use closures (`locking`)"
)]
pub unsafe trait ThreadOblivious: RawLock {}

/// A lock with waiter detection by the holder (Dice et al. 2015, definition 2.2).
///
/// # Safety
/// Compositions exclude by it: [`has_waiters`](Self::has_waiters) must never say "yes" without a
/// waiter.
///
/// ```
/// use cohort_raw::DetectsWaiters;
///
///  /// Works on while there is no waiter.
/// ///
/// /// # Safety
/// /// The lock is held, by that context.
/// unsafe fn work<L: DetectsWaiters>(lock: &L, cx: &L::Context, mut step: impl FnMut() -> bool) {
///     // SAFETY: the caller's.
///     while step() && !unsafe { lock.has_waiters(cx) } {}
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "the holder of `{Self}` cannot detect waiters",
    note = "all levels of a composition except the last need this: `basic::Ticket`, `Mcs`, `Clh` and `Hemlock` can"
)]
pub unsafe trait DetectsWaiters: RawLock {
    /// A false "no" is allowed, a false "yes" never.
    ///
    /// # Safety
    /// The caller holds the lock, by that context.
    unsafe fn has_waiters(&self, cx: &Self::Context) -> bool;
}

/// A lock whose holder can hand a number over with it, to a waiter that is committed: the
/// requirement of a cohort with abortable waiters (Dice et al. 2015 §3.4).
///
/// [`DetectsWaiters`] is not enough there: a waiter may time out before the lock reaches it, and
/// what was handed over would be lost.
///
/// # Safety
/// Compositions exclude by it. After [`HandOver::Done`] another acquisition has the lock, however
/// little patience it has left, and [`handed`](Self::handed) returns the number handed over with
/// it. After any other release, and for a lock found free, it is 0.
///
/// ```
/// use cohort_raw::{HandOver, HandsOver};
///
/// /// Hands over the lock with a number one higher than came with it, or releases it.
/// ///
/// /// # Safety
/// /// The lock is held, by that context.
/// unsafe fn pass_on<L: HandsOver>(lock: &L, cx: &L::Context) {
///     // SAFETY: the caller's.
///     unsafe {
///         let number = (lock.handed(cx) + 1).min(L::MOST);
///         if lock.hand_over(cx, number) == HandOver::Kept {
///             lock.release(cx);
///         }
///     }
/// }
/// ```
pub unsafe trait HandsOver: RawLock {
    /// The largest number that can be handed over.
    const MOST: u32;

    /// Gives the lock and that number, from 1 to [`MOST`](Self::MOST), to a waiter that takes both;
    /// or keeps the lock, which must still be [released](RawLock::release). Never blocks.
    ///
    /// # Safety
    /// As [`release`](RawLock::release).
    unsafe fn hand_over(&self, cx: &Self::Context, number: u32) -> HandOver;

    /// The number that came with the lock.
    ///
    /// # Safety
    /// The caller holds the lock, by that context.
    unsafe fn handed(&self, cx: &Self::Context) -> u32;
}

/// The result of an attempt to hand a lock over.
///
/// ```
/// use cohort_raw::{HandOver, HandsOver};
///
/// /// # Safety
/// /// The lock is held, by that context.
/// unsafe fn is_another_there<L: HandsOver>(lock: &L, cx: &L::Context) -> bool {
///     // SAFETY: the caller's.
///     unsafe { lock.hand_over(cx, 1) == HandOver::Done }
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum HandOver {
    /// Another acquisition has the lock, or is about to notice.
    Done,
    /// No waiter is known to be committed: the caller still has the lock.
    Kept,
}

/// A lock without starvation: every acquisition succeeds after finitely many others, since the
/// order of grants cannot bypass a waiter for ever.
///
/// ```
/// use cohort_raw::Fair;
///
///  /// A queue of work without starvation.
/// #[derive(Default)]
/// struct InOrder<L: Fair>(L);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not starvation-free",
    note = "use a FIFO lock, such as `basic::Ticket` or `basic::Mcs`"
)]
pub trait Fair: RawLock {}

/// A lock that repeatedly decides whether its waiters spin or sleep; benchmarks leave it the
/// choice.
///
/// ```
/// use cohort_raw::{Adapts, RawLock};
///
/// #[derive(Default)]
/// struct Chooses<L>(L);
/// # // SAFETY: passed on.
/// # unsafe impl<L: RawLock> RawLock for Chooses<L> {
/// #     type Context = L::Context;
/// #     unsafe fn acquire(&self, cx: &L::Context) { unsafe { self.0.acquire(cx) } }
/// #     unsafe fn release(&self, cx: &L::Context) { unsafe { self.0.release(cx) } }
/// #     fn is_locked(&self) -> bool { self.0.is_locked() }
/// # }
/// impl<L: RawLock> Adapts for Chooses<L> {
///     fn is_strict(&self) -> bool { true }
///     fn begins_strict() -> bool { true }
///     unsafe fn begin_anew(&self, _cx: &L::Context, _object: usize) {}
/// }
/// ```
pub trait Adapts: RawLock {
    /// Whether a release currently grants the lock in FIFO order, which [`strict`](Hosting::strict)
    /// states of other locks permanently. Never blocks.
    fn is_strict(&self) -> bool;

    /// Whether a lock that [begins anew](Self::begin_anew) does so. Never blocks.
    fn begins_strict() -> bool;

    /// Starts to serve the object at that address: discards statistics of the previous object, and names
    /// the new one in reports.  Never blocks.
    ///
    /// # Safety
    /// The caller holds the lock, by that context.
    unsafe fn begin_anew(&self, cx: &Self::Context, object: usize);
}

/// A lock compiled in two forms: with parking, and without. The spinning form has no wake-ups, and
/// so releases by a plain store where the parking form must check for sleepers.
///
/// ```
/// use cohort_raw::TwoForms;
///
///  /// For threads that each have a CPU to themselves.
/// #[derive(Default)]
/// struct Pinned<L: TwoForms>(L::Spinning);
/// ```
pub trait TwoForms: RawLock {
    /// The form without sleeping.
    type Spinning: RawLock;
}

/// A lock that a forked child can go on using.
///
/// The child has the forking thread only; queued threads of the parent do not exist there.
///
/// # Safety
/// After [`inherit`](Self::inherit) the lock must be held by `holder`, or free,
/// with no trace of any other acquisition.
///
/// ```
/// use cohort_raw::Inherit;
///
///  /// A forked child's first step with a lock of its parent's other threads.
/// ///
/// /// # Safety
/// /// The child has no other thread, and holds nothing by this lock.
/// unsafe fn after_fork<L: Inherit>(lock: &L) {
///     // SAFETY: the caller's.
///     unsafe { lock.inherit(None) };
/// }
/// ```
pub unsafe trait Inherit: RawLock {
    /// Forgets every acquisition but the holder's.
    ///
    /// # Safety
    /// No other thread is inside the lock; `holder`, if given, is the context of
    /// the acquisition that holds it.
    unsafe fn inherit(&self, holder: Option<&Self::Context>);
}
