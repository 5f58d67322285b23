//! `Clof<Low, High>`: a low lock for each cohort of a level, below one high lock, which may be a
//! composition again.  The holder of a cohort's low lock acquires the high one.  Its release passes
//! that to a waiter of its own cohort while there is one (Chehab et al. 2021 §4.1).
//!
//! **Not for** locks seldom contended across cohorts: an uncontended acquisition acquires every
//! level.  Nor for many small objects: each cohort takes its own lines, even without waiters.
//!
//! | field of a cohort | written by | read by | meaning |
//! |---|---|---|---|
//! | `low` | its waiters | its waiters | which thread of the cohort is next |
//! | `hand_offs` | the holder of `low` | the next one, unless `low` has carried it | how often the high lock was passed in a row; if not 0, it is held for the holder of `low` |
//! | `until` | the holder of `low` | the next one | when the cohort must give up the high lock, if its bound is a time |
//! | `bound` | the maker of the lock | the holder of `low` | how long a cohort may keep the high lock |
//! | `high` | threads that acquire or release the high lock | as above, and by that lock's rules | the context with which the cohort holds it |
//!
//! A low lock that [passes a count on](cohort_raw::LowLock::hand_off_limit) has `hand_offs` in the
//! word that the next holder waits for.  The local locks of Dice et al. 2015 §3.3 and of HMCS store
//! there whether the global lock is passed.  This saves the transfer of a line for each hand-off.
//! The field serves other low locks, and numbers that are too large to carry.
//!
//! The fields beside `low` are plain memory: the low lock's own orders suffice, as Chehab et al.
//! 2021 §4.2.3 found.  The high lock is released before the low one.  So no thread uses the
//! cohort's context for a second acquisition of it (the context invariant, Chehab et al. 2021
//! §4.1.3).  Often another thread releases it, so it must be [`ThreadOblivious`].  Any other lock
//! does not compile:
//!
//! ```compile_fail,E0277
//! # use cohort::{RawLock, basic::Ticket, compose::Clof, standalone};
//! #[derive(Default)]
//! struct Bound(Ticket);
//! // SAFETY: the ticket lock excludes.
//! unsafe impl RawLock for Bound {
//!     type Context = ();
//!     // SAFETY: passed on; so below.
//!     unsafe fn acquire(&self, cx: &()) { unsafe { self.0.acquire(cx) } }
//!     unsafe fn release(&self, cx: &()) { unsafe { self.0.release(cx) } }
//!     fn is_locked(&self) -> bool { self.0.is_locked() }
//! }
//! standalone!([] Bound: Hosted, HighLock);
//! // SAFETY: no other thread uses the lock.
//! unsafe { Clof::<Ticket, Bound>::default().acquire(&Default::default()) };
//! ```
//!
//! A low lock that does not detect waiters is wrapped in [`Counted`](super::Counted).
//!
//! A cohort keeps the high lock up to a [`Bound`] on consecutive hand-offs, on time, or on both
//! (Dice et al. 2015 §2.2).  The count restarts whenever it gives the high lock up.
//!
//! Each acquisition determines its thread's cohort once and keeps it in the context: a thread that
//! migrates releases what it has acquired.  A cohort's first holder determines the cohort of the
//! level above.  The cohort's context keeps that until the bound has run out once.  Threads that
//! migrate in between, and cohorts beyond `COHORTS`, which share low locks, use a wrong cohort for
//! that long at most.  That is slower, but safe.
//!
//! The high lock's queue points to the cohorts' contexts, which are parts of this lock.  So a lock
//! that was moved while held, as a forgotten guard allows, [cannot be used](Home).

use super::{Bound, Composed, Numa, Place, Plan};
use crate::door::{Cell, Home, PAGE, constructor, flaws, mutant, node_places, now, place_here};
use crate::support::padded::CachePadded;
use cohort_raw::{
    DetectsWaiters, Fair, HighLock, Hosted, Inherit, LowLock, Patience, RawLock, RawTry,
    ThreadOblivious, TwoForms, standalone,
};
use core::fmt;
use core::mem::MaybeUninit;
use core::ptr;

