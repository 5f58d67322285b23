//! `AClof<Low, High>`: [`Clof`](super::Clof) whose waiters can give up at either lock (Dice et
//! al. 2015 §3.4; of more than two levels if the high lock is such a composition again).
//!
//! **Not for** waiters of endless patience: there a cohort is handed over by what its low lock
//! knows anyway, here by an agreement with a waiter that may be about to leave.
//!
//! | field of a cohort | written by | read by | meaning |
//! |---|---|---|---|
//! | `low` | its waiters | its waiters | which of them is next, and how often the high lock was handed over in a row: not 0: it is held for the holder of `low` |
//! | `until` | the holder of `low` | the next one | when the cohort has had the high lock for long enough, if its bound is a time |
//! | `bound` | the maker of the lock | the holder of `low` | how long a cohort may keep the high lock |
//! | `high` | a holder of `low` that acquires or releases the high lock | by that lock's rules | the context with which the cohort holds it |
//!
//! **A waiter that gives up** at the low lock holds nothing.  At the high lock it holds the low one, and
//! releases that with nothing: the next of the cohort has to acquire the high lock for itself.
//!
//! **Handing over.**  A releaser gives the low lock, and with it the high one, to a waiter that
//! does not leave any more, or learns that there is none; then it releases the high lock, and
//! the low one after it, so that nobody of the cohort uses the cohort's context for a second
//! acquisition (Dice et al. 2015 §3.4; Chehab et al. 2021 §4.1.3).  A low lock that can only
//! tell whether somebody waits does not do, and does not compile:
//!
//! ```compile_fail,E0277
//! # use cohort::{RawLock, basic::{Bo, Mcs}, compose::AClof};
//! // SAFETY: nobody comes to the lock any more.
//! unsafe { AClof::<Mcs, Bo>::default().acquire(&Default::default()) };
//! ```
//!
//! One that hands over does:
//!
//! ```
//! # use cohort::{Abortable, Deadline, Outcome, Patience, RawLock, abortable::AClh, basic::Bo};
//! # use cohort::compose::AClof;
//! let (lock, cx) = (AClof::<AClh, Bo>::default(), Default::default());
//! let late = Patience::until(Deadline::monotonic(0));
//! // SAFETY: each context is used once; that of the holder and the lock stay for the release.
//! unsafe {
//!     lock.acquire(&cx);
//!     assert_eq!(lock.acquire_within(&Default::default(), &late), Outcome::GaveUp);
//!     lock.release(&cx);
//! }
//! ```
//!
//! One that was moved while it was held is not used any more, as [of `Clof`](super::clof).

use super::{Bound, Composed, Numa, Place, Plan};
use crate::door::{Cell, Home, constructor, flaws, mutant, now};
use crate::padded::CachePadded;
use cohort_raw::{
    Abortable, BoundedAbort, Fair, HandOver, HandsOver, Hosted, Inherit, Outcome, Patience,
    RawLock, RawTry, ThreadOblivious, TwoForms, standalone,
};
use core::fmt;

flaws! {
    /// A cohort has no bound.
    KEEP_FOR_EVER = "aclof.keep-for-ever";
    /// The low lock is released before the high one.
    LOW_FIRST = "aclof.low-first";
}

/// What one acquisition carries: the low lock's context, and in which cohort.
#[derive(Debug, Default)]
pub struct AClofContext<C> {
    cohort: Cell<usize>,
    low: C,
}

impl<C> AClofContext<C> {
    fn cohort(&self) -> usize {
        // SAFETY: only the acquisition that owns the context touches it.
        self.cohort.with(|cohort| unsafe { *cohort })
    }
}

/// What goes with a cohort's low lock, on lines that its waiters leave alone.
#[repr(C)]
struct Held<C> {
    until: Cell<u64>,
    bound: Bound,
    high: C,
}

impl<C> Held<C> {
    /// The high lock has come from elsewhere: the time begins, where it is bounded.
    fn begin(&self) {
        if self.bound.nanoseconds > 0 {
            let until = now() + self.bound.nanoseconds;
            // SAFETY: the caller holds the low lock, as all that read or write it do.
            self.until.with_mut(|place| unsafe { *place = until });
        }
    }

