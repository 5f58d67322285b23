//! `Clof<Low, High>`: a low lock for each cohort of a level below one high lock, which
//! may be a composition again; whoever holds its cohort's low lock acquires the high
//! one, and on release passes it to a waiter of its own cohort while there is one
//! (002 §4.1).
//!
//! **Not for** locks that are seldom contended across cohorts: an acquisition that
//! meets nobody acquires every level.  Nor for many small objects: each cohort takes
//! lines of its own, waited for or not.
//!
//! | field of a cohort | written by | read by | meaning |
//! |---|---|---|---|
//! | `low` | its waiters | its waiters | who of the cohort is next |
//! | `tenure.passed` | the holder of `low` | the next one | the high lock is held for whoever holds `low` |
//! | `tenure.hand_offs` | the holder of `low` | the next one | how often it was passed in a row |
//! | `tenure.until` | the holder of `low` | the next one | when the cohort has had the high lock for long enough, if its bound is a time |
//! | `bound` | whoever makes the lock | the holder of `low` | how long a cohort may keep the high lock |
//! | `high` | whoever acquires or releases the high lock | as above, and by that lock's rules | the context with which the cohort holds it |
//!
//! The fields beside `low` are plain memory: the low lock's own orders suffice, as
//! 002 §4.2.3 found.  The high lock is released before the low one, so that nobody
//! uses the cohort's context for a second acquisition of it (the context invariant,
//! 002 §4.1.3), and often by a thread that did not acquire it, so it has to be
//! [`ThreadOblivious`].  One that is not does not compile:
//!
//! ```compile_fail,E0277
//! # use cohort::{RawLock, basic::Ticket, compose::Clof};
//! #[derive(Default)]
//! struct Bound(Ticket);
//! // SAFETY: the ticket lock excludes.
//! unsafe impl RawLock for Bound {
//!     type Context = ();
//!     fn acquire(&self, cx: &()) { self.0.acquire(cx) }
//!     // SAFETY: passed on.
//!     unsafe fn release(&self, cx: &()) { unsafe { self.0.release(cx) } }
//!     fn is_locked(&self) -> bool { self.0.is_locked() }
//! }
//! Clof::<Ticket, Bound>::default().acquire(&Default::default());
//! ```
//!
//! A low lock that cannot tell whether others wait is [`Counted`](super::Counted).
//!
//! A cohort keeps the high lock up to a [`Bound`] on hand-offs in a row, on time, or on
//! both (000 §2.2), and begins to count anew whenever it gives the high lock away.
//!
//! Which cohort a thread is in is asked once an acquisition and kept in the context:
//! a thread that is moved meanwhile releases what it has acquired.  Cohorts beyond
//! `COHORTS` share low locks; that is slower, and as safe.

use super::{Composed, Numa, Place, Plan};
use crate::door::{Cell, mutant, now};
use cohort_raw::{DetectsWaiters, Fair, Inherit, RawLock, RawTry, ThreadOblivious, TwoForms};
use core::fmt;

/// What one acquisition carries: the low lock's context, and in which cohort.
#[derive(Debug, Default)]
pub struct ClofContext<C> {
    cohort: Cell<usize>,
    low: C,
}

impl<C> ClofContext<C> {
    fn cohort(&self) -> usize {
        // SAFETY: only the acquisition that owns the context touches it.
        self.cohort.with(|cohort| unsafe { *cohort })
    }

    fn set_cohort(&self, cohort: usize) {
        // SAFETY: as above.
        self.cohort.with_mut(|place| unsafe { *place = cohort });
    }
}

/// How long a cohort may keep the high lock while its own threads want it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// Hand-offs in a row at most.
    pub hand_offs: u32,
    /// Nanoseconds after which no further hand-off begins; 0 for no such bound.  Asking
    /// the time makes each hand-off some ten nanoseconds longer.
    pub nanoseconds: u64,
}

impl Bound {
    /// That many hand-offs, however long they take.
    #[must_use]
    pub const fn hand_offs(hand_offs: u32) -> Self {
        Self {
            hand_offs,
            nanoseconds: 0,
        }
    }
}

/// A cohort's time with the high lock.
#[derive(Clone, Copy, Default)]
struct Tenure {
    passed: bool,
    hand_offs: u32,
    until: u64,
}

/// What the holder of a cohort's low lock has, on lines that waiters leave alone.
#[repr(C, align(128))]
struct Metadata<C> {
    tenure: Cell<Tenure>,
    bound: Bound,
    high: C,
}

impl<C> Metadata<C> {
    fn tenure(&self) -> Tenure {
        // SAFETY: the caller holds the cohort's low lock, as all who write do.
        self.tenure.with(|tenure| unsafe { *tenure })
    }

    fn set_tenure(&self, tenure: Tenure) {
        // SAFETY: as above.
        self.tenure.with_mut(|place| unsafe { *place = tenure });
    }