flaws! {
    LOW_FIRST = "clof.low-first";
    FORGET_CLEAR = "clof.forget-clear";
    FORGET_CARRIED = "clof.forget-carried";
    KEEP_FOR_EVER = "clof.keep-for-ever";
}

/// The context of an acquisition: the low lock's context, and the cohort.
#[derive(Debug, Default)]
pub struct ClofContext<C> {
    /// The cohort's number, plus one.
    cohort: Cell<usize>,
    low: C,
}

/// No acquisition yet.
const NOWHERE: usize = 0;

impl<C> ClofContext<C> {
    constructor! {
        /// Without an acquisition, with a low lock's context.
        #[must_use]
        pub fn new(low: C) -> Self {
            Self {
                cohort: Cell::new(NOWHERE),
                low,
            }
        }
    }
}

impl<C> ClofContext<C> {
    /// The cohort of the last acquisition.
    #[inline]
    fn cohort(&self) -> Option<usize> {
        // SAFETY: only the acquisition that owns the context touches it.
        let number = self.cohort.with(|cohort| unsafe { *cohort });
        (number != NOWHERE).then(|| number - 1)
    }

    #[inline]
    fn set_cohort(&self, cohort: Option<usize>) {
        let number = cohort.map_or(NOWHERE, |cohort| cohort + 1);
        // SAFETY: as above.
        self.cohort.with_mut(|place| unsafe { *place = number });
    }
}

/// A cohort's low lock, as [`Metadata`] uses it: a [`LowLock`], or a lock with what is known of it
/// elsewhere.
pub(super) trait CohortLock: Copy {
    /// The state of an acquisition.
    type Context;

    /// As [`LowLock::hand_off_limit`].
    fn limit(self) -> u32;

    /// As [`LowLock::hand_offs`].
    ///
    /// # Safety
    /// As there.
    unsafe fn carried(self, cx: &Self::Context) -> u32;

    /// As [`LowLock::acquire_counted`].
    ///
    /// # Safety
    /// As there.
    unsafe fn enter(self, cx: &Self::Context) -> u32;

    /// As [`DetectsWaiters::has_waiters`].
    ///
    /// # Safety
    /// As there.
    unsafe fn is_awaited(self, cx: &Self::Context) -> bool;

    /// As [`LowLock::release_counted`].
    ///
    /// # Safety
    /// As there.
    unsafe fn leave(self, cx: &Self::Context, number: u32);
}

impl<L: LowLock> CohortLock for &L {
    type Context = L::Context;

    #[inline(always)]
    fn limit(self) -> u32 {
        self.hand_off_limit()
    }

    #[inline(always)]
    unsafe fn carried(self, cx: &L::Context) -> u32 {
        // SAFETY: the caller's.
        unsafe { self.hand_offs(cx) }
    }

    #[inline(always)]
    unsafe fn enter(self, cx: &L::Context) -> u32 {
        // SAFETY: the caller's.
        unsafe { self.acquire_counted(cx) }
    }

    #[inline(always)]
    unsafe fn is_awaited(self, cx: &L::Context) -> bool {
        // SAFETY: the caller's.
        unsafe { self.has_waiters(cx) }
    }

    #[inline(always)]
    unsafe fn leave(self, cx: &L::Context, number: u32) {
        // SAFETY: the caller's.
        unsafe { self.release_counted(cx, number) };
    }
}

/// The data of the holder of a cohort's low lock.
#[derive(Default)]
#[repr(C)]
pub(super) struct Metadata<C> {
    hand_offs: Cell<u32>,
    until: Cell<u64>,
    /// The context with which the cohort holds the high lock.
    pub(super) high: C,
}