    /// Whether the bound allows one more hand-over after so many.
    fn allows(&self, handed: u32) -> bool {
        // SAFETY: as in `begin`.
        let in_time = || now() < self.until.with(|until| unsafe { *until });
        let counts = handed < self.bound.hand_offs || mutant(flaw::KEEP_FOR_EVER);
        counts && (self.bound.nanoseconds == 0 || in_time())
    }
}

/// A low lock and what goes with it, on lines of their own.
#[repr(C, align(128))]
pub(super) struct Cohort<Low, C> {
    low: Low,
    held: CachePadded<Held<C>>,
}

impl<Low, C> Cohort<Low, C> {
    constructor! {
        /// Around that low lock, with that context for the high one, which it does not hold.
        pub(super) fn around(low: Low, high: C, bound: Bound) -> Self {
            Self {
                low,
                held: CachePadded(Held {
                    until: Cell::new(0),
                    bound,
                    high,
                }),
            }
        }
    }
}

/// The lock; `At` is the level of the low locks, and the high lock is handed over within a
/// cohort up to `HAND_OFFS` times in a row, unless the lock's [`Plan`] says otherwise.
///
/// ```
/// use cohort::{Mutex, abortable::AClh, compose::AClof, numa::HmcsT1};
/// use std::time::Duration;
///
/// let total: Mutex<u64, AClof<AClh, HmcsT1>> = Mutex::from(1);
/// let guard = total.lock();
/// assert!(total.try_lock_for(Duration::from_millis(1)).is_none());
/// # drop(guard);
/// ```
#[repr(C)]
pub struct AClof<Low, High, At = Numa, const HAND_OFFS: u32 = 100, const COHORTS: usize = 16>
where
    High: RawLock,
{
    cohorts: [Cohort<Low, High::Context>; COHORTS],
    /// On lines of its own.
    high: CachePadded<High>,
    at: At,
    home: Home,
}

impl<Low, High: RawLock, At, const HAND_OFFS: u32, const COHORTS: usize> fmt::Debug
    for AClof<Low, High, At, HAND_OFFS, COHORTS>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AClof").finish_non_exhaustive()
    }
}

impl<Low, High: RawLock, At, const HAND_OFFS: u32, const COHORTS: usize>
    AClof<Low, High, At, HAND_OFFS, COHORTS>
{
    constructor! {
        /// Those cohorts below that lock.
        pub(super) fn of(
            cohorts: [Cohort<Low, High::Context>; COHORTS],
            high: High,
            at: At,
        ) -> Self {
            const { assert!(COHORTS > 0) };
            Self {
                cohorts,
                high: CachePadded(high),
                at,
                home: Home::new(),
            }
        }
    }
}

impl<Low, High, At, const HAND_OFFS: u32, const COHORTS: usize>
    AClof<Low, High, At, HAND_OFFS, COHORTS>
where
    High: RawLock,
    At: Place,
{
    fn made(low: impl Fn() -> Low, high: High, at: At, bound: Bound) -> Self {
        let cohort = |_| Cohort::around(low(), High::Context::default(), bound);
        Self::of(core::array::from_fn(cohort), high, at)
    }

    /// The caller's cohort, noted in its context.
    #[inline]
    fn enter<C>(&self, cx: &AClofContext<C>) -> (&Low, &Held<High::Context>) {
        let cohort = self.at.cohort() % COHORTS;
        // SAFETY: only the acquisition that owns the context touches it.
        cx.cohort.with_mut(|place| unsafe { *place = cohort });
        self.held_in(cx)
    }

    /// The cohort of that context's acquisition.
    #[inline]
    fn held_in<C>(&self, cx: &AClofContext<C>) -> (&Low, &Held<High::Context>) {
        let Cohort { low, held } = &self.cohorts[cx.cohort()];
        (low, &held.0)
    }

    /// Acquires the high lock in the way that is given, unless it came with the low one, which
    /// the caller holds; releases that one if it does not get both.
    #[inline]
    fn go_on(
        &self,
        (low, held): (&Low, &Held<High::Context>),
        cx: &Low::Context,
        high: impl FnOnce(&High, &High::Context) -> bool,
    ) -> bool
    where
        Low: HandsOver,
    {
        if low.handed(cx) > 0 {
            return true;
        }
        if high(&self.high.0, &held.high) {
            held.begin();
            return true;
        }
        // SAFETY: acquired just now, with this context.
        unsafe { low.release(cx) };
        false
    }
}

