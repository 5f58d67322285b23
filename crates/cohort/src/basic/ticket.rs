//! `ticket`: a FIFO lock; an arrival draws a number and waits until it is served (Chehab et al.
//! 2021 §2.1; Dice et al. 2015 §2.2 uses it on both levels).
//!
//! **Not for** many spinning waiters: all look at one word, so each release costs a transfer to
//! every waiter's CPU.  It is good at short queues: one read-modify-write to enter, nothing to
//! allocate.
//!
//! | `next` | `serving` | state |
//! |---|---|---|
//! | n | n | free |
//! | n + 1 | n | held, no waiter |
//! | n + 1 + w | n | held, w threads wait |
//! | as above | n, `QUICK` | the same, and released by a plain store |
//!
//! With `UNIT` the lock is [`ticket_delay`](super::ticket_delay).
//!
//! Every arrival writes `next`, the holder writes `serving`.  Both count up in steps of `ONE` and
//! wrap after 31 bits: there are at least as many numbers as Linux has threads.  A holder of a lock
//! that is long uncontended sets `QUICK`, instead of waking; a waiter clears it before it sleeps;
//! see [`quick`].  A store already under way may set it again; the next waiter finds it.  Between
//! `QUICK` and the number, `serving` has the value that the last holder carried to this one; 0 if
//! this one found the lock free.
//!
//! An acquisition of a free lock reads `serving` alone: `next` was the target of the last
//! read-modify-write, and reading it would wait for that.

use crate::door::{AtomicU32, Order, constructor, flaws, is_long_quiet, mutant, orders};
use crate::wait::{MayPark, Parking, WaitCell, quick};
use cohort_raw::{
    DetectsWaiters, Fair, Hosted, Hosting, Inherit, LowLock, Quick, QuickRelease, RawLock, RawTry,
    ThreadOblivious, standalone,
};
use core::cell::Cell;
use core::mem::offset_of;

orders! {
    /// Drawing a number says nothing about the data.
    TICKET_DRAW = Relaxed;
    /// What the last holder did is seen by the thread that it serves.
    TICKET_SERVED = Acquire;
    /// What this holder did is seen by the next.
    TICKET_SERVE = Release;
    /// The same, by a plain store.
    TICKET_SERVE_QUICK = Release;
    /// The number is free only if the last holder's work is visible.
    TICKET_TRY = Acquire;
}

flaws! {
    MARK_AND_HOPE = "ticket.mark-and-hope";
    FORGET_DISMISSAL = "ticket.forget-dismissal";
}

/// The lock; all zero when new.  A waiter looks again after `UNIT` nanoseconds for each thread
/// ahead; at once if that is 0.
///
/// ```
/// use cohort::{Mutex, basic::Ticket};
///
/// static TOTAL: Mutex<u64, Ticket> = Mutex::from_raw(Ticket::new(), 1);
/// *TOTAL.lock() += 1;
/// assert_eq!(*TOTAL.lock(), 2);
/// ```
#[derive(Debug, Default)]
#[repr(C)]
pub struct Ticket<P: Parking = MayPark, const UNIT: u64 = 0> {
    next: AtomicU32,
    serving: WaitCell<P>,
}

impl<P: Parking, const UNIT: u64> Ticket<P, UNIT> {
    constructor! {
        /// A free lock.
        #[must_use]
        pub fn new() -> Self {
            Self {
                next: AtomicU32::new(0),
                serving: WaitCell::new(),
            }
        }
    }
}

/// In `serving`: the holder releases by a plain store.
const QUICK: u32 = 1;

/// In `serving`, from this bit to `ONE`: the count that is carried to the holder.
const CARRIED: u32 = 2;

/// The step from one number to the next.
const ONE: u32 = 1 << 9;

/// The count of numbers.
const ALL: u32 = (WaitCell::<MayPark>::MAX / ONE) + 1;

/// The number in a value of either word.
const fn number(value: u32) -> u32 {
    value & WaitCell::<MayPark>::MAX & !(ONE - 1)
}

/// How far `last` is after `first`; numbers wrap.
const fn between(first: u32, last: u32) -> u32 {
    number(last.wrapping_sub(first)) / ONE
}

/// Sleepers are distinguished by their number's last bits, so that a release wakes the thread that
/// it serves and, of 32 sleepers, no other.
const fn class(number: u32) -> u32 {
    1 << (number / ONE % 32)
}

impl<P: Parking, const UNIT: u64> Ticket<P, UNIT> {
    /// A free lock that has served `count` threads: near the end, for a test.
    #[must_use]
    pub fn beginning_at(count: u32) -> Self {
        let lock = Self::default();
        let first = number(count.wrapping_mul(ONE));
        lock.next.store(first, Order::RELAXED);
        lock.serving.reset(first);
        lock
    }