impl<C> Metadata<C> {
    /// Blocks until the cohort's low lock is held and, passed or acquired, the high one.
    ///
    /// # Safety
    /// As [`RawLock::acquire`], of the low lock by `cx`.
    #[inline(always)]
    pub(super) unsafe fn acquire<Low: CohortLock>(
        &self,
        low: Low,
        cx: &Low::Context,
        bound: &Bound,
        acquire_high: impl FnOnce(),
    ) {
        // SAFETY: the caller's.
        let carried = unsafe { low.enter(cx) };
        if !self.is_passed(low, carried) {
            acquire_high();
            self.begin(bound);
        }
    }

    /// Acquires the high lock for the holder of the low one if it was not passed and takes no waiting;
    /// else releases the low one.
    ///
    /// # Safety
    /// The caller has just acquired the low lock by `cx`.
    #[inline(always)]
    pub(super) unsafe fn try_rest<Low: CohortLock>(
        &self,
        low: Low,
        cx: &Low::Context,
        bound: &Bound,
        try_high: impl FnOnce() -> bool,
    ) -> bool {
        // SAFETY: the caller's.
        if self.is_passed(low, unsafe { low.carried(cx) }) {
            return true;
        }
        if try_high() {
            self.begin(bound);
            return true;
        }
        // SAFETY: acquired just now, with this context; nothing is passed.
        unsafe { low.leave(cx, 0) };
        false
    }

    /// Passes both to a waiter of the cohort, if there is one and the bound allows it; otherwise
    /// releases the high lock and then the low one.
    ///
    /// # Safety
    /// The caller holds the low lock by `cx`, and the high one with the cohort's context, which
    /// `release_high` releases; its argument: whether the bound has run out.
    #[inline(always)]
    pub(super) unsafe fn release<Low: CohortLock>(
        &self,
        low: Low,
        cx: &Low::Context,
        bound: &Bound,
        release_high: impl FnOnce(bool),
    ) {
        let (mut hand_offs, mut ran_out) = (0, false);
        // SAFETY: the caller's.
        if unsafe { low.is_awaited(cx) } {
            hand_offs = self.one_more(low, cx, bound);
            ran_out = hand_offs == 0;
        }
        let low_first = hand_offs == 0 && mutant(flaw::LOW_FIRST);
        if low_first {
            // SAFETY: none: this is the fault.
            unsafe { low.leave(cx, 0) };
        }
        let limit = low.limit();
        // A store that changes nothing would delay the following locked instruction.
        if hand_offs >= limit && hand_offs != self.hand_offs() {
            let forgets = hand_offs == 0 && mutant(flaw::FORGET_CLEAR);
            if !forgets {
                self.set_hand_offs(hand_offs);
            }
        }
        if hand_offs == 0 {
            release_high(ran_out);
        }
        if !low_first {
            // SAFETY: the caller's; the number is 0 unless there are waiters.
            unsafe { low.leave(cx, hand_offs.min(limit)) };
        }
    }

    /// Forgets all hand-offs: only the holder, if any, is left.
    pub(super) fn forget(&self) {
        self.set_hand_offs(0);
    }

    /// Whether the high lock was passed with the low one.
    #[inline(always)]
    fn is_passed<Low: CohortLock>(&self, low: Low, carried: u32) -> bool {
        let passed = self.count(low, carried) > 0;
        passed && !(carried > 0 && mutant(flaw::FORGET_CARRIED))
    }

    /// How often the high lock was passed in a row; the low lock has carried `carried`.
    #[inline(always)]
    fn count<Low: CohortLock>(&self, low: Low, carried: u32) -> u32 {
        if carried < low.limit() {
            carried
        } else {
            self.hand_offs()
        }
    }

    fn hand_offs(&self) -> u32 {
        // SAFETY: the caller holds the cohort's low lock, as every writer of it does.
        self.hand_offs.with(|hand_offs| unsafe { *hand_offs })
    }

    fn set_hand_offs(&self, hand_offs: u32) {
        // SAFETY: as above.
        self.hand_offs
            .with_mut(|place| unsafe { *place = hand_offs });
    }

    /// Starts the bound's time: the high lock was acquired, not passed.
    #[inline(always)]
    fn begin(&self, bound: &Bound) {
        if bound.nanoseconds > 0 {
            self.begin_timed(bound);
        }
    }

