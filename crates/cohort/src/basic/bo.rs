//! `bo`: `ttas` with truncated binary exponential backoff.  The next pause is drawn at random below
//! a bound, and each failed look doubles the bound up to a maximum (Agarwal and Cherian; Dice et
//! al. 2015 §3.3 and §6).
//!
//! **Not for** latency: the longest waiter looks most rarely, so new arrivals and the last holder's
//! neighbours win.  A released lock stays free until a pause ends (Dice et al. 2015 §6).  In
//! return, there are few migrations.
//!
//! The word is a [`Flag`]; its table lists the writers.

use crate::door::{constructor, cpus, mutant, policies, random};
use crate::wait::{Backoff, Flag, MayPark, Parking};
use cohort_raw::{
    Abortable, BoundedAbort, Inherit, Outcome, Patience, Quick, QuickRelease, RawLock, RawTry,
    ThreadOblivious, standalone,
};

policies! {
    /// The bound of a waiter's pauses never grows.
    LOOK_OFTEN = "bo.look-often";
}

/// The lock; all zero when new.
///
/// ```
/// use cohort::{Mutex, basic::Bo};
///
/// static TOTAL: Mutex<u64, Bo> = Mutex::from_raw(Bo::new(), 1);
/// *TOTAL.lock() += 1;
/// assert_eq!(*TOTAL.lock(), 2);
/// ```
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Bo<P: Parking = MayPark> {
    flag: Flag<P>,
}

impl<P: Parking> Bo<P> {
    constructor! {
        /// A free lock.
        #[must_use]
        pub fn new() -> Self {
            Self {
                flag: Flag::new(),
            }
        }
    }
}

/// Random pauses below a bound, in nanoseconds, that doubles with each failed look.
#[derive(Clone, Copy, Debug)]
pub struct Pauses {
    /// The first bound; at least 1.
    pub first: u64,
    /// The largest bound; at least the first.
    pub most: u64,
}

impl Backoff for Pauses {
    const LOOKS_FIRST: bool = true;

    fn pause(&mut self) -> u64 {
        let bound = self.first;
        if !mutant(policy::LOOK_OFTEN) {
            self.first = (2 * bound).min(self.most);
        }
        random() % bound
    }
}

/// The first bound: about the cost of a look at another CPU's line, in nanoseconds.
const FIRST: u64 = 100;

/// The most doublings: beyond 12.8 µs the lock would stay free for longer than most sections take.
const DOUBLINGS: u32 = 7;

/// The bound doubles once for each other CPU that this process may use, and at least once.  On few
/// CPUs there are few concurrent looks, and a long pause only leaves the lock free.  Measured on
/// two CPUs, and on simulated machines.
pub(crate) fn pauses() -> Pauses {
    let others = cpus().max(2) - 1;
    Pauses {
        first: FIRST,
        most: FIRST << others.min(DOUBLINGS),
    }
}

// SAFETY: the flag is taken by one thread at a time, which sees what the last one did
// before it released.
unsafe impl<P: Parking> RawLock for Bo<P> {
    type Context = ();

    #[inline]
    unsafe fn acquire(&self, (): &()) {
        if !self.flag.look_and_take() {
            let _ = self.flag.take_within(pauses(), &Patience::ENDLESS);
        }
    }

    #[inline]
    unsafe fn release(&self, (): &()) {
        self.flag.release();
    }

    #[inline]
    fn is_locked(&self) -> bool {
        self.flag.is_held()
    }
}

standalone!([P: Parking] Bo<P>: Hosted { strict: false, grants: false }, HighLock, Resumable);

// SAFETY: the flag is lowered as by a release, or nothing changes.
unsafe impl<P: Parking> QuickRelease for Bo<P> {
    #[inline(always)]
    unsafe fn release_quickly(&self, (): &()) -> Quick {
        self.flag.release_quickly()
    }

    fn wake_everybody(place: *const Self) {
        Flag::<P>::wake_everybody(place.cast());
    }
}

// SAFETY: as `acquire`.
unsafe impl<P: Parking> RawTry for Bo<P> {
    #[inline]
    unsafe fn try_acquire(&self, (): &()) -> bool {
        self.flag.look_and_take()
    }
}

// SAFETY: a waiter that gives up has not taken the flag, and passes on a wake-up it got.
unsafe impl<P: Parking> Abortable for Bo<P> {
    #[inline]
    unsafe fn acquire_within(&self, (): &(), patience: &Patience) -> Outcome {
        if self.flag.look_and_take() {
            return Outcome::Acquired;
        }
        self.flag.take_within(pauses(), patience)
    }
}

// SAFETY: giving up is one read-modify-write at most.
unsafe impl<P: Parking> BoundedAbort for Bo<P> {}

// SAFETY: release reads and writes the lock alone.
unsafe impl<P: Parking> ThreadOblivious for Bo<P> {}

// SAFETY: waiters leave only a mark, which is erased.
unsafe impl<P: Parking> Inherit for Bo<P> {
    unsafe fn inherit(&self, holder: Option<&()>) {
        self.flag.reset(holder.is_some());
    }
}
