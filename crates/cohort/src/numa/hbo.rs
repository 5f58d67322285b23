//! `hbo`: `bo` with short pauses for waiters on the holder's NUMA node and long pauses for others,
//! so that the lock tends to stay on a node (Radović and Hagersten 2003; Dice et al. 2015 §1,
//! §5.1).  A remote waiter that has waited for long becomes impatient, and pauses as briefly as a
//! local one (Dice et al. 2015 §1.1).
//!
//! **Not for** threads with latency bounds: it is unfair between nodes by design, and within them
//! for lack of a queue.  Nor for a load that it was not tuned for (Dice et al. 2015 §5.1.1): the
//! best pauses depend on the machine, the critical section and the contention.
//!
//! | field | written by | meaning |
//! |---|---|---|
//! | `flag` | see [`Flag`]'s table | whether the lock is held |
//! | `place` | the holder | the holder's NUMA node, a hint: a waiter may see the previous one |
//!
//! The published lock keeps the holder's node in the lock word.  Here it is beside the word, on the
//! same line.  This costs one more store, and lets waiters sleep and give up as at any [`Flag`].

pub use crate::basic::bo::Pauses;
use crate::door::{self, AtomicU32, Level, Order, constructor, mutant, policies};
use crate::wait::{Backoff, Flag, MayPark, Parking, SpinOnly};
use cohort_raw::{
    Abortable, BoundedAbort, Inherit, Outcome, Patience, RawLock, RawTry, ThreadOblivious,
    TwoForms, standalone,
};
use core::marker::PhantomData;

policies! {
    /// Remote waiters stay patient, however long they wait.
    STAY_PATIENT = "hbo.stay-patient";
}

/// The pauses of waiters.
pub trait Tuning: Send + Sync + 'static {
    /// While the holder is on the waiter's NUMA node.
    const NEAR: Pauses;
    /// While the holder is on another node.
    const FAR: Pauses;
}

/// The default pauses, used everywhere, as in Dice et al. 2015 §5.1.1.  They were tuned for LBench
/// on the simulated sparc-t5440, with equal weight for 1 to 256 threads.  None of 121 settings has
/// a mean throughput more than 0.1 % higher.  Short pauses on the holder's node speed up its
/// hand-overs.  Remote pauses may be long, since the lock rarely changes nodes.  The example `tune`
/// of `cohort-lab` repeats the tuning.
#[derive(Debug)]
pub struct ForT5440;

impl Tuning for ForT5440 {
    const NEAR: Pauses = Pauses {
        first: 25,
        most: 200,
    };
    const FAR: Pauses = Pauses {
        first: 6_400,
        most: 204_800,
    };
}

/// The lock; all zero when new.
///
/// ```
/// use cohort::{Mutex, numa::Hbo};
///
/// static TOTAL: Mutex<u64, Hbo> = Mutex::from_raw(Hbo::new(), 1);
/// *TOTAL.lock() += 1;
/// assert_eq!(*TOTAL.lock(), 2);
/// ```
#[derive(Debug)]
#[repr(C)]
pub struct Hbo<P: Parking = MayPark, T = ForT5440> {
    flag: Flag<P>,
    place: AtomicU32,
    tuning: PhantomData<fn() -> T>,
}

impl<P: Parking, T> Hbo<P, T> {
    constructor! {
        /// A free lock.
        #[must_use]
        pub fn new() -> Self {
            Self {
                flag: Flag::new(),
                place: AtomicU32::new(0),
                tuning: PhantomData,
            }
        }
    }
}

impl<P: Parking, T> Default for Hbo<P, T> {
    fn default() -> Self {
        Self::new()
    }
}

/// Exponential backoff, longer while the lock is on another node.  A waiter is impatient once the
/// bound of its remote pauses is the largest.
struct ByPlace<'a> {
    holder: &'a AtomicU32,
    own: u32,
    near: Pauses,
    far: Pauses,
}

impl ByPlace<'_> {
    fn is_impatient(&self) -> bool {
        self.far.first >= self.far.most && !mutant(policy::STAY_PATIENT)
    }
}

impl Backoff for ByPlace<'_> {
    const LOOKS_FIRST: bool = true;

    fn pause(&mut self) -> u64 {
        if self.is_impatient() || self.holder.load(Order::RELAXED) == self.own {
            self.near.pause()
        } else {
            self.far.pause()
        }
    }
}

/// The caller's NUMA node.
#[inline]
fn here() -> u32 {
    door::cohort(Level::Numa) as u32
}

impl<P: Parking, T: Tuning> Hbo<P, T> {
    /// Acquires a free flag for that NUMA node.
    #[inline]
    fn take(&self, place: u32) -> bool {
        let taken = self.flag.look_and_take();
        if taken {
            self.place.store(place, Order::RELAXED);
        }
        taken
    }
}

// SAFETY: one thread at a time holds the flag, and sees what the previous holder did before its
// release.
unsafe impl<P: Parking, T: Tuning> RawLock for Hbo<P, T> {
    type Context = ();

    #[inline]
    unsafe fn acquire(&self, (): &()) {
        // SAFETY: the caller's.
        let _ = unsafe { self.acquire_within(&(), &Patience::ENDLESS) };
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

standalone!([P: Parking, T: Tuning] Hbo<P, T>: Hosted { strict: false, grants: false }, HighLock, Resumable);

// SAFETY: as for `acquire`.
unsafe impl<P: Parking, T: Tuning> RawTry for Hbo<P, T> {
    #[inline]
    unsafe fn try_acquire(&self, (): &()) -> bool {
        self.take(here())
    }
}

// SAFETY: a waiter that gives up does not hold the flag, and passes on a wake-up that it received.
unsafe impl<P: Parking, T: Tuning> Abortable for Hbo<P, T> {
    #[inline]
    unsafe fn acquire_within(&self, (): &(), patience: &Patience) -> Outcome {
        let own = here();
        if self.take(own) {
            return Outcome::Acquired;
        }
        let backoff = ByPlace {
            holder: &self.place,
            own,
            near: T::NEAR,
            far: T::FAR,
        };
        let outcome = self.flag.take_within(backoff, patience);
        if outcome == Outcome::Acquired {
            self.place.store(own, Order::RELAXED);
        }
        outcome
    }
}

// SAFETY: giving up takes at most one read-modify-write.
unsafe impl<P: Parking, T: Tuning> BoundedAbort for Hbo<P, T> {}

// SAFETY: release accesses the lock alone.
unsafe impl<P: Parking, T: Tuning> ThreadOblivious for Hbo<P, T> {}

// SAFETY: waiters leave only a mark, which is cleared.
unsafe impl<P: Parking, T: Tuning> Inherit for Hbo<P, T> {
    unsafe fn inherit(&self, holder: Option<&()>) {
        self.flag.reset(holder.is_some());
    }
}

impl<P: Parking, T: Tuning> TwoForms for Hbo<P, T> {
    type Spinning = Hbo<SpinOnly, T>;
}
