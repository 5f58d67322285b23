//! `ticket-apart`: `ticket` with each of its two words on its own line, as the published lock is
//! padded (Mellor-Crummey and Scott 1991; Dice et al. 2015 §2.2, §5).
//!
//! **Not for** programs: `ticket` fits into a mutex, and enters a free lock by one line.  It serves
//! as a comparison: here an arrival draws its number on a line that no waiter polls.
//!
//! | `next` | `serving` | state |
//! |---|---|---|
//! | n | n | free |
//! | n + 1 | n | held, no waiter |
//! | n + 1 + w | n | held, w threads wait |
//!
//! Every arrival writes `next`, the holder writes `serving`; both count up and wrap after 31 bits.

use crate::door::{AtomicU32, Order, constructor, orders};
use crate::support::padded::CachePadded;
use crate::wait::{MayPark, Parking, SpinOnly, WaitCell};
use cohort_raw::{
    DetectsWaiters, Fair, Inherit, RawLock, RawTry, ThreadOblivious, TwoForms, standalone,
};

orders! {
    /// Drawing a number says nothing about the data.
    APART_DRAW = Relaxed;
    /// What the last holder did is seen by the thread that it serves.
    APART_SERVED = Acquire;
    /// What this holder did is seen by the next.
    APART_SERVE = Release;
}

/// The lock; all zero when new.
///
/// ```
/// use cohort::{Mutex, basic::TicketApart};
///
/// static TOTAL: Mutex<u64, TicketApart> = Mutex::from_raw(TicketApart::new(), 1);
/// *TOTAL.lock() += 1;
/// assert_eq!(*TOTAL.lock(), 2);
/// ```
#[derive(Debug, Default)]
#[repr(C)]
pub struct TicketApart<P: Parking = MayPark> {
    next: CachePadded<AtomicU32>,
    serving: CachePadded<WaitCell<P>>,
}

/// The bits of a number.
const ALL: u32 = WaitCell::<MayPark>::MAX;

/// Sleepers are distinguished by their number's last bits, as in `ticket`.
const fn class(number: u32) -> u32 {
    1 << (number % 32)
}

impl<P: Parking> TicketApart<P> {
    constructor! {
        /// A free lock.
        #[must_use]
        pub fn new() -> Self {
            Self {
                next: CachePadded(AtomicU32::new(0)),
                serving: CachePadded(WaitCell::new()),
            }
        }
    }

    /// Threads that have drawn a number and not yet released.
    fn drawn(&self) -> u32 {
        let next = self.next.0.load(Order::RELAXED);
        next.wrapping_sub(self.serving.0.value(Order::RELAXED)) & ALL
    }

    /// Blocks until the caller's number is served.
    fn wait_for(&self, mine: u32) {
        self.serving
            .0
            .wait_for(APART_SERVED, class(mine), |serving| serving == mine);
    }
}

// SAFETY: `serving` equals each number for one holder's time only, and the holder alone moves it
// on, by a release that the next one's acquire reads.
unsafe impl<P: Parking> RawLock for TicketApart<P> {
    type Context = ();

    #[inline]
    unsafe fn acquire(&self, (): &()) {
        self.wait_for(self.next.0.fetch_add(1, APART_DRAW) & ALL);
    }

    #[inline]
    unsafe fn release(&self, (): &()) {
        let next = (self.serving.0.value(Order::RELAXED) + 1) & ALL;
        self.serving
            .0
            .set_for(next, APART_SERVE, class(next), || self.drawn() > 1);
    }

    fn is_locked(&self) -> bool {
        self.drawn() > 0
    }
}

standalone!([P: Parking] TicketApart<P>: Hosted, QuickRelease, LowLock, HighLock);

// SAFETY: it draws only a number that is already being served, and the look that confirms this
// acquires; if the numbers have wrapped meanwhile, it waits for its number.
unsafe impl<P: Parking> RawTry for TicketApart<P> {
    #[inline]
    unsafe fn try_acquire(&self, (): &()) -> bool {
        let next = self.next.0.load(Order::RELAXED);
        if self.serving.0.value(Order::RELAXED) != next & ALL {
            return false;
        }
        let drawn = self
            .next
            .0
            .compare_exchange(next, next.wrapping_add(1), APART_DRAW, Order::RELAXED)
            .is_ok();
        if drawn {
            self.wait_for(next & ALL);
        }
        drawn
    }
}

// SAFETY: release reads and writes the lock alone.
unsafe impl<P: Parking> ThreadOblivious for TicketApart<P> {}

impl<P: Parking> Fair for TicketApart<P> {}

// SAFETY: a thread that has drawn a number waits, and leaves with the lock.
unsafe impl<P: Parking> DetectsWaiters for TicketApart<P> {
    #[inline]
    unsafe fn has_waiters(&self, (): &()) -> bool {
        self.drawn() > 1
    }
}

// SAFETY: afterwards the next number to be drawn is the one served, or the one after the holder's.
unsafe impl<P: Parking> Inherit for TicketApart<P> {
    unsafe fn inherit(&self, holder: Option<&()>) {
        let serving = self.serving.0.value(Order::RELAXED);
        self.serving.0.reset(serving);
        let next = serving + u32::from(holder.is_some());
        self.next.0.store(next & ALL, Order::RELAXED);
    }
}

impl<P: Parking> TwoForms for TicketApart<P> {
    type Spinning = TicketApart<SpinOnly>;
}
