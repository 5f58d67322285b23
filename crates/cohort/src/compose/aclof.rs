//! `AClof<Low, High>`: [`Clof`](super::Clof) with waiters that can give up at either lock (Dice et
//! al. 2015 §3.4; of more than two levels if the high lock is such a composition again).
//!
//! **Not for** waiters without a deadline: [`Clof`](super::Clof) hands over by what its low lock
//! knows anyway; this lock needs an agreement with a waiter that may be about to leave.
//!
//! | field of a cohort | written by | read by | meaning |
//! |---|---|---|---|
//! | `low` | its waiters | its waiters | which of them is next, and what its grant carries: 0: nothing; `BEGUN`: a wait at the high lock, which stays; `BEGUN` + n: the high lock, handed over n times in a row |
//! | `until` | the holder of `low` | the next one | when the cohort must give up the high lock, if its bound is a time |
//! | `given` | the holder of `low` | the next one | how often in a row a wait at the high lock was handed on |
//! | `bound` | the maker of the lock | the holder of `low` | how long a cohort may keep the high lock |
//! | `high` | a holder of `low` that acquires or releases the high lock | by that lock's rules | the context with which the cohort holds it, or waits for it |
//!
//! **A waiter that gives up** at the low lock holds nothing.  At the high lock it holds the low
//! one, and some locks of the high lock, if that is a composition again.  It keeps them all, and
//! the wait stays, with the cohort's context.  A waiter of the cohort that stays is handed the low
//! lock with this wait, and continues it.  Without such a waiter, the wait ends in the same way a
//! level higher, and the low lock is released last.  So a waiter that gives up goes up once, to the
//! smallest of its cohorts with a waiter, and down again (Chabbi et al. 2017 §4).  That takes no
//! more steps than in [`hmcs-t`](crate::numa::hmcs_t), whose levels are those of its queues.
//!
//! If the high lock is not a composition, a wait holds nothing of it.  The low lock is released
//! without a wait, and the cohort's next thread acquires the high lock itself.  It uses the
//! cohort's context, by which a queue finds the place left there.
//!
//! **A wait is handed on** within a cohort no more often in a row than the lock, and at most 64
//! times. Chabbi et al. 2017 set no such bound: a cohort in which one waiter after another gives up
//! without the lock could delay a patient waiter for ever.
//!
//! **Handing over.**  A releaser hands the low lock and the high one to a waiter that stays, or
//! detects that there is none.  Without one it releases the high lock first and then the low one.
//! So no thread of the cohort uses the cohort's context for a second acquisition (Dice et al. 2015
//! §3.4; Chehab et al. 2021 §4.1.3).  A low lock that can only detect waiters does not suffice, and
//! does not compile:
//!
//! ```compile_fail,E0277
//! # use cohort::{RawLock, basic::{Bo, Mcs}, compose::AClof};
//! // SAFETY: no other thread uses the lock.
//! unsafe { AClof::<Mcs, Bo>::default().acquire(&Default::default()) };
//! ```
//!
//! A low lock that hands over compiles:
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
//! A lock that was moved while held cannot be used, as [with `Clof`](super::clof).

use super::{Bound, Composed, Numa, Place, Plan};
use crate::door::{Cell, Home, constructor, flaws, mutant, node_places, now};
use crate::support::padded::CachePadded;
use cohort_raw::{
    Abortable, BoundedAbort, Fair, HandOver, HandsOver, Hosted, Hosting, Inherit, Outcome,
    Patience, RawLock, RawTry, Resumable, ThreadOblivious, TwoForms, standalone,
};
use core::fmt;
use core::mem::MaybeUninit;

flaws! {
    /// A cohort has no bound.
    KEEP_FOR_EVER = "aclof.keep-for-ever";
    /// The low lock is released before the high one.
    LOW_FIRST = "aclof.low-first";
    /// A wait is handed on for as long as one waiter after another gives up.
    STAY_FOR_EVER = "aclof.stay-for-ever";
    /// A thread that was handed a wait begins another one.
    BEGIN_ANEW = "aclof.begin-anew";
    /// A wait that no thread continues does not end.
    LEAVE_WAIT = "aclof.leave-wait";
    /// The low lock is released before the wait at the high one has ended.
    END_LATE = "aclof.end-late";
}

/// The number carried with the low lock if a wait at the high one stays; larger by the number of
/// hand-overs if the high lock itself is carried.
const BEGUN: u32 = 1;

