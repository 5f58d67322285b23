//! `ttas`: waiters look at the word, and try to set it once it looks free (test-and-test-and-set;
//! Antić et al. 2016 §2).
//!
//! **Not for** many waiters: all look at one word, and all try when it becomes free, while only one
//! succeeds; nor where starvation is unacceptable.  With few waiters it is better than `tas`, since
//! looks leave the holder undisturbed.
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
/// use cohort::{Mutex, basic::Ttas};
///
/// static TOTAL: Mutex<u64, Ttas> = Mutex::from_raw(Ttas::new(), 1);
/// *TOTAL.lock() += 1;
/// assert_eq!(*TOTAL.lock(), 2);
/// ```
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Ttas<P: Parking = MayPark> {
    flag: Flag<P>,
}

impl<P: Parking> Ttas<P> {
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

/// Waiters look until the word is free.
struct Looking;

impl Backoff for Looking {
    const LOOKS_FIRST: bool = true;
    const HAS_PAUSES: bool = false;

    fn pause(&mut self) -> u64 {
        0
    }
}

// SAFETY: the flag is taken by one thread at a time, which sees what the last one did
// before it released.
unsafe impl<P: Parking> RawLock for Ttas<P> {
    type Context = ();

    #[inline]
    unsafe fn acquire(&self, (): &()) {
        if !self.flag.look_and_take() {
            let _ = self.flag.take_within(Looking, &Patience::ENDLESS);
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

standalone!([P: Parking] Ttas<P>: Hosted { strict: false, grants: false }, HighLock, Resumable);

// SAFETY: the flag is lowered as by a release, or nothing changes.
unsafe impl<P: Parking> QuickRelease for Ttas<P> {
    #[inline(always)]
    unsafe fn release_quickly(&self, (): &()) -> Quick {
        self.flag.release_quickly()
    }

    fn wake_everybody(place: *const Self) {
        Flag::<P>::wake_everybody(place.cast());
    }
}

// SAFETY: as `acquire`.
unsafe impl<P: Parking> RawTry for Ttas<P> {
    #[inline]
    unsafe fn try_acquire(&self, (): &()) -> bool {
        self.flag.look_and_take()
    }
}

// SAFETY: a waiter that gives up has not taken the flag, and passes on a wake-up it got.
unsafe impl<P: Parking> Abortable for Ttas<P> {
    #[inline]
    unsafe fn acquire_within(&self, (): &(), patience: &Patience) -> Outcome {
        if self.flag.look_and_take() {
            return Outcome::Acquired;
        }
        self.flag.take_within(Looking, patience)
    }
}

// SAFETY: giving up is one read-modify-write at most.
unsafe impl<P: Parking> BoundedAbort for Ttas<P> {}

// SAFETY: release reads and writes the lock alone.
unsafe impl<P: Parking> ThreadOblivious for Ttas<P> {}

// SAFETY: waiters leave only a mark, which is erased.
unsafe impl<P: Parking> Inherit for Ttas<P> {
    unsafe fn inherit(&self, holder: Option<&()>) {
        self.flag.reset(holder.is_some());
    }
}