    #[cold]
    fn begin_timed(&self, bound: &Bound) {
        let until = now() + bound.nanoseconds;
        // SAFETY: the caller holds the cohort's low lock, as every reader and writer of it does.
        self.until.with_mut(|place| unsafe { *place = until });
    }

    /// The number of hand-offs in a row including this one; 0 if the bound does not allow it.
    #[inline(never)]
    fn one_more<Low: CohortLock>(&self, low: Low, cx: &Low::Context, bound: &Bound) -> u32 {
        // SAFETY: the caller holds the cohort's low lock, by that context.
        let hand_offs = self.count(low, unsafe { low.carried(cx) });
        let counts = hand_offs < bound.hand_offs || mutant(flaw::KEEP_FOR_EVER);
        let in_time = || {
            // SAFETY: as in `begin_timed`.
            bound.nanoseconds == 0 || now() < self.until.with(|until| unsafe { *until })
        };
        if counts && in_time() {
            hand_offs.saturating_add(1)
        } else {
            0
        }
    }
}

/// The data of a cohort's low lock, on lines that its waiters do not access.
#[repr(C)]
struct Held<C> {
    metadata: Metadata<C>,
    bound: Bound,
    /// Whether the cohort's memory has been moved to its own node, if it ever is.
    placed: Cell<bool>,
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
                    metadata: Metadata {
                        hand_offs: Cell::new(0),
                        until: Cell::new(0),
                        high,
                    },
                    bound,
                    placed: Cell::new(false),
                }),
            }
        }
    }
}

impl<Low, C: Default> Cohort<Low, C> {
    fn made(low: Low, bound: Bound) -> Self {
        Self::around(low, C::default(), bound)
    }
}

impl<Low, C> Cohort<Low, C> {
    /// Whether the cohort has its pages to itself: [`OnPages`](super::OnPages).
    const FILLS_PAGES: bool = align_of::<Self>().is_multiple_of(PAGE);

    /// Moves the cohort's pages to the calling thread's node, once.  The caller holds the low lock.
    #[cold]
    fn place(&self) {
        // SAFETY: only the holder of the low lock accesses it.
        let placed = self
            .held
            .0
            .placed
            .with_mut(|placed| unsafe { placed.replace(true) });
        if !placed {
            let _ = place_here(ptr::from_ref(self).cast(), size_of::<Self>());
        }
    }

    #[inline(always)]
    fn parts(&self) -> (&Low, &Held<C>) {
        (&self.low, &self.held.0)
    }
}

/// The lock; `At` is the level of the low locks.  A cohort passes the high lock on up to
/// `HAND_OFFS` times in a row, unless the lock's [`Plan`] says otherwise.
///
/// ```
/// use cohort::basic::{Mcs, Ticket};
/// use cohort::compose::{CacheGroup, Clof, Numa};
/// use cohort::{Mutex, RawLock};
///
/// // Threads of a cache group first, then those of a NUMA node, then all.
/// type Tree = Clof<Ticket, Clof<Mcs, Ticket, Numa>, CacheGroup>;
/// let total: Mutex<u64, Tree> = Mutex::from(1);
/// *total.lock() += 1;
/// assert!(!total.raw().is_locked());
/// ```
#[repr(C)]
pub struct Clof<
    Low,
    High,
    At = Numa,
    const HAND_OFFS: u32 = 128,
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
    for Clof<Low, High, At, HAND_OFFS, COHORTS>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clof").finish_non_exhaustive()
    }
}

impl<Low, High: RawLock, At, const HAND_OFFS: u32, const COHORTS: usize>
    Clof<Low, High, At, HAND_OFFS, COHORTS>
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
    Clof<Low, High, At, HAND_OFFS, COHORTS>