/// The most times in a row that a wait is handed on.
const GIVEN: u32 = 64;

/// The context of an acquisition: the low lock's context, and the cohort.
#[derive(Debug, Default)]
pub struct AClofContext<C> {
    cohort: Cell<usize>,
    /// Whether the low lock is held by a wait that has given up at the high one.
    stays: Cell<bool>,
    low: C,
}

impl<C> AClofContext<C> {
    fn cohort(&self) -> usize {
        // SAFETY: only the acquisition that owns the context touches it.
        self.cohort.with(|cohort| unsafe { *cohort })
    }

    /// Begins an acquisition in that cohort.
    fn begin(&self, cohort: usize) {
        // SAFETY: as above.
        self.cohort.with_mut(|place| unsafe { *place = cohort });
        self.stay(false);
    }

    fn stays(&self) -> bool {
        // SAFETY: as above; one thread continues or ends a wait that stays.
        self.stays.with(|stays| unsafe { *stays })
    }

    fn stay(&self, stays: bool) {
        // SAFETY: as above.
        self.stays.with_mut(|place| unsafe { *place = stays });
    }
}

/// The data of a cohort's low lock, on lines that its waiters do not access.
#[repr(C)]
struct Held<C> {
    until: Cell<u64>,
    given: Cell<u32>,
    bound: Bound,
    high: C,
}

impl<C> Held<C> {
    /// Starts the bound's time: the high lock was acquired, not handed over.
    fn begin(&self) {
        self.give(0);
        if self.bound.nanoseconds > 0 {
            let until = now() + self.bound.nanoseconds;
            // SAFETY: the caller holds the low lock, as every reader or writer of it does.
            self.until.with_mut(|place| unsafe { *place = until });
        }
    }

    /// Whether the bound allows another hand-over after `handed` of them.
    fn allows(&self, handed: u32) -> bool {
        // SAFETY: as in `begin`.
        let in_time = || now() < self.until.with(|until| unsafe { *until });
        let counts = handed < self.bound.hand_offs || mutant(flaw::KEEP_FOR_EVER);
        counts && (self.bound.nanoseconds == 0 || in_time())
    }

    /// Sets how often in a row the wait was handed on.
    fn give(&self, given: u32) {
        // SAFETY: as in `begin`.
        self.given.with_mut(|place| unsafe { *place = given });
    }

    /// Whether the wait may be handed on once more; counts it.
    fn gives(&self) -> bool {
        // SAFETY: as in `begin`.
        let given = self.given.with(|given| unsafe { *given });
        let gives = given < self.bound.hand_offs.min(GIVEN) || mutant(flaw::STAY_FOR_EVER);
        if gives {
            self.give(given + 1);
        }
        gives
    }
}

/// A low lock and its data, on lines of their own.
#[repr(C, align(128))]
pub(super) struct Cohort<Low, C> {
    low: Low,
    held: CachePadded<Held<C>>,
}

impl<Low, C> Cohort<Low, C> {
    constructor! {
        /// A cohort with that low lock and that context for the high lock, which it does not hold.
        pub(super) fn around(low: Low, high: C, bound: Bound) -> Self {
            Self {
                low,
                held: CachePadded(Held {
                    until: Cell::new(0),
                    given: Cell::new(0),
                    bound,
                    high,
                }),
            }
        }
    }
}

/// The lock; `At` is the level of the low locks.  A cohort hands the high lock over up to
/// `HAND_OFFS` times in a row, unless the lock's [`Plan`] says otherwise.
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
pub struct AClof<
    Low,
    High,
    At = Numa,
    const HAND_OFFS: u32 = 100,
    const COHORTS: usize = { node_places(16) },
