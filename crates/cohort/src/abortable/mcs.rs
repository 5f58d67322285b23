//! `mcs` with waiters that can leave, and a holder that can hand something over to a waiter that
//! stays: the system's queue of `hmcs-t` (Chabbi et al. 2017 §3) as a cohort's low lock (Dice et
//! al. 2015 §3.4).
//!
//! **Not for** the top of a composition, where nothing is handed over; use [`HmcsT1`] there.
//!
//! A grant of [`FIRST`](crate::numa::hmcs_t) + 1 in that queue carries nothing; a grant larger by n
//! carries the number n.  A grant is an exchange of the waiter's status, and leaving a
//! compare-exchange of the same word: the later one sees the earlier one.  So a waiter that is
//! handed the lock has it, even after its deadline.
//!
//! | a context's field | written by | meaning |
//! |---|---|---|
//! | `queue` | its acquisition | as in `hmcs-t-1` |
//! | `way` | its acquisition, after a hand-over in vain | its position along the queue: its release continues there |
//!
//! **Handing over in vain.**  A holder detects the absence of waiters by passing all nodes that
//! have left, up to the last linked one.  It owns them from then on, as a release of `hmcs-t` does,
//! and returns them when it releases.

use crate::door::{flaws, mutant};
use crate::host::Arena;
use crate::numa::HmcsT1;
use crate::numa::hmcs_t::{Form, HmcsTContext, HmcsTNode, Left};
use crate::wait::{MayPark, SpinOnly, WaitCell};
use cohort_raw::{
    Abortable, BoundedAbort, Fair, HandOver, HandsOver, Inherit, Outcome, Patience, RawLock,
    RawTry, ThreadOblivious, TwoForms, standalone,
};

flaws! {
    /// A release starts at its own node again.
    FORGET_WAY = "a-mcs.forget-way";
    /// An acquisition continues along the path of an acquisition cut off by a fork.
    KEEP_WAY = "a-mcs.keep-way";
}

/// The context of an acquisition.
#[derive(Debug, Default)]
#[repr(C)]
pub struct AMcsContext<P: Form = MayPark> {
    queue: HmcsTContext<P>,
    way: Left<P>,
}

impl<P: Form> AMcsContext<P> {
    /// Begins an acquisition.  A forked child may inherit a cohort's context from a thread that was
    /// about to release and does not exist in the child.
    fn begin(&self) {
        if !mutant(flaw::KEEP_WAY) {
            self.way.forget();
        }
    }
}

/// The lock; all zero when new.
///
/// ```
/// use cohort::{Mutex, abortable::AMcs};
/// use std::time::Duration;
///
/// let total: Mutex<u64, AMcs> = Mutex::from(1);
/// let soon = Duration::from_millis(1);
/// total.locking(|_| assert_eq!(total.try_locking_for(soon, |total| *total), None));
/// assert_eq!(total.try_locking_for(soon, |total| *total), Some(1));
/// ```
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct AMcs<P: Form = MayPark> {
    queue: HmcsT1<P>,
}

// SAFETY: a queue that excludes makes the acquisitions; a release continues along it where
// that acquisition stopped, and no other thread moves along it meanwhile.
unsafe impl<P: Form> RawLock for AMcs<P> {
    type Context = AMcsContext<P>;

    #[inline]
    unsafe fn acquire(&self, cx: &Self::Context) {
        // SAFETY: the caller's.
        let _ = unsafe { self.acquire_within(cx, &Patience::ENDLESS) };
    }

    #[inline]
    unsafe fn release(&self, cx: &Self::Context) {
        if mutant(flaw::FORGET_WAY) {
            cx.way.forget();
        }
        self.queue.release_behind(&cx.queue, &cx.way);
    }

    fn is_locked(&self) -> bool {
        self.queue.is_locked()
    }
}

standalone!([P: Form] AMcs<P>: Hosted { node_bytes: Arena::<HmcsTNode<P>>::NODE_BYTES });

// SAFETY: as the queue's.
unsafe impl<P: Form> RawTry for AMcs<P> {
    #[inline]
    unsafe fn try_acquire(&self, cx: &Self::Context) -> bool {
        cx.begin();
        // SAFETY: the caller's.
        unsafe { self.queue.try_acquire(&cx.queue) }
    }
}

// SAFETY: a waiter that gives up leaves the queue as in `hmcs-t`.
unsafe impl<P: Form> Abortable for AMcs<P> {
    #[inline]
    unsafe fn acquire_within(&self, cx: &Self::Context, patience: &Patience) -> Outcome {
        cx.begin();
        // SAFETY: the caller's.
        unsafe { self.queue.acquire_within(&cx.queue, patience) }
    }
}

// SAFETY: as above.
unsafe impl<P: Form> BoundedAbort for AMcs<P> {}

// SAFETY: a release reads and writes the lock and the context alone.
unsafe impl<P: Form> ThreadOblivious for AMcs<P> {}

impl<P: Form> Fair for AMcs<P> {}

// SAFETY: a waiter leaves by a compare-exchange from waiting, and is granted the lock by an
// exchange of the same word: the later one sees the earlier one.  Only a node's holder reads its
// grant, and writes it as it acquires an empty queue, or one left to it: then it is not a number.
unsafe impl<P: Form> HandsOver for AMcs<P> {
    const MOST: u32 = WaitCell::<P>::MAX - HmcsT1::<P>::ALONE;

    #[inline]
    unsafe fn hand_over(&self, cx: &Self::Context, number: u32) -> HandOver {
        self.queue.hand_over(&cx.queue, &cx.way, number)
    }

    #[inline]
    unsafe fn handed(&self, cx: &Self::Context) -> u32 {
        self.queue.handed(&cx.queue)
    }
}

// SAFETY: as the queue's; nodes that the holder had passed have no owner.
unsafe impl<P: Form> Inherit for AMcs<P> {
    unsafe fn inherit(&self, holder: Option<&Self::Context>) {
        if let Some(holder) = holder {
            holder.way.forget();
        }
        // SAFETY: the caller's.
        unsafe { self.queue.inherit(holder.map(|cx| &cx.queue)) };
    }
}

impl<P: Form> TwoForms for AMcs<P> {
    type Spinning = AMcs<SpinOnly>;
}