    /// How many threads have drawn a number and not yet released.
    #[inline]
    pub(crate) fn drawn(&self) -> u32 {
        let next = self.next.load(Order::RELAXED);
        between(number(self.serving.value(Order::RELAXED)), next)
    }

    /// Blocks until the caller's number is served.
    #[inline(always)]
    fn wait_for(&self, mine: u32) {
        self.serving.wait_spaced(
            TICKET_SERVED,
            class(mine),
            move |serving| number(serving) == mine,
            move |serving| UNIT * u64::from(between(number(serving), mine)),
            || self.is_honoured(),
        );
    }

    /// Draws a number.
    #[inline(always)]
    pub(crate) fn draw(&self) -> u32 {
        let drawn = self.next.fetch_add(ONE, TICKET_DRAW);
        if drawn.wrapping_add(ONE) > WaitCell::<P>::MAX {
            // Wrapped in the same way as `serving`.
            self.next.fetch_and(WaitCell::<P>::MAX, Order::RELAXED);
        }
        number(drawn)
    }

    /// Whether the caller's number is served at once.
    #[inline(always)]
    pub(crate) fn is_served(&self, mine: u32) -> bool {
        number(self.serving.value(TICKET_SERVED)) == mine
    }

    /// How many threads were served before that number; wraps.
    #[inline(always)]
    pub(crate) const fn count(number: u32) -> u32 {
        number / ONE
    }

    /// Blocks until the caller's number is served (true) or [dismissed](Self::dismiss) (false).
    /// The numbers must not wrap before all dismissed waiters have left.
    pub(crate) fn wait_or_go(&self, mine: u32) -> bool {
        // Only one look: the next arrival needs the line as soon as possible.
        let seen = Cell::new(mine);
        let is_reached = |serving| {
            seen.set(number(serving));
            between(mine, seen.get()) <= ALL / 2
        };
        self.serving.wait_spaced(
            TICKET_SERVED,
            class(mine),
            is_reached,
            |_| 0,
            || self.is_honoured(),
        );
        seen.get() == mine || mutant(flaw::FORGET_DISMISSAL)
    }

    /// Releases the lock and dismisses all waiters, after calling `noted` with their count: the
    /// next number served is not yet drawn.  For locks with waiters that [go](Self::wait_or_go).
    pub(crate) fn dismiss(&self, noted: impl FnOnce(u32)) {
        let next = number(self.next.load(Order::RELAXED));
        noted(between(number(self.serving.value(Order::RELAXED)), next) - 1);
        self.serving.set(next, TICKET_SERVE);
    }

    /// Serves the next number, and may carry a value to it.
    #[inline(always)]
    fn serve(&self, carried: u32) {
        let place = &raw const *self;
        match self.serve_quick(carried) {
            Quick::Released => {}
            Quick::MarkLost => Self::wake_everybody(place),
            Quick::Refused => self.serve_and_wake(carried),
        }
    }

    /// As [`QuickRelease::release_quickly`].
    #[inline(always)]
    fn serve_quick(&self, carried: u32) -> Quick {
        let put = |served: u32, quick, order| {
            let successor = number(served.wrapping_add(ONE));
            self.serving.put(successor | carried | quick, order);
        };
        if !P::MAY_SLEEP {
            put(self.serving.value(Order::RELAXED), 0, TICKET_SERVE);
            return Quick::Released;
        }
        quick::release(
            || Some(self.serving.value(Order::RELAXED)).filter(|served| served & QUICK != 0),
            |served| put(served, QUICK, TICKET_SERVE_QUICK),
        )
    }

    /// Serves the next number, and wakes its waiter.
    #[inline]
    fn serve_and_wake(&self, carried: u32) {
        let served = self.serving.value(Order::RELAXED);
        let next = number(served.wrapping_add(ONE));
        let successor = next | carried;
        // Fails if there is a mark; a thread that leaves one later clears `QUICK`.
        if P::MAY_SLEEP
            && is_long_quiet()
            && self
                .serving
                .try_set(served, successor | QUICK, TICKET_SERVE)
        {
            return;
        }
        self.serving
            .set_for(successor, TICKET_SERVE, class(next), || {
                between(next, self.next.load(Order::RELAXED)) > 1
            });
    }

    /// Whether holders look for the mark that the caller has just set.  If not, this ends the quick
    /// period.
    fn is_honoured(&self) -> bool {
        let quick = self.serving.value(Order::RELAXED) & QUICK != 0;
        if !quick || mutant(flaw::MARK_AND_HOPE) {
            return true;
        }
        self.serving.clear(QUICK);
        quick::revoke(|| WaitCell::wake_everybody(&raw const self.serving));
        false
    }
}

