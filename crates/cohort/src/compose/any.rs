//! `Any`: a basic lock chosen when it is made, so that a composition can be built from a text.
//!
//! **Not for** programs that can name a type: every call dispatches on the kind of lock.
//!
//! It contains a lock of each kind, and uses one: together they are smaller than a line, and none
//! owns memory while free.

use super::{Composed, Plan};
use crate::basic::{Clh, Hemlock, HemlockCtr, K42, Mcs, Ticket};
use crate::door::Cell;
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

/// The lock; a ticket lock by default.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Any {
    /// Written before the lock is shared.
    kind: Cell<Basic>,
    ticket: Ticket,
    mcs: Mcs,
    clh: Clh,
    hemlock: Hemlock<false>,
    k42: K42,
    hemlock_ctr: HemlockCtr,
}

/// The context of an acquisition of any kind.
#[derive(Debug, Default)]
pub struct AnyContext {
    mcs: <Mcs as RawLock>::Context,
    clh: <Clh as RawLock>::Context,
    hemlock: <Hemlock<false> as RawLock>::Context,
    hemlock_ctr: <HemlockCtr as RawLock>::Context,
}

impl Any {
    /// Sets its kind.
    ///
    /// # Safety
    /// The lock is free, and not shared.
    pub(super) unsafe fn become_one(&self, basic: Basic) {
        // SAFETY: the caller's.
        self.kind.with_mut(|kind| unsafe { *kind = basic });
    }

    #[inline(always)]
    fn kind(&self) -> Basic {
        // SAFETY: no thread writes it once the lock is shared.
        self.kind.with(|kind| unsafe { *kind })
    }
}

/// Dispatches on the lock's kind, with that kind's part of the context.
macro_rules! with {
    ($any:expr, $cx:expr, |$lock:ident, $context:ident| $body:expr) => {{
        let (any, cx) = ($any, $cx);
        match any.kind() {
            Basic::Ticket => {
                let ($lock, $context) = (&any.ticket, &());
                $body
            }
            Basic::Mcs => {
                let ($lock, $context) = (&any.mcs, &cx.mcs);
                $body
            }
            Basic::Clh => {
                let ($lock, $context) = (&any.clh, &cx.clh);
                $body
            }
            Basic::Hemlock => {
                let ($lock, $context) = (&any.hemlock, &cx.hemlock);
                $body
            }
            Basic::K42 => {
                let ($lock, $context) = (&any.k42, &());
                $body
            }
            Basic::HemlockCtr => {
                let ($lock, $context) = (&any.hemlock_ctr, &cx.hemlock_ctr);
                $body
            }
            Basic::Near | Basic::Bo => none_such(),
        }
    }};
}

// SAFETY: every call goes to the same one of the locks, which all exclude.
unsafe impl RawLock for Any {
    type Context = AnyContext;

    #[inline]
    unsafe fn acquire(&self, cx: &AnyContext) {
        // SAFETY: the caller's.
        with!(self, cx, |lock, context| unsafe { lock.acquire(context) });
    }

    #[inline]
    unsafe fn release(&self, cx: &AnyContext) {
        // SAFETY: the caller's.
        with!(self, cx, |lock, context| unsafe { lock.release(context) });
    }

    fn is_locked(&self) -> bool {
        match self.kind() {
            Basic::Ticket => self.ticket.is_locked(),
            Basic::Mcs => self.mcs.is_locked(),
            Basic::Clh => self.clh.is_locked(),
            Basic::Hemlock => self.hemlock.is_locked(),
            Basic::K42 => self.k42.is_locked(),
            Basic::HemlockCtr => self.hemlock_ctr.is_locked(),
            Basic::Near | Basic::Bo => none_such(),
        }
    }
}

standalone! {
    [] Any:
    Hosted { node_bytes: larger(Clh::HOSTING.node_bytes, K42::HOSTING.node_bytes) },
    HighLock
}

const fn larger(one: usize, other: usize) -> usize {
    if one > other { one } else { other }
}

// SAFETY: as above.
unsafe impl RawTry for Any {
    unsafe fn try_acquire(&self, cx: &AnyContext) -> bool {
        // SAFETY: the caller's.
        with!(self, cx, |lock, context| unsafe {
            lock.try_acquire(context)
        })
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
        with!(self, cx, |lock, context| unsafe {
            lock.has_waiters(context)
        })
    }
}

// SAFETY: as above.
unsafe impl LowLock for Any {
    #[inline]
    fn hand_off_limit(&self) -> u32 {
        match self.kind() {
            Basic::Ticket => self.ticket.hand_off_limit(),
            Basic::Mcs => self.mcs.hand_off_limit(),
            Basic::Clh => self.clh.hand_off_limit(),
            Basic::Hemlock => self.hemlock.hand_off_limit(),
            Basic::K42 => self.k42.hand_off_limit(),
            Basic::HemlockCtr => self.hemlock_ctr.hand_off_limit(),
            Basic::Near | Basic::Bo => none_such(),
        }
    }

    #[inline]
    unsafe fn hand_offs(&self, cx: &AnyContext) -> u32 {
        // SAFETY: the caller's.
        with!(self, cx, |lock, context| unsafe { lock.hand_offs(context) })
    }

    #[inline]
    unsafe fn acquire_counted(&self, cx: &AnyContext) -> u32 {
        // SAFETY: the caller's.
        with!(self, cx, |lock, context| unsafe {
            lock.acquire_counted(context)
        })
    }

    #[inline]
    unsafe fn release_counted(&self, cx: &AnyContext, number: u32) {
        // SAFETY: the caller's.
        with!(self, cx, |lock, context| unsafe {
            lock.release_counted(context, number)
        });
    }
}

// SAFETY: as above.
unsafe impl Inherit for Any {
    unsafe fn inherit(&self, holder: Option<&AnyContext>) {
        // SAFETY: the caller's, for the lock in use; the others are free.
        unsafe {
            match self.kind() {
                Basic::Ticket => self.ticket.inherit(holder.map(|_| &())),
                Basic::Mcs => self.mcs.inherit(holder.map(|cx| &cx.mcs)),
                Basic::Clh => self.clh.inherit(holder.map(|cx| &cx.clh)),
                Basic::Hemlock => self.hemlock.inherit(holder.map(|cx| &cx.hemlock)),
                Basic::K42 => self.k42.inherit(holder.map(|_| &())),
                Basic::HemlockCtr => self.hemlock_ctr.inherit(holder.map(|cx| &cx.hemlock_ctr)),
                Basic::Near | Basic::Bo => none_such(),
            }
        }
    }
}

// SAFETY: the top is the lock.
unsafe impl Composed for Any {
    type Top = Self;

    fn planned(plan: &Plan<'_>) -> Self {
        let lock = Self::default();
        if let Some(basic) = plan.locks.last() {
            // SAFETY: made just now.
            unsafe { lock.become_one(*basic) };
        }
        lock
    }

    fn top(&self) -> &Self {
        self
    }
}