where
    High: HighLock,
    At: Place,
{
    /// Acquires the high lock for the cohort.
    ///
    /// # Safety
    /// The context is a cohort's of this lock; the caller holds that cohort's low lock, and not the
    /// high lock; so for both below.
    #[inline(always)]
    unsafe fn acquire_high(&self, cx: &High::Context) {
        // SAFETY: the caller's.
        unsafe {
            if At::SHARES_CODE {
                self.acquire_high_apart(cx);
            } else {
                self.acquire_high_here(cx);
            }
        }
    }

    #[inline(never)]
    unsafe fn acquire_high_apart(&self, cx: &High::Context) {
        // SAFETY: the caller's.
        unsafe { self.acquire_high_here(cx) };
    }

    #[inline(always)]
    unsafe fn acquire_high_here(&self, cx: &High::Context) {
        let high = &self.high.0;
        // If the lock has moved, this does not return.
        let _ = self
            .home
            .is_here_within(&Patience::ENDLESS, || high.is_locked());
        // SAFETY: only the holder of the low lock uses its cohort's context, which lives as long as
        // this lock; if the lock has moved, the call above has not returned.
        unsafe { high.acquire_at_cached_place(cx) };
    }

    /// Releases the high lock, which a thread of the cohort has acquired.
    ///
    /// # Safety
    /// The caller holds the high lock by that context.
    #[inline(always)]
    unsafe fn release_high(&self, cx: &High::Context) {
        // SAFETY: the caller's.
        unsafe {
            if At::SHARES_CODE {
                self.release_high_apart(cx);
            } else {
                self.high.0.release(cx);
            }
        }
    }

    /// # Safety
    /// As [`release_high`](Self::release_high).
    #[inline(never)]
    unsafe fn release_high_apart(&self, cx: &High::Context) {
        // SAFETY: the caller's.
        unsafe { self.high.0.release(cx) };
    }

    /// The caller's cohort, noted in its context.
    #[inline]
    fn enter<C>(&self, cx: &ClofContext<C>) -> &Cohort<Low, High::Context> {
        let cohort = self.at.cohort() % COHORTS;
        cx.set_cohort(Some(cohort));
        &self.cohorts[cohort]
    }

    #[cold]
    #[inline(never)]
    fn enter_first<C>(&self, cx: &ClofContext<C>) -> &Cohort<Low, High::Context> {
        self.enter(cx)
    }

    /// The cohort in which the lock is held by that context.
    #[inline]
    fn held_in<C>(&self, cx: &ClofContext<C>) -> &Cohort<Low, High::Context> {
        match cx.cohort() {
            Some(cohort) => &self.cohorts[cohort],
            None => unreachable!("a context that holds the lock has a cohort"),
        }
    }

    /// Acquires the cohort's low lock and, unless it is passed, the high one.
    ///
    /// # Safety
    /// As [`RawLock::acquire`], of the low lock by `cx`; the cohort is of this lock.
    #[inline(always)]
    unsafe fn acquire_in(&self, cohort: &Cohort<Low, High::Context>, cx: &Low::Context)
    where
        Low: LowLock,
    {
        let (low, held) = cohort.parts();
        // SAFETY: the caller's; the high lock is acquired by the holder of the low one.
        unsafe {
            held.metadata.acquire(low, cx, &held.bound, || {
                if Cohort::<Low, High::Context>::FILLS_PAGES {
                    cohort.place();
                }
                self.acquire_high(&held.metadata.high);
            });
        }
    }
}

impl<Low, High, At, const HAND_OFFS: u32, const COHORTS: usize> Default
    for Clof<Low, High, At, HAND_OFFS, COHORTS>
where
    Low: Default,
    High: RawLock,
    At: Place,
{
    fn default() -> Self {
        let cohort = |_| Cohort::made(Low::default(), Bound::hand_offs(HAND_OFFS));
        Self::of(core::array::from_fn(cohort), High::default(), At::default())
    }
}

// SAFETY: every acquisition ends with the high lock's.
unsafe impl<Low, High, At, const HAND_OFFS: u32, const COHORTS: usize> Composed
    for Clof<Low, High, At, HAND_OFFS, COHORTS>
