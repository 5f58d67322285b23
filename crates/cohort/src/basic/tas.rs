//! `tas`: a word that each waiter repeatedly tries to set (test-and-set; Antić et al. 2016 §2;
//! Zhang et al. 2017 call it SL).
//!
//! **Not for** contention: each attempt takes the word's line from the holder, which needs it to
//! release, and a waiter may starve.  It is the minimal lock: one word, one exchange, no order.
//!
//! The word is a [`Flag`]; its table lists the writers.

use crate::door::constructor;
use crate::wait::{Backoff, Flag, MayPark, Parking};
use cohort_raw::{
    Abortable, BoundedAbort, Inherit, Outcome, Patience, Quick, QuickRelease, RawLock, RawTry,
    ThreadOblivious, standalone,
};

/// The lock; all zero when new.
///
/// ```
/// use cohort::{Mutex, basic::Tas};
///
/// static TOTAL: Mutex<u64, Tas> = Mutex::from_raw(Tas::new(), 1);
/// *TOTAL.lock() += 1;
/// assert_eq!(*TOTAL.lock(), 2);
/// ```
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Tas<P: Parking = MayPark> {
    flag: Flag<P>,
}

impl<P: Parking> Tas<P> {
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

/// Waiters try to set the word at every look.
struct Trying;

impl Backoff for Trying {
    const LOOKS_FIRST: bool = false;
    const HAS_PAUSES: bool = false;

    fn pause(&mut self) -> u64 {
        0
    }
}

// SAFETY: the flag is taken by one thread at a time, which sees what the last one did
// before it released.
unsafe impl<P: Parking> RawLock for Tas<P> {
    type Context = ();

    #[inline]
    unsafe fn acquire(&self, (): &()) {
        if !self.flag.take() {
            let _ = self.flag.take_within(Trying, &Patience::ENDLESS);
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

standalone!([P: Parking] Tas<P>: Hosted { strict: false, grants: false }, HighLock, Resumable);

// SAFETY: the flag is lowered as by a release, or nothing changes.
unsafe impl<P: Parking> QuickRelease for Tas<P> {
    #[inline(always)]
    unsafe fn release_quickly(&self, (): &()) -> Quick {
        self.flag.release_quickly()
    }

    fn wake_everybody(place: *const Self) {
        Flag::<P>::wake_everybody(place.cast());
    }
}

// SAFETY: as `acquire`.
unsafe impl<P: Parking> RawTry for Tas<P> {
    #[inline]
    unsafe fn try_acquire(&self, (): &()) -> bool {
        self.flag.take()
    }
}

// SAFETY: a waiter that gives up has not taken the flag, and passes on a wake-up it got.
unsafe impl<P: Parking> Abortable for Tas<P> {
    #[inline]
    unsafe fn acquire_within(&self, (): &(), patience: &Patience) -> Outcome {
        if self.flag.take() {
            return Outcome::Acquired;
        }
        self.flag.take_within(Trying, patience)
    }
}

// SAFETY: giving up is one read-modify-write at most.
unsafe impl<P: Parking> BoundedAbort for Tas<P> {}

// SAFETY: release reads and writes the lock alone.
unsafe impl<P: Parking> ThreadOblivious for Tas<P> {}

// SAFETY: waiters leave only a mark, which is erased.
unsafe impl<P: Parking> Inherit for Tas<P> {
    unsafe fn inherit(&self, holder: Option<&()>) {
        self.flag.reset(holder.is_some());
    }
}
