//! `hbo`: as `bo`, but a waiter whose NUMA node has the lock looks often, and one of
//! another node seldom, so that the lock tends to stay (Radović and Hagersten 2003; Dice et al.
//! 2015 §1, §5.1).  A remote waiter that has waited for long becomes impatient, and looks as often
//! as a near one until it has the lock (Dice et al. 2015 §1.1).
//!
//! **Not for** threads that must not wait long: it is unfair between nodes by intent and within
//! them by nature.  Nor for a load that it was not tuned for (Dice et al. 2015 §5.1.1): how long
//! the pauses should be depends on the machine, the section and the crowd.
//!
//! | field | written by | meaning |
//! |---|---|---|
//! | `flag` | see [`Flag`]'s table | whether the lock is held |
//! | `place` | the holder | the NUMA node that it has the lock for, as a hint: a waiter may see the last one's |
//!
//! The published lock keeps the holder's node in the word that is taken; beside it, on
//! the same line, it costs a store more, and waiters can sleep and give up as those of
//! any [`Flag`].

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

/// How long waiters pause.
pub trait Tuning: Send + Sync + 'static {
    /// While the holder is of the waiter's NUMA node.
    const NEAR: Pauses;
    /// While it is of another.
    const FAR: Pauses;
}

/// Tuned for LBench on the simulated sparc-t5440, 1 to 256 threads alike, and used
/// everywhere, as Dice et al. 2015 §5.1.1 does: of 121 settings none has more than 0.1 % more in
/// the mean.  Shorter pauses near the holder pass the lock on sooner, and those far from it may
/// be long, since it seldom comes.  The example `tune` of `cohort-lab` repeats it.
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

/// Waiters pause for longer and longer, and longer still for a lock that is far away, until the
/// bound of their far pauses is the largest: then they are impatient.
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
    /// Takes the flag if it is free, for that NUMA node.
    #[inline]
    fn take(&self, place: u32) -> bool {
        let taken = self.flag.look_and_take();
        if taken {
            self.place.store(place, Order::RELAXED);
        }
        taken
    }
}

// SAFETY: the flag is taken by one thread at a time, which sees what the last one did
// before it released.
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

// SAFETY: as `acquire`.
unsafe impl<P: Parking, T: Tuning> RawTry for Hbo<P, T> {
    #[inline]
    unsafe fn try_acquire(&self, (): &()) -> bool {
        self.take(here())
    }
}

// SAFETY: a waiter that gives up has not taken the flag, and passes on a wake-up it got.
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

// SAFETY: giving up is one read-modify-write at most.
unsafe impl<P: Parking, T: Tuning> BoundedAbort for Hbo<P, T> {}

// SAFETY: release reads and writes the lock alone.
unsafe impl<P: Parking, T: Tuning> ThreadOblivious for Hbo<P, T> {}

// SAFETY: waiters leave a mark only, and that is wiped out.
unsafe impl<P: Parking, T: Tuning> Inherit for Hbo<P, T> {
    unsafe fn inherit(&self, holder: Option<&()>) {
        self.flag.reset(holder.is_some());
    }
}

impl<P: Parking, T: Tuning> TwoForms for Hbo<P, T> {
    type Spinning = Hbo<SpinOnly, T>;
}