where
    Low: LowLock + Composed,
    High: HighLock + ThreadOblivious<Context: Send + Sync> + Composed,
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
        const { assert!(COHORTS > 0) };
        let (low, high) = plan.split();
        let at = low
            .levels
            .first()
            .map_or_else(At::default, |at| At::at(*at));
        let bound = plan.bound.unwrap_or(Bound::hand_offs(HAND_OFFS));
        // SAFETY: the caller's; each field is written once.
        unsafe {
            let cohorts = (&raw mut (*place).cohorts).cast::<Cohort<Low, High::Context>>();
            for number in 0..COHORTS {
                cohorts
                    .add(number)
                    .write(Cohort::made(Low::planned(&low), bound));
            }
            High::plan_at(&raw mut (*place).high.0, &high);
            (&raw mut (*place).at).write(at);
            (&raw mut (*place).home).write(Home::new());
        }
    }
}

// SAFETY: a thread that returns from an acquisition holds its cohort's low lock, and the high lock
// with that cohort's context: acquired by itself, or passed to it by the last holder of that low
// lock.  One cohort at a time holds the high lock, and one thread the low one; both publish earlier
// work.
unsafe impl<Low, High, At, const HAND_OFFS: u32, const COHORTS: usize> RawLock
    for Clof<Low, High, At, HAND_OFFS, COHORTS>
where
    Low: LowLock,
    High: HighLock + ThreadOblivious<Context: Send + Sync>,
    At: Place,
{
    type Context = ClofContext<Low::Context>;

    #[inline]
    unsafe fn acquire(&self, cx: &Self::Context) {
        // SAFETY: the caller's.
        unsafe { self.acquire_in(self.enter(cx), &cx.low) };
    }

    #[inline]
    unsafe fn release(&self, cx: &Self::Context) {
        let (
            low,
            Held {
                metadata, bound, ..
            },
        ) = self.held_in(cx).parts();
        // SAFETY: both are held: the low lock by this context, the high one with its cohort's, by
        // any thread of it.  After the release of the high lock, its context is unused.
        unsafe {
            metadata.release(low, &cx.low, bound, |ran_out| {
                self.release_high(&metadata.high);
                if ran_out {
                    High::forget_cached_place(&metadata.high);
                }
            });
        }
    }

    fn is_locked(&self) -> bool {
        self.high.0.is_locked()
    }
}

standalone! {
    [
        Low: LowLock + Hosted,
        High: HighLock + ThreadOblivious<Context: Send + Sync> + Hosted,
        At: Place,
        const HAND_OFFS: u32,
        const COHORTS: usize
    ] Clof<Low, High, At, HAND_OFFS, COHORTS>:
    Hosted {
        strict: Low::HOSTING.strict || High::HOSTING.strict,
        node_bytes: Low::HOSTING.node_bytes,
    }
}

standalone! {
    [
        Low: LowLock,
        High: HighLock + ThreadOblivious<Context: Send + Sync> + DetectsWaiters,
        At: Place,
        const HAND_OFFS: u32,
        const COHORTS: usize
    ] Clof<Low, High, At, HAND_OFFS, COHORTS>: LowLock
}

// SAFETY: as above.
unsafe impl<Low, High, At, const HAND_OFFS: u32, const COHORTS: usize> HighLock
    for Clof<Low, High, At, HAND_OFFS, COHORTS>
where
    Low: LowLock,
    High: HighLock + ThreadOblivious<Context: Send + Sync>,
    At: Place,
{
    #[inline]
    unsafe fn acquire_at_cached_place(&self, cx: &Self::Context) {
        let cohort = match cx.cohort() {
            Some(cohort) => &self.cohorts[cohort],
            None => self.enter_first(cx),
        };
        // SAFETY: the caller's.
        unsafe { self.acquire_in(cohort, &cx.low) };
    }

    unsafe fn forget_cached_place(cx: &Self::Context) {
        cx.set_cohort(None);
    }
}

// SAFETY: as above.
unsafe impl<Low, High, At, const HAND_OFFS: u32, const COHORTS: usize> RawTry
    for Clof<Low, High, At, HAND_OFFS, COHORTS>