> where
    High: RawLock,
{
    cohorts: [Cohort<Low, High::Context>; COHORTS],
    /// On separate lines.
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
    /// Makes everything but the high lock at `place`: the whole may be larger than a thread's
    /// stack.
    ///
    /// # Safety
    /// The place is valid for writes, and unused; `low` makes a low lock at its final address.
    unsafe fn made_at(place: *mut Self, bound: Bound, at: At, low: impl Fn(*mut Low)) {
        const { assert!(COHORTS > 0) };
        // SAFETY: the caller's; each field is written once.
        unsafe {
            let cohorts = (&raw mut (*place).cohorts).cast::<Cohort<Low, High::Context>>();
            for number in 0..COHORTS {
                let cohort = cohorts.add(number);
                low(&raw mut (*cohort).low);
                let Cohort { low: (), held } = Cohort::around((), High::Context::default(), bound);
                (&raw mut (*cohort).held).write(held);
            }
            (&raw mut (*place).at).write(at);
            (&raw mut (*place).home).write(Home::new());
        }
    }

    /// The caller's cohort, noted in its context.
    #[inline]
    fn enter<C>(&self, cx: &AClofContext<C>) -> (&Low, &Held<High::Context>) {
        cx.begin(self.at.cohort() % COHORTS);
        self.held_in(cx)
    }

    /// The cohort of that context's acquisition.
    #[inline]
    fn held_in<C>(&self, cx: &AClofContext<C>) -> (&Low, &Held<High::Context>) {
        let Cohort { low, held } = &self.cohorts[cx.cohort()];
        (low, &held.0)
    }
}

impl<Low, High, At, const HAND_OFFS: u32, const COHORTS: usize>
    AClof<Low, High, At, HAND_OFFS, COHORTS>
where
    Low: HandsOver + Abortable,
    High: ThreadOblivious<Context: Send + Sync> + Resumable,
    At: Place,
{
    /// Continues as the holder of the low lock, with what that carried, until patience runs out; a
    /// wait that has begun then stays.
    #[inline]
    fn go_on(&self, cx: &AClofContext<Low::Context>, patience: &Patience) -> Outcome {
        let (low, held) = self.held_in(cx);
        // SAFETY: the caller holds it.
        match unsafe { low.handed(&cx.low) } {
            0 => {}
            BEGUN if mutant(flaw::BEGIN_ANEW) => {}
            BEGUN => return self.resume_above(cx, patience),
            _ => return Outcome::Acquired,
        }
        let high = &self.high.0;
        if self.home.is_here_within(patience, || high.is_locked()) {
            // SAFETY: only the holder of a low lock uses its cohort's context, which lives as long
            // as this lock; if the lock has moved, the high lock is not acquired.
            let outcome = unsafe { high.begin_within(&held.high, patience) };
            return self.has_waited(cx, outcome);
        }
        // SAFETY: acquired just now, with this context.
        unsafe { low.release(&cx.low) };
        Outcome::GaveUp
    }

    /// Continues a wait that stays, as the holder of the low lock.
    fn resume_above(&self, cx: &AClofContext<Low::Context>, patience: &Patience) -> Outcome {
        let (_, held) = self.held_in(cx);
        // SAFETY: a wait was carried with the low lock, or begun by this acquisition; it has stayed
        // since, with the cohort's context.
        let outcome = unsafe { self.high.0.resume_within(&held.high, patience) };
        self.has_waited(cx, outcome)
    }

    /// Records the end of a wait at the high lock.
    #[inline]
    fn has_waited(&self, cx: &AClofContext<Low::Context>, outcome: Outcome) -> Outcome {
        let acquired = outcome == Outcome::Acquired;
        if acquired {
            self.held_in(cx).1.begin();
        }
        cx.stay(!acquired);
        outcome
    }

    /// Ends a wait, if it holds anything.
    #[inline]
    fn give_up(&self, cx: &AClofContext<Low::Context>) {
        if cx.stays() {
            self.hand_on(cx);
        }
    }

    /// Hands a wait that stays to a waiter of the cohort, with the low lock, or ends both.
    fn hand_on(&self, cx: &AClofContext<Low::Context>) {
        cx.stay(false);
        let (low, held) = self.held_in(cx);
        // SAFETY: the low lock is held by this context, and the wait at the high one stays with the
        // cohort's.
        unsafe {
            if High::STAYS && held.gives() && low.hand_over(&cx.low, BEGUN) == HandOver::Done {
                return;
            }
            held.give(0);
            let low_first = mutant(flaw::END_LATE);
            if low_first {
                low.release(&cx.low);
            }
            if !mutant(flaw::LEAVE_WAIT) {
                self.high.0.retract(&held.high);
            }
            if !low_first {
                low.release(&cx.low);
            }
        }
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
        let cohort = |_| Cohort::around(Low::default(), High::Context::default(), bound);
        Self::of(core::array::from_fn(cohort), High::default(), At::default())
    }
}

// SAFETY: every acquisition ends with the high lock's.
unsafe impl<Low, High, At, const HAND_OFFS: u32, const COHORTS: usize> Composed
    for AClof<Low, High, At, HAND_OFFS, COHORTS>