    /// The high lock has come from elsewhere: the time begins, where it is bounded.
    #[inline(always)]
    fn begin(&self) {
        if self.bound.nanoseconds > 0 {
            let until = now() + self.bound.nanoseconds;
            self.set_tenure(Tenure {
                until,
                ..Tenure::default()
            });
        }
    }

    /// The tenure with one hand-off more, if the bound allows it.
    #[inline(always)]
    fn extended(&self) -> Option<Tenure> {
        let Tenure {
            hand_offs, until, ..
        } = self.tenure();
        let counts = hand_offs < self.bound.hand_offs || mutant("clof.keep-for-ever");
        (counts && (until == 0 || now() < until)).then_some(Tenure {
            passed: true,
            hand_offs: hand_offs + 1,
            until,
        })
    }
}

/// A low lock and what goes with it, on lines of their own.
#[repr(C, align(128))]
struct Cohort<Low, C> {
    low: Low,
    metadata: Metadata<C>,
}

/// The lock; `At` is the level of the low locks, and the high lock is passed within a
/// cohort up to `HAND_OFFS` times in a row, unless the lock's [`Plan`] says otherwise.
#[repr(C)]
pub struct Clof<Low, High, At = Numa, const HAND_OFFS: u32 = 128, const COHORTS: usize = 16>
where
    High: RawLock,
{
    cohorts: [Cohort<Low, High::Context>; COHORTS],
    high: Apart<High>,
    at: At,
}

/// The high lock, on lines of its own.
#[derive(Default)]
#[repr(align(128))]
struct Apart<L>(L);

impl<Low, High: RawLock, At, const HAND_OFFS: u32, const COHORTS: usize> fmt::Debug
    for Clof<Low, High, At, HAND_OFFS, COHORTS>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clof").finish_non_exhaustive()
    }
}

impl<Low, High, At, const HAND_OFFS: u32, const COHORTS: usize>
    Clof<Low, High, At, HAND_OFFS, COHORTS>
where
    High: RawLock,
    At: Place,
{
    #[inline(never)]
    fn made(low: impl Fn() -> Low, high: High, at: At, bound: Option<Bound>) -> Self {
        const { assert!(COHORTS > 0) };
        let bound = bound.unwrap_or(Bound::hand_offs(HAND_OFFS));
        Self {
            cohorts: core::array::from_fn(|_| Cohort {
                low: low(),
                metadata: Metadata {
                    tenure: Cell::default(),
                    bound,
                    high: High::Context::default(),
                },
            }),
            high: Apart(high),
            at,
        }
    }

    /// Acquires the high lock for the cohort.  Not part of its caller, nor the release:
    /// compositions that differ in their lowest lock alone share the code of the others,
    /// which is what makes hundreds of them small.
    #[inline(never)]
    fn acquire_high(&self, metadata: &Metadata<High::Context>) {
        self.high.0.acquire(&metadata.high);
        metadata.begin();
    }

    /// Releases the high lock, which somebody of the cohort has acquired.
    ///
    /// # Safety
    /// The caller holds the cohort's low lock, and the high one with its context.
    #[inline(never)]
    unsafe fn release_high(&self, metadata: &Metadata<High::Context>) {
        if !mutant("clof.forget-clear") {
            metadata.set_tenure(Tenure::default());
        }
        // SAFETY: the caller's.
        unsafe { self.high.0.release(&metadata.high) };
    }

    /// The caller's cohort, noted in its context.
    #[inline]
    fn enter<C>(&self, cx: &ClofContext<C>) -> &Cohort<Low, High::Context> {
        let cohort = self.at.cohort() % COHORTS;
        cx.set_cohort(cohort);
        &self.cohorts[cohort]
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
        Self::made(Low::default, High::default(), At::default(), None)
    }
}

impl<Low, High, At, const HAND_OFFS: u32, const COHORTS: usize> Composed
    for Clof<Low, High, At, HAND_OFFS, COHORTS>
where
    Low: DetectsWaiters + Composed,
    High: ThreadOblivious<Context: Send + Sync> + Composed,
    At: Place,
{
    type Top = High::Top;

    fn top(&self) -> &High::Top {
        self.high.0.top()
    }

    fn planned(plan: &Plan<'_>) -> Self {
        let (low, high) = plan.split();
        let at = low
            .levels
            .first()
            .map_or_else(At::default, |at| At::at(*at));
        Self::made(|| Low::planned(&low), High::planned(&high), at, plan.bound)
    }
}

// SAFETY: whoever returns from an acquisition holds its cohort's low lock, and the high
// lock with that cohort's context: acquired by itself, or passed to it by the last
// holder of that low lock.  The high lock is held for one cohort at a time, the low one
// by one thread; both publish what was done before.
unsafe impl<Low, High, At, const HAND_OFFS: u32, const COHORTS: usize> RawLock
    for Clof<Low, High, At, HAND_OFFS, COHORTS>
