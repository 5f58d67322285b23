//! `anderson`: an array of flags, one cache line each; a thread draws a position and looks at its
//! own flag, and the holder sets the next one (Anderson 1990; Antić et al. 2016 §2 lists it among
//! the queue locks).
//!
//! **Not for** many small objects: each lock is an array.  It is the lock that does not fit in a
//! program's mutex, so that inflation has a user.
//!
//! The published lock allows as many threads as slots.  Here a flag counts the grants of its slot,
//! so threads can share a slot and still recognise their own grant.
//!
//! | field | written by | read by | meaning |
//! |---|---|---|---|
//! | `next` | arrivals | arrivals | the position to draw |
//! | `slots[i]` | the holder at position i − 1 | waiters at positions ≡ i | grants so far |
//!
//! Position p waits until its slot has been granted ⌈p / SLOTS⌉ times; so a new
//! lock, all zero, is free for position 0 and for no other.

use crate::door::{AtomicU32, Cell, Order, constructor, orders, repeated};
use crate::support::padded::LinePadded;
use crate::wait::{MayPark, Parking, WaitCell};
use cohort_raw::{DetectsWaiters, Fair, Inherit, RawLock, RawTry, ThreadOblivious, standalone};

orders! {
    /// Drawing a position says nothing about the data.
    ANDERSON_DRAW = Relaxed;
    /// What the last holder did is seen by the thread that it grants.
    ANDERSON_GRANTED = Acquire;
    /// What this holder did is seen by the next.
    ANDERSON_GRANT = Release;
    /// The position is free only if the last holder's work is visible.
    ANDERSON_TRY = Acquire;
}

/// The lock; all zero when new.  `SLOTS` is a power of two, at least 2.
///
/// ```
/// use cohort::{Mutex, basic::Anderson};
///
/// static TOTAL: Mutex<u64, Anderson> = Mutex::from_raw(Anderson::new(), 1);
/// *TOTAL.lock() += 1;
/// assert_eq!(*TOTAL.lock(), 2);
/// ```
#[derive(Debug)]
#[repr(C)]
pub struct Anderson<const SLOTS: usize = 32, P: Parking = MayPark> {
    next: AtomicU32,
    slots: [LinePadded<WaitCell<P>>; SLOTS],
}

/// The position drawn by an acquisition.
#[derive(Debug, Default)]
pub struct AndersonContext {
    position: Cell<u32>,
}

impl AndersonContext {
    fn position(&self) -> u32 {
        // SAFETY: only the acquisition that owns the context touches it.
        self.position.with(|position| unsafe { *position })
    }

    fn set_position(&self, drawn: u32) {
        // SAFETY: as above.
        self.position
            .with_mut(|position| unsafe { *position = drawn });
    }
}

impl<const SLOTS: usize, P: Parking> Default for Anderson<SLOTS, P> {
    fn default() -> Self {
        Self::new()
    }
}

const CLASS: u32 = 1;

impl<const SLOTS: usize, P: Parking> Anderson<SLOTS, P> {
    constructor! {
        /// A free lock.
        #[must_use]
        pub fn new() -> Self {
            const { assert!(SLOTS.is_power_of_two() && SLOTS >= 2) };
            Self {
                next: AtomicU32::new(0),
                slots: repeated!(LinePadded(WaitCell::new()), SLOTS),
            }
        }
    }

    /// A free lock with `first` as the next position: near the end, for a test.
    #[must_use]
    pub fn beginning_at(first: u32) -> Self {
        let lock = Self::default();
        lock.next.store(first, Order::RELAXED);
        for ahead in 0..SLOTS as u32 {
            let position = first.wrapping_add(ahead);
            let turn = Self::turn(position).wrapping_sub(u32::from(ahead > 0));
            lock.slot(position).reset(turn & WaitCell::<P>::MAX);
        }
        lock
    }

    fn slot(&self, position: u32) -> &WaitCell<P> {
        &self.slots[position as usize % SLOTS].0
    }

    /// How many grants of its slot a position waits for; positions wrap, and the count with them.
    const fn turn(position: u32) -> u32 {
        position.wrapping_add(SLOTS as u32 - 1) / SLOTS as u32
    }
}

// SAFETY: each position is granted once, by the holder of the position before, by a release that
// the waiter's acquire reads.
unsafe impl<const SLOTS: usize, P: Parking> RawLock for Anderson<SLOTS, P> {
    type Context = AndersonContext;

    #[inline]
    unsafe fn acquire(&self, cx: &AndersonContext) {
        let mine = self.next.fetch_add(1, ANDERSON_DRAW);
        self.slot(mine)
            .wait_for(ANDERSON_GRANTED, CLASS, |turn| turn == Self::turn(mine));
        cx.set_position(mine);
    }

    #[inline]
    unsafe fn release(&self, cx: &AndersonContext) {
        let successor = cx.position().wrapping_add(1);
        self.slot(successor)
            .set(Self::turn(successor), ANDERSON_GRANT);
    }

    fn is_locked(&self) -> bool {
        let next = self.next.load(Order::RELAXED);
        self.slot(next).value(Order::RELAXED) != Self::turn(next)
    }
}

standalone!([const SLOTS: usize, P: Parking] Anderson<SLOTS, P>: Hosted, LowLock, HighLock);

// SAFETY: it draws only a position that is already granted.
unsafe impl<const SLOTS: usize, P: Parking> RawTry for Anderson<SLOTS, P> {
    #[inline]
    unsafe fn try_acquire(&self, cx: &AndersonContext) -> bool {
        let next = self.next.load(Order::RELAXED);
        let taken = self.slot(next).value(ANDERSON_TRY) == Self::turn(next)
            && self
                .next
                .compare_exchange(next, next.wrapping_add(1), ANDERSON_DRAW, Order::RELAXED)
                .is_ok();
        if taken {
            cx.set_position(next);
        }
        taken
    }
}

// SAFETY: release reads and writes the lock and the context alone.
unsafe impl<const SLOTS: usize, P: Parking> ThreadOblivious for Anderson<SLOTS, P> {}

impl<const SLOTS: usize, P: Parking> Fair for Anderson<SLOTS, P> {}

// SAFETY: the next position is the one after the holder's until a thread draws it, which then
// waits at its slot.
unsafe impl<const SLOTS: usize, P: Parking> DetectsWaiters for Anderson<SLOTS, P> {
    #[inline]
    unsafe fn has_waiters(&self, cx: &AndersonContext) -> bool {
        self.next.load(Order::RELAXED) != cx.position().wrapping_add(1)
    }
}

// SAFETY: afterwards the next position is the one after the holder's, not yet
// granted, or the lock is as new.
unsafe impl<const SLOTS: usize, P: Parking> Inherit for Anderson<SLOTS, P> {
    unsafe fn inherit(&self, holder: Option<&AndersonContext>) {
        if let Some(cx) = holder {
            self.next
                .store(cx.position().wrapping_add(1), Order::RELAXED);
        } else {
            self.next.store(0, Order::RELAXED);
            for slot in &self.slots {
                slot.0.reset(0);
            }
        }
    }
}