impl<Low, High, At, const HAND_OFFS: u32, const COHORTS: usize> Default
    for AClof<Low, High, At, HAND_OFFS, COHORTS>
where
    Low: Default,
    High: RawLock,
    At: Place,
{
    fn default() -> Self {
        let bound = Bound::hand_offs(HAND_OFFS);
        Self::made(Low::default, High::default(), At::default(), bound)
    }
}

impl<Low, High, At, const HAND_OFFS: u32, const COHORTS: usize> Composed
    for AClof<Low, High, At, HAND_OFFS, COHORTS>
where
    Low: HandsOver + Abortable,
    High: ThreadOblivious<Context: Send + Sync> + Abortable + Composed,
    At: Place,
{
    type Top = High::Top;

    fn top(&self) -> &High::Top {
        self.high.0.top()
    }

    fn planned(plan: &Plan<'_>) -> Self {
        let (low, high) = plan.split();
        let at = low.levels.first();
        let at = at.map_or_else(At::default, |at| At::at(*at));
        let bound = plan.bound.unwrap_or(Bound::hand_offs(HAND_OFFS));
        Self::made(Low::default, High::planned(&high), at, bound)
    }
}

// SAFETY: a thread that returns from an acquisition with the lock holds its cohort's low lock, and
// the high lock with that cohort's context: acquired by itself, or handed over with the low
// one.  The high lock is held for one cohort at a time, the low one by one thread; both
// publish what was done before.
unsafe impl<Low, High, At, const HAND_OFFS: u32, const COHORTS: usize> RawLock
    for AClof<Low, High, At, HAND_OFFS, COHORTS>
where
    Low: HandsOver + Abortable,
    High: ThreadOblivious<Context: Send + Sync> + Abortable,
    At: Place,
{
    type Context = AClofContext<Low::Context>;

    #[inline]
    unsafe fn acquire(&self, cx: &Self::Context) {
        // SAFETY: the caller's.
        let _ = unsafe { self.acquire_within(cx, &Patience::ENDLESS) };
    }

    #[inline]
    unsafe fn release(&self, cx: &Self::Context) {
        let (low, held) = self.held_in(cx);
        let handed = low.handed(&cx.low);
        // SAFETY: both are held: the low lock by this context, the high one with its
        // cohort's, by any thread of it.
        unsafe {
            if handed < Low::MOST
                && held.allows(handed)
                && low.hand_over(&cx.low, handed + 1) == HandOver::Done
            {
                return;
            }
            let low_first = mutant(flaw::LOW_FIRST);
            if low_first {
                low.release(&cx.low);
            }
            self.high.0.release(&held.high);
            if !low_first {
                low.release(&cx.low);
            }
        }
    }

    fn is_locked(&self) -> bool {
        self.high.0.is_locked()
    }
}

standalone! {
    [
        Low: HandsOver + Abortable + Hosted,
        High: ThreadOblivious<Context: Send + Sync> + Abortable + Hosted,
        At: Place,
        const HAND_OFFS: u32,
        const COHORTS: usize
    ] AClof<Low, High, At, HAND_OFFS, COHORTS>:
    Hosted {
        strict: Low::HOSTING.strict || High::HOSTING.strict,
        node_bytes: Low::HOSTING.node_bytes,
    },
    QuickRelease
}

// SAFETY: as above; a waiter that gives up has left both locks, or released the low one.
unsafe impl<Low, High, At, const HAND_OFFS: u32, const COHORTS: usize> Abortable
    for AClof<Low, High, At, HAND_OFFS, COHORTS>