// SAFETY: `serving` equals each number for one holder's time only, and the
// holder alone moves it on, by a release that the next one's acquire reads.
unsafe impl<P: Parking, const UNIT: u64> RawLock for Ticket<P, UNIT> {
    type Context = ();

    #[inline]
    unsafe fn acquire(&self, (): &()) {
        self.wait_for(self.draw());
    }

    #[inline]
    unsafe fn release(&self, (): &()) {
        self.serve(0);
    }

    fn is_locked(&self) -> bool {
        self.drawn() > 0
    }
}

// SAFETY: it grants, and a turn is the number that is served.
unsafe impl<P: Parking, const UNIT: u64> Hosted for Ticket<P, UNIT> {
    const HOSTING: Hosting = Hosting::USUAL;

    unsafe fn make_at(place: *mut Self) {
        // SAFETY: the caller's.
        unsafe { place.write(Self::default()) };
    }

    #[inline(always)]
    fn turn(&self) -> u32 {
        number(self.serving.value(Order::RELAXED)) + 1
    }
}

// SAFETY: the next number is served as by a release, or nothing changes.
unsafe impl<P: Parking, const UNIT: u64> QuickRelease for Ticket<P, UNIT> {
    #[inline(always)]
    unsafe fn release_quickly(&self, (): &()) -> Quick {
        self.serve_quick(0)
    }

    fn wake_everybody(place: *const Self) {
        let serving = place.wrapping_byte_add(offset_of!(Self, serving));
        WaitCell::wake_everybody(serving.cast::<WaitCell<P>>());
    }
}

standalone!([P: Parking, const UNIT: u64] Ticket<P, UNIT>: HighLock);

// SAFETY: it draws a number that is being served, which the look afterwards confirms; otherwise it
// waits for that number.
unsafe impl<P: Parking, const UNIT: u64> RawTry for Ticket<P, UNIT> {
    #[inline]
    unsafe fn try_acquire(&self, (): &()) -> bool {
        let served = number(self.serving.value(Order::RELAXED));
        let next = number(served.wrapping_add(ONE));
        let drawn = self
            .next
            .compare_exchange(served, next, TICKET_DRAW, Order::RELAXED)
            .is_ok();
        if drawn && number(self.serving.value(TICKET_TRY)) != served {
            // The numbers have wrapped since the first look: the number is next to be drawn, but
            // another thread holds the lock.
            self.wait_for(served);
        }
        drawn
    }
}

// SAFETY: release reads and writes the lock alone.
unsafe impl<P: Parking, const UNIT: u64> ThreadOblivious for Ticket<P, UNIT> {}

impl<P: Parking, const UNIT: u64> Fair for Ticket<P, UNIT> {}

// SAFETY: a thread that has drawn a number waits, and leaves with the lock.
unsafe impl<P: Parking, const UNIT: u64> DetectsWaiters for Ticket<P, UNIT> {
    #[inline]
    unsafe fn has_waiters(&self, (): &()) -> bool {
        self.drawn() > 1
    }
}

// SAFETY: the carried count is beside the served number, which the holder has read; until its
// release only `QUICK` and marks of sleepers change beside it.
unsafe impl<P: Parking, const UNIT: u64> LowLock for Ticket<P, UNIT> {
    #[inline(always)]
    fn hand_off_limit(&self) -> u32 {
        (ONE - 1) / CARRIED
    }

    #[inline(always)]
    unsafe fn hand_offs(&self, (): &()) -> u32 {
        self.serving.value(Order::RELAXED) % ONE / CARRIED
    }

    #[inline(always)]
    unsafe fn acquire_counted(&self, (): &()) -> u32 {
        // SAFETY: the caller's.
        unsafe {
            self.acquire(&());
            self.hand_offs(&())
        }
    }

    #[inline]
    unsafe fn release_counted(&self, (): &(), number: u32) {
        self.serve(number * CARRIED);
    }
}

// SAFETY: afterwards the next number to be drawn is the one served, or the one
// after the holder's.
unsafe impl<P: Parking, const UNIT: u64> Inherit for Ticket<P, UNIT> {
    unsafe fn inherit(&self, holder: Option<&()>) {
        let serving = number(self.serving.value(Order::RELAXED));
        self.serving.reset(serving);
        let next = if holder.is_some() { ONE } else { 0 };
        self.next
            .store(number(serving.wrapping_add(next)), Order::RELAXED);
    }
}