where
    Low: DetectsWaiters,
    High: ThreadOblivious<Context: Send + Sync>,
    At: Place,
{
    type Context = ClofContext<Low::Context>;

    const STRICT: bool = Low::STRICT || High::STRICT;

    const NODE_BYTES: usize = Low::NODE_BYTES;

    #[inline]
    fn acquire(&self, cx: &Self::Context) {
        let Cohort { low, metadata } = self.enter(cx);
        low.acquire(&cx.low);
        if !metadata.tenure().passed {
            self.acquire_high(metadata);
        }
    }

    #[inline]
    unsafe fn release(&self, cx: &Self::Context) {
        let Cohort { low, metadata } = &self.cohorts[cx.cohort()];
        if low.has_waiters(&cx.low)
            && let Some(tenure) = metadata.extended()
        {
            metadata.set_tenure(tenure);
            // SAFETY: the caller acquired the low lock with this context.
            return unsafe { low.release(&cx.low) };
        }
        if mutant("clof.low-first") {
            // SAFETY: none: this is the flaw.
            return unsafe {
                low.release(&cx.low);
                self.release_high(metadata);
            };
        }
        // SAFETY: both are held: the high one with its cohort's context, by any thread
        // of it.
        unsafe {
            self.release_high(metadata);
            low.release(&cx.low);
        }
    }

    fn is_locked(&self) -> bool {
        self.high.0.is_locked()
    }
}

// SAFETY: as above; who finds the high lock taken gives the low one back.
unsafe impl<Low, High, At, const HAND_OFFS: u32, const COHORTS: usize> RawTry
    for Clof<Low, High, At, HAND_OFFS, COHORTS>
where
    Low: DetectsWaiters + RawTry,
    High: ThreadOblivious<Context: Send + Sync> + RawTry,
    At: Place,
{
    fn try_acquire(&self, cx: &Self::Context) -> bool {
        let Cohort { low, metadata } = self.enter(cx);
        if !low.try_acquire(&cx.low) {
            return false;
        }
        if metadata.tenure().passed {
            return true;
        }
        if self.high.0.try_acquire(&metadata.high) {
            metadata.begin();
            return true;
        }
        // SAFETY: acquired just now, with this context.
        unsafe { low.release(&cx.low) };
        false
    }
}

// SAFETY: release reads the cohort from the context and goes on to locks that do not
// depend on the thread either.
unsafe impl<Low, High, At, const HAND_OFFS: u32, const COHORTS: usize> ThreadOblivious
    for Clof<Low, High, At, HAND_OFFS, COHORTS>
where
    Low: DetectsWaiters + ThreadOblivious,
    High: ThreadOblivious<Context: Send + Sync>,
    At: Place,
{
}

impl<Low, High, At, const HAND_OFFS: u32, const COHORTS: usize> DetectsWaiters
    for Clof<Low, High, At, HAND_OFFS, COHORTS>
where
    Low: DetectsWaiters,
    High: ThreadOblivious<Context: Send + Sync> + DetectsWaiters,
    At: Place,
{
    #[inline]
    fn has_waiters(&self, cx: &Self::Context) -> bool {
        let Cohort { low, metadata } = &self.cohorts[cx.cohort()];
        low.has_waiters(&cx.low) || self.high.0.has_waiters(&metadata.high)
    }
}

impl<Low, High, At, const HAND_OFFS: u32, const COHORTS: usize> Fair
    for Clof<Low, High, At, HAND_OFFS, COHORTS>
where
    Low: DetectsWaiters + Fair,
    High: ThreadOblivious<Context: Send + Sync> + Fair,
    At: Place,
{
}

// SAFETY: afterwards no cohort's low lock is held but the holder's, and the high lock is
// held with that cohort's context, passed or not, or free.
unsafe impl<Low, High, At, const HAND_OFFS: u32, const COHORTS: usize> Inherit
    for Clof<Low, High, At, HAND_OFFS, COHORTS>
where
    Low: DetectsWaiters + Inherit,
    High: ThreadOblivious<Context: Send + Sync> + Inherit,
    At: Place,
{
    unsafe fn inherit(&self, holder: Option<&Self::Context>) {
        let at = holder.map(ClofContext::cohort);
        for (number, Cohort { low, metadata }) in self.cohorts.iter().enumerate() {
            let holder = holder.filter(|_| at == Some(number));
            // SAFETY: the caller is alone, and holds the low lock of its cohort.
            unsafe { low.inherit(holder.map(|cx| &cx.low)) };
            metadata.set_tenure(Tenure::default());
        }
        let holds = at.map(|number| &self.cohorts[number].metadata.high);
        // SAFETY: the cohort's context is the one with which the high lock is held.
        unsafe { self.high.0.inherit(holds) };
    }
}

impl<Low, High, At, const HAND_OFFS: u32, const COHORTS: usize> TwoForms
    for Clof<Low, High, At, HAND_OFFS, COHORTS>
where
    Low: DetectsWaiters + TwoForms<Spinning: DetectsWaiters>,
    High: ThreadOblivious<Context: Send + Sync>
        + TwoForms<Spinning: ThreadOblivious<Context: Send + Sync>>,
    At: Place,
{
    type Spinning = Clof<Low::Spinning, High::Spinning, At, HAND_OFFS, COHORTS>;
}