where
    Low: HandsOver + Abortable,
    High: ThreadOblivious<Context: Send + Sync> + Abortable,
    At: Place,
{
    #[inline]
    unsafe fn acquire_within(&self, cx: &Self::Context, patience: &Patience) -> Outcome {
        let cohort = self.enter(cx);
        // SAFETY: the caller's.
        if unsafe { cohort.0.acquire_within(&cx.low, patience) } == Outcome::GaveUp {
            return Outcome::GaveUp;
        }
        // SAFETY: the holder of a low lock alone uses its cohort's context, which stays as long as this
        // lock does, and where that is not where it was, it is not acquired.
        let high = |high: &High, context: &High::Context| unsafe {
            self.home.is_here_within(patience, || high.is_locked())
                && high.acquire_within(context, patience) == Outcome::Acquired
        };
        if self.go_on(cohort, &cx.low, high) {
            Outcome::Acquired
        } else {
            Outcome::GaveUp
        }
    }
}

// SAFETY: giving up is that of one lock, and a release of the other, which waits for nobody
// if it is bounded itself.
unsafe impl<Low, High, At, const HAND_OFFS: u32, const COHORTS: usize> BoundedAbort
    for AClof<Low, High, At, HAND_OFFS, COHORTS>
where
    Low: HandsOver + BoundedAbort,
    High: ThreadOblivious<Context: Send + Sync> + BoundedAbort,
    At: Place,
{
}

// SAFETY: as above.
unsafe impl<Low, High, At, const HAND_OFFS: u32, const COHORTS: usize> RawTry
    for AClof<Low, High, At, HAND_OFFS, COHORTS>
where
    Low: HandsOver + Abortable + RawTry,
    High: ThreadOblivious<Context: Send + Sync> + Abortable + RawTry,
    At: Place,
{
    unsafe fn try_acquire(&self, cx: &Self::Context) -> bool {
        let cohort = self.enter(cx);
        // SAFETY: as in `acquire_within`.
        let high = |high: &High, context: &High::Context| unsafe {
            self.home.is_here(|| high.is_locked()) && high.try_acquire(context)
        };
        // SAFETY: the caller's.
        unsafe { cohort.0.try_acquire(&cx.low) && self.go_on(cohort, &cx.low, high) }
    }
}

// SAFETY: release reads the cohort from the context and goes on to locks that do not
// depend on the thread either.
unsafe impl<Low, High, At, const HAND_OFFS: u32, const COHORTS: usize> ThreadOblivious
    for AClof<Low, High, At, HAND_OFFS, COHORTS>
where
    Low: HandsOver + Abortable + ThreadOblivious,
    High: ThreadOblivious<Context: Send + Sync> + Abortable,
    At: Place,
{
}

impl<Low, High, At, const HAND_OFFS: u32, const COHORTS: usize> Fair
    for AClof<Low, High, At, HAND_OFFS, COHORTS>
where
    Low: HandsOver + Abortable + Fair,
    High: ThreadOblivious<Context: Send + Sync> + Abortable + Fair,
    At: Place,
{
}

// SAFETY: afterwards no cohort's low lock is held but the holder's, and the high lock is
// held with that cohort's context, or free.
unsafe impl<Low, High, At, const HAND_OFFS: u32, const COHORTS: usize> Inherit
    for AClof<Low, High, At, HAND_OFFS, COHORTS>
where
    Low: HandsOver + Abortable + Inherit,
    High: ThreadOblivious<Context: Send + Sync> + Abortable + Inherit,
    At: Place,
{
    unsafe fn inherit(&self, holder: Option<&Self::Context>) {
        for (number, cohort) in self.cohorts.iter().enumerate() {
            let holder = holder.filter(|cx| cx.cohort() == number);
            // SAFETY: the caller is alone, and holds the low lock of its cohort.
            unsafe { cohort.low.inherit(holder.map(|cx| &cx.low)) };
        }
        let holds = holder.map(|cx| &self.held_in(cx).1.high);
        // SAFETY: the cohort's context is the one with which the high lock is held.
        unsafe { self.high.0.inherit(holds) };
    }
}

impl<Low, High, At, const HAND_OFFS: u32, const COHORTS: usize> TwoForms
    for AClof<Low, High, At, HAND_OFFS, COHORTS>
where
    Low: HandsOver + Abortable + TwoForms<Spinning: HandsOver + Abortable>,
    High: ThreadOblivious<Context: Send + Sync>
        + Abortable
        + TwoForms<Spinning: ThreadOblivious<Context: Send + Sync> + Abortable>,
    At: Place,
{
    type Spinning = AClof<Low::Spinning, High::Spinning, At, HAND_OFFS, COHORTS>;
}
