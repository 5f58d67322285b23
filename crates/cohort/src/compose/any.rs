//! `Any`: a basic lock chosen when it is made, so that a composition can be built from a text.
//!
//! **Not for** programs that can name a type: every call dispatches on the kind of lock.
//!
//! It contains a lock of each kind, and uses one: together they are smaller than a line, and none
//! owns memory while free.  Which one is written elsewhere than on that line: a release reads it, and
//! would have to fetch the line back from the last arrival.

use super::clof::CohortLock;
use super::{Composed, Plan};
use crate::basic::{Clh, Hemlock, HemlockCtr, K42, Mcs, Ticket};
use crate::door::Cell;
use crate::support::padded::CachePadded;
use cohort_raw::recipe::Basic;
use cohort_raw::{
    DetectsWaiters, Fair, Inherit, LowLock, RawLock, RawTry, ThreadOblivious, standalone,
};

/// Ends the process: recipes refuse all other locks, which the interposer's run-time compositions
/// do not support.
#[cold]
#[inline(never)]
fn none_such() -> ! {
    unreachable!("recipes refuse it")
}

/// A lock of each kind.
#[derive(Debug, Default)]
#[repr(C)]
pub(super) struct Locks {
    ticket: Ticket,
    mcs: Mcs,
    clh: Clh,
    hemlock: Hemlock<false>,
    k42: K42,
    hemlock_ctr: HemlockCtr,
}

impl Locks {
    /// Makes all of them free.
    ///
    /// # Safety
    /// As [`Inherit::inherit`], without a holder.
    pub(super) unsafe fn forget(&self) {
        // SAFETY: the caller's.
        unsafe {
            self.ticket.inherit(None);
            self.mcs.inherit(None);
            self.clh.inherit(None);
            self.hemlock.inherit(None);
            self.k42.inherit(None);
            self.hemlock_ctr.inherit(None);
        }
    }

    /// The one of that kind.
    ///
    /// # Safety
    /// The same kind at each call, unless all are [free](Self::forget) in between.
    #[inline(always)]
    pub(super) unsafe fn chosen(&self, kind: Basic) -> Chosen<'_> {
        Chosen { locks: self, kind }
    }
}

/// The lock of one kind.
#[derive(Clone, Copy)]
pub(super) struct Chosen<'a> {
    locks: &'a Locks,
    kind: Basic,
}

/// The context of an acquisition of any kind.
#[derive(Debug, Default)]
pub struct AnyContext {
    mcs: <Mcs as RawLock>::Context,
    clh: <Clh as RawLock>::Context,
    hemlock: <Hemlock<false> as RawLock>::Context,
    hemlock_ctr: <HemlockCtr as RawLock>::Context,
}

/// Dispatches on the lock's kind, with that kind's part of the context.
macro_rules! with {
    ($chosen:expr, $cx:expr, |$lock:ident, $context:ident| $body:expr) => {{
        let (Chosen { locks, kind }, cx) = ($chosen, $cx);
        match kind {
            Basic::Ticket => {
                let ($lock, $context) = (&locks.ticket, &());
                $body
            }
            Basic::Mcs => {
                let ($lock, $context) = (&locks.mcs, &cx.mcs);
                $body
            }
            Basic::Clh => {
                let ($lock, $context) = (&locks.clh, &cx.clh);
                $body
            }
            Basic::Hemlock => {
                let ($lock, $context) = (&locks.hemlock, &cx.hemlock);
                $body
            }
            Basic::K42 => {
                let ($lock, $context) = (&locks.k42, &());
                $body
            }
            Basic::HemlockCtr => {
                let ($lock, $context) = (&locks.hemlock_ctr, &cx.hemlock_ctr);
                $body
            }
            Basic::Near | Basic::Bo => none_such(),
        }
    }};
}

impl Chosen<'_> {
    /// As [`RawLock::acquire`].
    ///
    /// # Safety
    /// As there; so for all below.
    #[inline(always)]
    pub(super) unsafe fn acquire(self, cx: &AnyContext) {
        // SAFETY: the caller's.
        with!(self, cx, |lock, context| unsafe { lock.acquire(context) });
    }

    #[inline(always)]
    pub(super) unsafe fn release(self, cx: &AnyContext) {
        // SAFETY: the caller's.
        with!(self, cx, |lock, context| unsafe { lock.release(context) });
    }

    #[inline(always)]
    pub(super) unsafe fn try_acquire(self, cx: &AnyContext) -> bool {
        // SAFETY: the caller's.
        with!(self, cx, |lock, context| unsafe {
            lock.try_acquire(context)
        })
    }

    fn is_locked(self) -> bool {
        let Self { locks, kind } = self;
        match kind {
            Basic::Ticket => locks.ticket.is_locked(),
            Basic::Mcs => locks.mcs.is_locked(),
            Basic::Clh => locks.clh.is_locked(),
            Basic::Hemlock => locks.hemlock.is_locked(),
            Basic::K42 => locks.k42.is_locked(),
            Basic::HemlockCtr => locks.hemlock_ctr.is_locked(),
            Basic::Near | Basic::Bo => none_such(),
        }
    }

    /// As [`Inherit::inherit`].
    pub(super) unsafe fn inherit(self, holder: Option<&AnyContext>) {
        let Self { locks, kind } = self;
        // SAFETY: the caller's, for the lock in use; the others are free.
        unsafe {
            match kind {
                Basic::Ticket => locks.ticket.inherit(holder.map(|_| &())),
                Basic::Mcs => locks.mcs.inherit(holder.map(|cx| &cx.mcs)),
                Basic::Clh => locks.clh.inherit(holder.map(|cx| &cx.clh)),
                Basic::Hemlock => locks.hemlock.inherit(holder.map(|cx| &cx.hemlock)),
                Basic::K42 => locks.k42.inherit(holder.map(|_| &())),
                Basic::HemlockCtr => locks.hemlock_ctr.inherit(holder.map(|cx| &cx.hemlock_ctr)),
                Basic::Near | Basic::Bo => none_such(),
            }
        }
    }
}

