//! `ticket`: threads are served in the order in which they drew a number
//! (002 §2.1; 000 §2.2 uses it on both levels).
//!
//! **Not for** many waiters that spin: all of them look at one word, so each
//! release costs a transfer to every waiter's CPU.  Short queues are where it
//! shines: one read-modify-write to enter, nothing to allocate.
//!
//! | `next` | `serving` | state |
//! |---|---|---|
//! | n | n | free |
//! | n + 1 | n | held, nobody waits |
//! | n + 1 + w | n | held, w threads wait |
//!
//! With `UNIT` the lock is [`ticket_delay`](super::ticket_delay).
//!
//! `next` is written by every arrival, `serving` by the holder; both count up and
//! wrap, `serving` after 31 bits, so numbers are compared modulo 2³¹.

use crate::door::{AtomicU32, Order, orders};
use crate::wait::{MayPark, Parking, WaitCell};
use cohort_raw::{DetectsWaiters, Fair, Inherit, RawLock, RawTry, ThreadOblivious};

orders! {
    /// Drawing a number says nothing about the data.
    TICKET_DRAW = Relaxed;
    /// What the last holder did is seen by whoever it serves.
    TICKET_SERVED = Acquire;
    /// What this holder did is seen by the next.
    TICKET_SERVE = Release;
    /// The number is free only if the last holder's work is visible.
    TICKET_TRY = Acquire;
}

/// The lock; all zero when new.  A waiter looks again after `UNIT` nanoseconds for each
/// thread that is served before it; at once if that is 0.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Ticket<P: Parking = MayPark, const UNIT: u64 = 0> {
    next: AtomicU32,
    serving: WaitCell<P>,
}

/// Numbers are compared modulo what `serving` can hold.
const fn number(drawn: u32) -> u32 {
    drawn & WaitCell::<MayPark>::MAX
}

/// Sleepers are told apart by their number's last bits, so that a release wakes
/// the one thread it serves and, of 32 sleepers, no other.
const fn class(number: u32) -> u32 {
    1 << (number % 32)
}

impl<P: Parking, const UNIT: u64> Ticket<P, UNIT> {
    /// A free lock whose next number is `first`: near the end, for a test.
    #[must_use]
    pub fn beginning_at(first: u32) -> Self {
        let lock = Self::default();
        lock.next.store(first, Order::RELAXED);
        lock.serving.reset(number(first));
        lock
    }
}

// SAFETY: `serving` equals each number for one holder's time only, and the
// holder alone moves it on, by a release that the next one's acquire reads.
unsafe impl<P: Parking, const UNIT: u64> RawLock for Ticket<P, UNIT> {
    type Context = ();

    #[inline]
    fn acquire(&self, (): &()) {
        let mine = number(self.next.fetch_add(1, TICKET_DRAW));
        self.serving.wait_spaced(
            TICKET_SERVED,
            class(mine),
            |serving| serving == mine,
            |serving| UNIT * u64::from(number(mine.wrapping_sub(serving))),
        );
    }

    #[inline]
    unsafe fn release(&self, (): &()) {
        let successor = number(self.serving.value(Order::RELAXED).wrapping_add(1));
        self.serving
            .set_for(successor, TICKET_SERVE, class(successor), || {
                let drawn = number(self.next.load(Order::RELAXED));
                number(drawn.wrapping_sub(successor)) > 1
            });
    }

    fn is_locked(&self) -> bool {
        self.serving.value(Order::RELAXED) != number(self.next.load(Order::RELAXED))
    }
}

// SAFETY: only a number that is being served already is drawn.
unsafe impl<P: Parking, const UNIT: u64> RawTry for Ticket<P, UNIT> {
    #[inline]
    fn try_acquire(&self, (): &()) -> bool {
        let next = self.next.load(Order::RELAXED);
        self.serving.value(TICKET_TRY) == number(next)
            && self
                .next
                .compare_exchange(next, next.wrapping_add(1), TICKET_DRAW, Order::RELAXED)
                .is_ok()
    }
}

// SAFETY: release reads and writes the lock alone.
unsafe impl<P: Parking, const UNIT: u64> ThreadOblivious for Ticket<P, UNIT> {}

impl<P: Parking, const UNIT: u64> Fair for Ticket<P, UNIT> {}

impl<P: Parking, const UNIT: u64> DetectsWaiters for Ticket<P, UNIT> {
    fn has_waiters(&self, (): &()) -> bool {
        let drawn = number(self.next.load(Order::RELAXED));
        number(drawn.wrapping_sub(self.serving.value(Order::RELAXED))) > 1
    }
}

// SAFETY: afterwards the next number to be drawn is the one served, or the one
// after the holder's.
unsafe impl<P: Parking, const UNIT: u64> Inherit for Ticket<P, UNIT> {
    unsafe fn inherit(&self, holder: Option<&()>) {
        let serving = self.serving.value(Order::RELAXED);
        self.serving.reset(serving);
        self.next
            .store(serving + u32::from(holder.is_some()), Order::RELAXED);
    }
}