where
    Low: HandsOver + Abortable,
    High: ThreadOblivious<Context: Send + Sync> + Resumable + Composed,
    At: Place,
{
    type Top = High::Top;

    fn top(&self) -> &High::Top {
        self.high.0.top()
    }

    fn planned(plan: &Plan<'_>) -> Self {
        let mut lock = MaybeUninit::uninit();
        // SAFETY: the place is fresh, and whole afterwards.
        unsafe {
            Self::plan_at(lock.as_mut_ptr(), plan);
            lock.assume_init()
        }
    }

    unsafe fn plan_at(place: *mut Self, plan: &Plan<'_>) {
        let (low, high) = plan.split();
        let at = low.levels.first();
        let at = at.map_or_else(At::default, |at| At::at(*at));
        let bound = plan.bound.unwrap_or(Bound::hand_offs(HAND_OFFS));
        // SAFETY: the caller's.
        unsafe {
            Self::made_at(place, bound, at, |place: *mut Low| {
                place.write(Low::default());
            });
            High::plan_at(&raw mut (*place).high.0, &high);
        }
    }
}

// SAFETY: a thread that returns from an acquisition with the lock holds its cohort's low lock, and
// the high lock with that cohort's context: acquired by itself, or handed over with the low one.
// One cohort at a time holds the high lock, and one thread the low one; both publish earlier work.
unsafe impl<Low, High, At, const HAND_OFFS: u32, const COHORTS: usize> RawLock
    for AClof<Low, High, At, HAND_OFFS, COHORTS>
where
    Low: HandsOver + Abortable,
    High: ThreadOblivious<Context: Send + Sync> + Resumable,
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
        // SAFETY: the caller's.
        let came = unsafe { low.handed(&cx.low) }.max(BEGUN);
        // SAFETY: both are held: the low lock by this context, the high one with its
        // cohort's, by any thread of it.
        unsafe {
            if came < Low::MOST
                && held.allows(came - BEGUN)
                && low.hand_over(&cx.low, came + 1) == HandOver::Done
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
        High: ThreadOblivious<Context: Send + Sync> + Resumable + Hosted,
        At: Place,
        const HAND_OFFS: u32,
        const COHORTS: usize
    ] AClof<Low, High, At, HAND_OFFS, COHORTS>: QuickRelease
}

// SAFETY: it grants, and does not number its turns.
unsafe impl<Low, High, At, const HAND_OFFS: u32, const COHORTS: usize> Hosted
    for AClof<Low, High, At, HAND_OFFS, COHORTS>
where
    Low: HandsOver + Abortable + Hosted,
    High: ThreadOblivious<Context: Send + Sync> + Resumable + Hosted,
    At: Place,
{
    const HOSTING: Hosting = Hosting {
        strict: Low::HOSTING.strict || High::HOSTING.strict,
        node_bytes: Low::HOSTING.node_bytes,
        ..Hosting::USUAL
    };

    unsafe fn make_at(place: *mut Self) {
        let bound = Bound::hand_offs(HAND_OFFS);
        // SAFETY: the caller's.
        unsafe {
            Self::made_at(place, bound, At::default(), |place| Low::make_at(place));
            High::make_at(&raw mut (*place).high.0);
        }
    }

    fn turn(&self) -> u32 {
        1
    }
}

// SAFETY: as above; a waiter that gives up has left both locks, or handed the low one on, with its
// cohort's wait at the high one.
unsafe impl<Low, High, At, const HAND_OFFS: u32, const COHORTS: usize> Abortable
    for AClof<Low, High, At, HAND_OFFS, COHORTS>
where
    Low: HandsOver + Abortable,
    High: ThreadOblivious<Context: Send + Sync> + Resumable,
    At: Place,
{
    #[inline]
    unsafe fn acquire_within(&self, cx: &Self::Context, patience: &Patience) -> Outcome {
        // SAFETY: the caller's.
        let outcome = unsafe { self.begin_within(cx, patience) };
        if outcome == Outcome::GaveUp {
            self.give_up(cx);
        }
        outcome
    }
}

// SAFETY: a wait that stays has given up at the low lock and holds nothing, or it holds that and
// its cohort's wait at the high one.  No other thread continues that wait meanwhile.
unsafe impl<Low, High, At, const HAND_OFFS: u32, const COHORTS: usize> Resumable
    for AClof<Low, High, At, HAND_OFFS, COHORTS>
