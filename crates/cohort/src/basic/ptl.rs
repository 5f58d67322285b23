//! `ptl`: the partitioned ticket lock; threads draw a number and look for number n in slot n modulo
//! their count (Dice; Dice et al. 2015 §3.2 and §6).
//!
//! **Not for** many small objects: each slot is a cache line.  With fewer waiters than slots, each
//! looks at its own line, as in a queue, without a node.  With more, waiters in the same slot
//! disturb each other as in `ticket`.
//!
//! | field | written by | read by | meaning |
//! |---|---|---|---|
//! | `request` | arrivals | arrivals, the holder | the number to draw |
//! | `slots[i]` | the holder | waiters with numbers ≡ i | the last number served there |
//! | `served` | the holder | the holder | its own number |
//!
//! Numbers count up and wrap after 31 bits, which `SLOTS` divides.  A new lock, all
//! zero, serves number 0 in slot 0; the zero in another slot is no number of that slot.

use crate::door::{AtomicU32, Cell, Order, constructor, orders, repeated};
use crate::support::padded::LinePadded;
use crate::wait::{MayPark, Parking, WaitCell};
use cohort_raw::{DetectsWaiters, Fair, Inherit, RawLock, RawTry, ThreadOblivious, standalone};

orders! {
    /// Drawing a number says nothing about the data.
    PTL_DRAW = Relaxed;
    /// What the last holder did is seen by the thread that it serves.
    PTL_SERVED = Acquire;
    /// What this holder did is seen by the next.
    PTL_SERVE = Release;
    /// The number is free only if the last holder's work is visible.
    PTL_TRY = Acquire;
}

/// The lock; all zero when new.  `SLOTS` is a power of two.
///
/// ```
/// use cohort::{Mutex, basic::Ptl};
///
/// static TOTAL: Mutex<u64, Ptl> = Mutex::from_raw(Ptl::new(), 1);
/// *TOTAL.lock() += 1;
/// assert_eq!(*TOTAL.lock(), 2);
/// ```
#[derive(Debug)]
#[repr(C)]
pub struct Ptl<const SLOTS: usize = 8, P: Parking = MayPark> {
    request: AtomicU32,
    /// On a line that no arrival writes: a release begins by reading it.
    served: LinePadded<Cell<u32>>,
    slots: [LinePadded<WaitCell<P>>; SLOTS],
}

impl<const SLOTS: usize, P: Parking> Default for Ptl<SLOTS, P> {
    fn default() -> Self {
        Self::new()
    }
}

/// Numbers are compared modulo what a slot can hold.
const fn number(drawn: u32) -> u32 {
    drawn & WaitCell::<MayPark>::MAX
}

impl<const SLOTS: usize, P: Parking> Ptl<SLOTS, P> {
    constructor! {
        /// A free lock.
        #[must_use]
        pub fn new() -> Self {
            const { assert!(SLOTS.is_power_of_two()) };
            Self {
                request: AtomicU32::new(0),
                served: LinePadded(Cell::new(0)),
                slots: repeated!(LinePadded(WaitCell::new()), SLOTS),
            }
        }
    }

    /// A free lock with `first` as the next number: near the end, for a test.
    #[must_use]
    pub fn beginning_at(first: u32) -> Self {
        let lock = Self::default();
        lock.request.store(first, Order::RELAXED);
        lock.slot(number(first)).reset(number(first));
        for ahead in 1..SLOTS as u32 {
            let next = number(first.wrapping_add(ahead));
            lock.slot(next)
                .reset(number(next.wrapping_sub(SLOTS as u32)));
        }
        lock
    }

    fn slot(&self, number: u32) -> &WaitCell<P> {
        &self.slots[number as usize % SLOTS].0
    }

    /// Waiters in the same slot sleep in separate classes, up to 32.
    const fn class(number: u32) -> u32 {
        1 << (number / SLOTS as u32 % 32)
    }

    /// The holder's number.
    fn served(&self) -> u32 {
        // SAFETY: called by the holder alone, and no other thread writes it meanwhile.
        self.served.0.with(|served| unsafe { *served })
    }

    fn set_served(&self, number: u32) {
        // SAFETY: called by a thread with the served number: the last to read or write it was the
        // previous holder, and that thread has seen its release.
        self.served.0.with_mut(|served| unsafe { *served = number });
    }
}

// SAFETY: a slot shows each number for one holder's time only, set by the holder
// before, by a release that the waiter's acquire reads.
unsafe impl<const SLOTS: usize, P: Parking> RawLock for Ptl<SLOTS, P> {
    type Context = ();

    #[inline]
    unsafe fn acquire(&self, (): &()) {
        let mine = number(self.request.fetch_add(1, PTL_DRAW));
        self.slot(mine)
            .wait_for(PTL_SERVED, Self::class(mine), |served| served == mine);
        self.set_served(mine);
    }

    #[inline]
    unsafe fn release(&self, (): &()) {
        let successor = number(self.served().wrapping_add(1));
        self.slot(successor)
            .set_for(successor, PTL_SERVE, Self::class(successor), || {
                let drawn = number(self.request.load(Order::RELAXED));
                number(drawn.wrapping_sub(successor)) as usize > SLOTS
            });
    }

    fn is_locked(&self) -> bool {
        let next = number(self.request.load(Order::RELAXED));
        self.slot(next).value(Order::RELAXED) != next
    }
}

standalone!([const SLOTS: usize, P: Parking] Ptl<SLOTS, P>: Hosted, LowLock, HighLock);

// SAFETY: it draws only a number that is already being served.
unsafe impl<const SLOTS: usize, P: Parking> RawTry for Ptl<SLOTS, P> {
    #[inline]
    unsafe fn try_acquire(&self, (): &()) -> bool {
        let next = self.request.load(Order::RELAXED);
        let mine = number(next);
        let taken = self.slot(mine).value(PTL_TRY) == mine
            && self
                .request
                .compare_exchange(next, next.wrapping_add(1), PTL_DRAW, Order::RELAXED)
                .is_ok();
        if taken {
            self.set_served(mine);
        }
        taken
    }
}

// SAFETY: release reads and writes the lock alone.
unsafe impl<const SLOTS: usize, P: Parking> ThreadOblivious for Ptl<SLOTS, P> {}

impl<const SLOTS: usize, P: Parking> Fair for Ptl<SLOTS, P> {}

// SAFETY: a waiter has drawn the number after the served one, and waits until that is served.
unsafe impl<const SLOTS: usize, P: Parking> DetectsWaiters for Ptl<SLOTS, P> {
    #[inline]
    unsafe fn has_waiters(&self, (): &()) -> bool {
        let drawn = number(self.request.load(Order::RELAXED));
        drawn != number(self.served().wrapping_add(1))
    }
}

// SAFETY: afterwards the next number is the one after the holder's, not yet served,
// or the lock is as new.
unsafe impl<const SLOTS: usize, P: Parking> Inherit for Ptl<SLOTS, P> {
    unsafe fn inherit(&self, holder: Option<&()>) {
        if holder.is_some() {
            let next = self.served().wrapping_add(1);
            self.request.store(next, Order::RELAXED);
        } else {
            self.request.store(0, Order::RELAXED);
            for slot in &self.slots {
                slot.0.reset(0);
            }
        }
    }
}