impl CohortLock for Chosen<'_> {
    type Context = AnyContext;

    #[inline(always)]
    fn limit(self) -> u32 {
        let Self { locks, kind } = self;
        match kind {
            Basic::Ticket => locks.ticket.hand_off_limit(),
            Basic::Mcs => locks.mcs.hand_off_limit(),
            Basic::Clh => locks.clh.hand_off_limit(),
            Basic::Hemlock => locks.hemlock.hand_off_limit(),
            Basic::K42 => locks.k42.hand_off_limit(),
            Basic::HemlockCtr => locks.hemlock_ctr.hand_off_limit(),
            Basic::Near | Basic::Bo => none_such(),
        }
    }

    #[inline(always)]
    unsafe fn carried(self, cx: &AnyContext) -> u32 {
        // SAFETY: the caller's.
        with!(self, cx, |lock, context| unsafe { lock.hand_offs(context) })
    }

    #[inline(always)]
    unsafe fn enter(self, cx: &AnyContext) -> u32 {
        // SAFETY: the caller's.
        with!(self, cx, |lock, context| unsafe {
            lock.acquire_counted(context)
        })
    }

    #[inline(always)]
    unsafe fn is_awaited(self, cx: &AnyContext) -> bool {
        // SAFETY: the caller's.
        with!(self, cx, |lock, context| unsafe {
            lock.has_waiters(context)
        })
    }

    #[inline(always)]
    unsafe fn leave(self, cx: &AnyContext, number: u32) {
        // SAFETY: the caller's.
        with!(self, cx, |lock, context| unsafe {
            lock.release_counted(context, number)
        });
    }
}

/// The lock; a ticket lock by default.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Any {
    pub(super) locks: CachePadded<Locks>,
    /// Written before the lock is shared.
    kind: Cell<Basic>,
}

impl Any {
    /// A free lock of that kind.
    pub(super) fn of(kind: Basic) -> Self {
        Self {
            locks: CachePadded::default(),
            kind: Cell::new(kind),
        }
    }

    #[inline(always)]
    fn chosen(&self) -> Chosen<'_> {
        // SAFETY: no thread writes it.
        let kind = self.kind.with(|kind| unsafe { *kind });
        // SAFETY: always the same.
        unsafe { self.locks.0.chosen(kind) }
    }
}

// SAFETY: every call goes to the same one of the locks, which all exclude.
unsafe impl RawLock for Any {
    type Context = AnyContext;

    #[inline]
    unsafe fn acquire(&self, cx: &AnyContext) {
        // SAFETY: the caller's.
        unsafe { self.chosen().acquire(cx) };
    }

    #[inline]
    unsafe fn release(&self, cx: &AnyContext) {
        // SAFETY: the caller's.
        unsafe { self.chosen().release(cx) };
    }

    fn is_locked(&self) -> bool {
        self.chosen().is_locked()
    }
}

standalone! {
    [] Any:
    Hosted { node_bytes: larger(Clh::HOSTING.node_bytes, K42::HOSTING.node_bytes) },
    LowLock,
    HighLock
}

const fn larger(one: usize, other: usize) -> usize {
    if one > other { one } else { other }
}

// SAFETY: as above.
unsafe impl RawTry for Any {
    unsafe fn try_acquire(&self, cx: &AnyContext) -> bool {
        // SAFETY: the caller's.
        unsafe { self.chosen().try_acquire(cx) }
    }
}

// SAFETY: all of them are.
unsafe impl ThreadOblivious for Any {}

impl Fair for Any {}

// SAFETY: every call goes to the same one of the locks, which all detect waiters.
unsafe impl DetectsWaiters for Any {
    #[inline]
    unsafe fn has_waiters(&self, cx: &AnyContext) -> bool {
        // SAFETY: the caller's.
        unsafe { self.chosen().is_awaited(cx) }
    }
}

// SAFETY: as above.
unsafe impl Inherit for Any {
    unsafe fn inherit(&self, holder: Option<&AnyContext>) {
        // SAFETY: the caller's.
        unsafe { self.chosen().inherit(holder) };
    }
}

// SAFETY: the top is the lock.
unsafe impl Composed for Any {
    type Top = Self;

    fn planned(plan: &Plan<'_>) -> Self {
        Self::of(plan.locks.last().copied().unwrap_or_default())
    }

    fn top(&self) -> &Self {
        self
    }
}