where
    Low: HandsOver + Abortable,
    High: ThreadOblivious<Context: Send + Sync> + Resumable,
    At: Place,
{
    const STAYS: bool = true;

    #[inline]
    unsafe fn begin_within(&self, cx: &Self::Context, patience: &Patience) -> Outcome {
        let (low, _) = self.enter(cx);
        // SAFETY: the caller's.
        if unsafe { low.acquire_within(&cx.low, patience) } == Outcome::GaveUp {
            return Outcome::GaveUp;
        }
        self.go_on(cx, patience)
    }

    unsafe fn resume_within(&self, cx: &Self::Context, patience: &Patience) -> Outcome {
        if cx.stays() {
            self.resume_above(cx, patience)
        } else {
            // SAFETY: the context of a wait that has given up at the low lock holds nothing.
            unsafe { self.begin_within(cx, patience) }
        }
    }

    unsafe fn retract(&self, cx: &Self::Context) {
        self.give_up(cx);
    }
}

// SAFETY: giving up is that of one lock, and a hand-over or release of the other; these do not wait
// for other threads if that lock is bounded too.
unsafe impl<Low, High, At, const HAND_OFFS: u32, const COHORTS: usize> BoundedAbort
    for AClof<Low, High, At, HAND_OFFS, COHORTS>
where
    Low: HandsOver + BoundedAbort,
    High: ThreadOblivious<Context: Send + Sync> + BoundedAbort + Resumable,
    At: Place,
{
}

// SAFETY: as above.
unsafe impl<Low, High, At, const HAND_OFFS: u32, const COHORTS: usize> RawTry
    for AClof<Low, High, At, HAND_OFFS, COHORTS>
where
    Low: HandsOver + Abortable + RawTry,
    High: ThreadOblivious<Context: Send + Sync> + Resumable + RawTry,
    At: Place,
{
    unsafe fn try_acquire(&self, cx: &Self::Context) -> bool {
        let (low, held) = self.enter(cx);
        // SAFETY: the caller's.
        if !unsafe { low.try_acquire(&cx.low) } {
            return false;
        }
        // SAFETY: acquired above.
        match unsafe { low.handed(&cx.low) } {
            0 => {}
            // The wait was handed to the first arrival.
            BEGUN => {
                let acquired = self.resume_above(cx, &Patience::NONE) == Outcome::Acquired;
                if !acquired {
                    self.give_up(cx);
                }
                return acquired;
            }
            _ => return true,
        }
        let high = &self.high.0;
        // SAFETY: as in `go_on`; the low lock was acquired just now, with this context.
        unsafe {
            if self.home.is_here(|| high.is_locked()) && high.try_acquire(&held.high) {
                held.begin();
                return true;
            }
            low.release(&cx.low);
        }
        false
    }
}

// SAFETY: release reads the cohort from the context and continues with locks that are
// thread-oblivious too.
unsafe impl<Low, High, At, const HAND_OFFS: u32, const COHORTS: usize> ThreadOblivious
    for AClof<Low, High, At, HAND_OFFS, COHORTS>
where
    Low: HandsOver + Abortable + ThreadOblivious,
    High: ThreadOblivious<Context: Send + Sync> + Resumable,
    At: Place,
{
}

impl<Low, High, At, const HAND_OFFS: u32, const COHORTS: usize> Fair
    for AClof<Low, High, At, HAND_OFFS, COHORTS>
where
    Low: HandsOver + Abortable + Fair,
    High: ThreadOblivious<Context: Send + Sync> + Resumable + Fair,
    At: Place,
{
}

// SAFETY: afterwards no cohort's low lock is held but the holder's, and the high lock is
// held with that cohort's context, or free.
unsafe impl<Low, High, At, const HAND_OFFS: u32, const COHORTS: usize> Inherit
    for AClof<Low, High, At, HAND_OFFS, COHORTS>
where
    Low: HandsOver + Abortable + Inherit,
    High: ThreadOblivious<Context: Send + Sync> + Resumable + Inherit,
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
        + Resumable
        + TwoForms<Spinning: ThreadOblivious<Context: Send + Sync> + Resumable>,
    At: Place,
{
    type Spinning = AClof<Low::Spinning, High::Spinning, At, HAND_OFFS, COHORTS>;
}
