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
//! | `passed` | the holder of `low` | the next one | the high lock is held for whoever holds `low` |
//! | `kept` | the holder of `low` | the next one | how often it was passed in a row |
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
//! Which cohort a thread is in is asked once an acquisition and kept in the context:
//! a thread that is moved meanwhile releases what it has acquired.  Cohorts beyond
//! `COHORTS` share low locks; that is slower, and as safe.

use super::{Level, Numa};
use crate::door::{Cell, mutant};
use cohort_raw::{DetectsWaiters, Fair, RawLock, RawTry, ThreadOblivious, TwoForms};
use core::fmt;
use core::marker::PhantomData;

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

/// What the holder of a cohort's low lock has, on lines that waiters leave alone.
#[derive(Default)]
#[repr(C, align(128))]
struct Metadata<C> {
    passed: Cell<bool>,
    kept: Cell<u32>,
    high: C,
}

impl<C> Metadata<C> {
    fn is_passed(&self) -> bool {
        // SAFETY: the caller holds the cohort's low lock, as all who write do.
        self.passed.with(|passed| unsafe { *passed })
    }

    fn set_passed(&self, passed: bool) {
        // SAFETY: as above.
        self.passed.with_mut(|place| unsafe { *place = passed });
    }

    /// Whether the high lock may stay in the cohort once more; counts that it does.
    fn keeps_local(&self, bound: u32) -> bool {
        // SAFETY: as above.
        self.kept.with_mut(|kept| unsafe {
            *kept += 1;
            if *kept > bound {
                *kept = 0;
            }
            *kept != 0
        })
    }
}

/// A low lock and what goes with it, on lines of their own.
#[derive(Default)]
#[repr(C, align(128))]
struct Cohort<Low, C> {
    low: Low,
    metadata: Metadata<C>,
}

/// The lock; `At` is the level of the low locks, and the high lock is passed within a
/// cohort up to `HAND_OFFS` times in a row.
#[repr(C)]
pub struct Clof<Low, High, At = Numa, const HAND_OFFS: u32 = 128, const COHORTS: usize = 16>
where
    High: RawLock,
{
    cohorts: [Cohort<Low, High::Context>; COHORTS],
    high: Apart<High>,
    at: PhantomData<fn() -> At>,
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

impl<Low: Default, High: RawLock, At, const HAND_OFFS: u32, const COHORTS: usize> Default
    for Clof<Low, High, At, HAND_OFFS, COHORTS>
{
    fn default() -> Self {
        const { assert!(COHORTS > 0) };
        Self {
            cohorts: core::array::from_fn(|_| Cohort::default()),
            high: Apart(High::default()),
            at: PhantomData,
        }
    }
}

impl<Low, High: RawLock, At: Level, const HAND_OFFS: u32, const COHORTS: usize>
    Clof<Low, High, At, HAND_OFFS, COHORTS>
{
    /// The caller's cohort, noted in its context.
    #[inline]
    fn enter<C>(&self, cx: &ClofContext<C>) -> &Cohort<Low, High::Context> {
        let cohort = At::cohort() % COHORTS;
        cx.set_cohort(cohort);
        &self.cohorts[cohort]
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
    At: Level,
{
    type Context = ClofContext<Low::Context>;

    const STRICT: bool = Low::STRICT || High::STRICT;

    #[inline]
    fn acquire(&self, cx: &Self::Context) {
        let cohort = self.enter(cx);
        cohort.low.acquire(&cx.low);
        if !cohort.metadata.is_passed() {
            self.high.0.acquire(&cohort.metadata.high);
        }
    }

    #[inline]
    unsafe fn release(&self, cx: &Self::Context) {
        let Cohort { low, metadata } = &self.cohorts[cx.cohort()];
        if low.has_waiters(&cx.low) && metadata.keeps_local(HAND_OFFS) {
            metadata.set_passed(true);
            // SAFETY: the caller acquired the low lock with this context.
            return unsafe { low.release(&cx.low) };
        }
        if !mutant("clof.forget-clear") {
            metadata.set_passed(false);
        }
        if mutant("clof.low-first") {
            // SAFETY: none: this is the flaw.
            return unsafe {
                low.release(&cx.low);
                self.high.0.release(&metadata.high);
            };
        }
        // SAFETY: both are held: the high one with its cohort's context, by any thread
        // of it.
        unsafe {
            self.high.0.release(&metadata.high);
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
    At: Level,
{
    fn try_acquire(&self, cx: &Self::Context) -> bool {
        let cohort = self.enter(cx);
        if !cohort.low.try_acquire(&cx.low) {
            return false;
        }
        let Metadata { high, .. } = &cohort.metadata;
        if cohort.metadata.is_passed() || self.high.0.try_acquire(high) {
            return true;
        }
        // SAFETY: acquired just now, with this context.
        unsafe { cohort.low.release(&cx.low) };
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
    At: Level,
{
}

impl<Low, High, At, const HAND_OFFS: u32, const COHORTS: usize> Fair
    for Clof<Low, High, At, HAND_OFFS, COHORTS>
where
    Low: DetectsWaiters + Fair,
    High: ThreadOblivious<Context: Send + Sync> + Fair,
    At: Level,
{
}

impl<Low, High, At, const HAND_OFFS: u32, const COHORTS: usize> TwoForms
    for Clof<Low, High, At, HAND_OFFS, COHORTS>
where
    Low: DetectsWaiters + TwoForms<Spinning: DetectsWaiters>,
    High: ThreadOblivious<Context: Send + Sync>
        + TwoForms<Spinning: ThreadOblivious<Context: Send + Sync>>,
    At: Level,
{
    type Spinning = Clof<Low::Spinning, High::Spinning, At, HAND_OFFS, COHORTS>;
}
