//! `bo`: `ttas` whose waiters look the more rarely the longer they have waited: each
//! look in vain doubles the bound, up to a largest one, below which the next pause is
//! drawn at random (truncated binary exponential backoff; Agarwal and Cherian; 000 §3.3
//! and §6).
//!
//! **Not for** anybody who minds waiting: who has waited longest looks most rarely, so
//! newcomers and the last holder's neighbours win, and a lock that has become free
//! stays so until somebody's pause ends (000 §6).  What it gives for that is few
//! migrations.
//!
//! The word is a [`Flag`]; its table says who writes what.

use crate::door::random;
use crate::wait::{Flag, Manner, MayPark, Parking};
use cohort_raw::{
    Abortable, BoundedAbort, Inherit, Outcome, Patience, Quick, RawLock, RawTry, ThreadOblivious,
};

/// The lock; all zero when new.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Bo<P: Parking = MayPark> {
    flag: Flag<P>,
}

/// The first bound: about what a look at another CPU's line costs.
const FIRST_NANOSECONDS: u64 = 100;

/// The largest: seven doublings later, beyond which the lock would stand free for
/// longer than most sections take.
const LARGEST_NANOSECONDS: u64 = 12_800;

/// Waiters pause for longer and longer.
struct Backoff {
    bound: u64,
}

impl Manner for Backoff {
    const LOOKS_FIRST: bool = true;

    fn pause(&mut self) -> u64 {
        let bound = self.bound;
        self.bound = (2 * bound).min(LARGEST_NANOSECONDS);
        random() % bound
    }
}

// SAFETY: the flag is taken by one thread at a time, which sees what the last one did
// before it released.
unsafe impl<P: Parking> RawLock for Bo<P> {
    type Context = ();

    const STRICT: bool = false;

    #[inline]
    fn acquire(&self, (): &()) {
        if !self.try_acquire(&()) {
            let _ = self.flag.take_within(
                Backoff {
                    bound: FIRST_NANOSECONDS,
                },
                &Patience::ENDLESS,
            );
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
    fn try_acquire(&self, (): &()) -> bool {
        !self.flag.is_held() && self.flag.take()
    }
}

// SAFETY: who gives up has not taken the flag, and passes on a wake-up it got.
unsafe impl<P: Parking> Abortable for Bo<P> {
    #[inline]
    fn acquire_within(&self, (): &(), patience: &Patience) -> Outcome {
        if self.try_acquire(&()) {
            return Outcome::Acquired;
        }
        self.flag.take_within(
            Backoff {
                bound: FIRST_NANOSECONDS,
            },
            patience,
        )
    }
}

// SAFETY: giving up is one read-modify-write at most.
unsafe impl<P: Parking> BoundedAbort for Bo<P> {}

// SAFETY: release reads and writes the lock alone.
unsafe impl<P: Parking> ThreadOblivious for Bo<P> {}

// SAFETY: waiters leave a mark only, and that is wiped out.
unsafe impl<P: Parking> Inherit for Bo<P> {
    const GRANTS: bool = false;

    unsafe fn inherit(&self, holder: Option<&()>) {
        self.flag.reset(holder.is_some());
    }
}