where
    Low: LowLock + RawTry,
    High: HighLock + ThreadOblivious<Context: Send + Sync> + RawTry,
    At: Place,
{
    unsafe fn try_acquire(&self, cx: &Self::Context) -> bool {
        let (
            low,
            Held {
                metadata, bound, ..
            },
        ) = self.enter(cx).parts();
        let high = &self.high.0;
        // SAFETY: the caller's; as in `acquire_high`, of the cohort's context.
        unsafe {
            low.try_acquire(&cx.low)
                && metadata.try_rest(low, &cx.low, bound, || {
                    self.home.is_here(|| high.is_locked()) && high.try_acquire(&metadata.high)
                })
        }
    }
}

// SAFETY: release reads the cohort from the context and continues with locks that are
// thread-oblivious too.
unsafe impl<Low, High, At, const HAND_OFFS: u32, const COHORTS: usize> ThreadOblivious
    for Clof<Low, High, At, HAND_OFFS, COHORTS>
where
    Low: LowLock + ThreadOblivious,
    High: HighLock + ThreadOblivious<Context: Send + Sync>,
    At: Place,
{
}

// SAFETY: the waiters of both locks wait for the whole composition.
unsafe impl<Low, High, At, const HAND_OFFS: u32, const COHORTS: usize> DetectsWaiters
    for Clof<Low, High, At, HAND_OFFS, COHORTS>
where
    Low: LowLock,
    High: HighLock + ThreadOblivious<Context: Send + Sync> + DetectsWaiters,
    At: Place,
{
    #[inline]
    unsafe fn has_waiters(&self, cx: &Self::Context) -> bool {
        let (low, Held { metadata, .. }) = self.held_in(cx).parts();
        // SAFETY: the caller's; the holder holds both, the high lock by the cohort's context.
        unsafe { low.has_waiters(&cx.low) || self.high.0.has_waiters(&metadata.high) }
    }
}

impl<Low, High, At, const HAND_OFFS: u32, const COHORTS: usize> Fair
    for Clof<Low, High, At, HAND_OFFS, COHORTS>
where
    Low: LowLock + Fair,
    High: HighLock + ThreadOblivious<Context: Send + Sync> + Fair,
    At: Place,
{
}

// SAFETY: afterwards no cohort's low lock is held but the holder's, and the high lock is
// held with that cohort's context, passed or not, or free.
unsafe impl<Low, High, At, const HAND_OFFS: u32, const COHORTS: usize> Inherit
    for Clof<Low, High, At, HAND_OFFS, COHORTS>
where
    Low: LowLock + Inherit,
    High: HighLock + ThreadOblivious<Context: Send + Sync> + Inherit,
    At: Place,
{
    unsafe fn inherit(&self, holder: Option<&Self::Context>) {
        let at = holder.and_then(ClofContext::cohort);
        for (number, cohort) in self.cohorts.iter().enumerate() {
            let (low, Held { metadata, .. }) = cohort.parts();
            let holder = holder.filter(|_| at == Some(number));
            // SAFETY: the caller is alone, and holds the low lock of its cohort.
            unsafe { low.inherit(holder.map(|cx| &cx.low)) };
            metadata.forget();
        }
        let holds = at.map(|number| &self.cohorts[number].held.0.metadata.high);
        // SAFETY: the cohort's context is the one with which the high lock is held.
        unsafe { self.high.0.inherit(holds) };
    }
}

impl<Low, High, At, const HAND_OFFS: u32, const COHORTS: usize> TwoForms
    for Clof<Low, High, At, HAND_OFFS, COHORTS>
where
    Low: LowLock + TwoForms<Spinning: LowLock>,
    High: HighLock
        + ThreadOblivious<Context: Send + Sync>
        + TwoForms<Spinning: HighLock + ThreadOblivious<Context: Send + Sync>>,
    At: Place,
{
    type Spinning = Clof<Low::Spinning, High::Spinning, At, HAND_OFFS, COHORTS>;
}
