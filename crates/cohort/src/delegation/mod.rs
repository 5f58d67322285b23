//! Delegation locks: a thread sends its critical section to the thread that already runs sections
//! and has the data in its cache (Zhang et al. 2017 §2.2). One file each, under their papers'
//! names.
//!
//! [`p_sim`] is no delegation lock: it applies operations to copies of the data, and is wait-free.
//!
//! `request` passes a section and its answer; `told` does so in a queue. `roster` registers the
//! threads. `thin` makes each of them a lock of 16 bytes until two threads meet.
//!
//! **Drop.** In its section, a thread may find by a count in the data that it is the last user. It
//! may drop the lock and free its memory as soon as the section has run. The thread that ran the
//! section may still use the lock then; so may threads whose sections ran before and which are
//! about to return. Each drop waits for them; they wait for no other thread.

pub mod cc_synch;
pub mod fc;
pub mod h_synch;
pub mod oyama;
pub mod p_sim;
pub mod qd;
pub mod rcl;
#[cfg(internals)]
pub mod request;
#[cfg(not(internals))]
mod request;
#[cfg(internals)]
pub mod roster;
#[cfg(not(internals))]
mod roster;
pub mod sanl;
pub mod sanl_plus;
mod serving;
#[cfg(internals)]
pub mod thin;
#[cfg(internals)]
pub mod told;
#[cfg(not(internals))]
mod told;

pub use cc_synch::CcSynch;
pub use fc::Fc;
pub use h_synch::HSynch;
pub use oyama::Oyama;
pub use p_sim::PSim;
pub use qd::Qd;
pub use rcl::Rcl;
pub use sanl::{Sanl, SanlDistanceFirst, SanlFlat};
pub use sanl_plus::SanlPlus;

use crate::door::{Flaw, Tallied, mutant, tally, tally_moment, thread};
use crate::support::context::Kept;
use cohort_raw::{Delegate, RawLock, RawTry, Section};
use core::fmt;
use core::mem::ManuallyDrop;

/// Bytes of all memory that these locks have taken for their threads; it is kept.
#[must_use]
pub fn pool_bytes() -> usize {
    cc_synch::pool_bytes() + fc::pool_bytes() + sanl::pool_bytes() + sanl_plus::pool_bytes()
}

/// The thresholds of `sanl` in this process's environment, else the usual ones.
///
/// `cohort run --config` passes the thresholds that `cohort tune sanl` finds for a machine, as
/// `COHORT_SANL`.
///
/// ```
/// use cohort::delegation::{Sanl, configured};
/// use cohort::{Delegated, Tunable};
///
/// let total: Delegated<u64, Sanl> = Delegated::with_lock(0, Sanl::with(&configured()));
/// assert_eq!(total.run(|total| *total), 0);
/// ```
#[cfg(feature = "std")]
#[must_use]
pub fn configured() -> cohort_raw::Thresholds {
    extern crate std;

    use cohort_raw::Thresholds;

    let Some(told) = std::env::var_os("COHORT_SANL").filter(|told| !told.is_empty()) else {
        return Thresholds::USUAL;
    };
    let read = told.to_str().and_then(Thresholds::read);
    read.unwrap_or_else(|| {
        let told = told.display();
        std::eprintln!("cohort: COHORT_SANL={told} is no list of thresholds; using the usual ones");
        Thresholds::USUAL
    })
}

/// Runs a section of a delegate.
///
/// # Safety
/// As [`Section::run`].
#[inline]
unsafe fn run(section: Section<'_>) {
    // SAFETY: the caller's.
    inside(|| unsafe { section.run() });
}

/// Runs `section`, which counts as one of the calling thread. Looks the thread up once: in a
/// library with dynamic thread-local storage that is a call.
#[inline(always)]
fn inside(section: impl FnOnce()) {
    let inside = &thread().inside;
    inside.set(inside.get() + 1);
    section();
    inside.set(inside.get() - 1);
}

/// Counts the calling thread into one more section, of any delegate.
#[inline]
fn enter() {
    let inside = &thread().inside;
    inside.set(inside.get() + 1);
}

/// Counts the calling thread out of a section.
#[inline]
fn leave() {
    let inside = &thread().inside;
    inside.set(inside.get() - 1);
}

/// Returns whether the calling thread may run sections of other threads. Inside a section it may
/// not: they would wait for its further steps, and it for them. `unless` is the flaw that omits
/// this check in one place.
#[inline]
pub(crate) fn may_serve(unless: Flaw) -> bool {
    thread().inside.get() == 0 || mutant(unless)
}

/// Runs `does`; in builds that count, counts it and its duration.
#[inline(always)]
fn timed<R>(what: Tallied, takes: Tallied, does: impl FnOnce() -> R) -> R {
    let moment = tally_moment();
    let done = does();
    tally(what, 1);
    tally(takes, tally_moment() - moment);
    done
}

/// A delegate that a thread can hold across calls, so that a section in place can let others run in
/// its middle.
///
/// # Safety
/// A turn excludes the other turns and all sections, and everything in one happens before
/// everything in the next.
///
/// ```
/// use cohort::delegation::{CcSynch, StepsDown};
///
/// fn twice<D: StepsDown>(delegate: &D, section: impl Fn(), between: impl FnOnce()) {
///     let turn = delegate.take_turn();
///     section();
///     // SAFETY: of this delegate, taken by this thread.
///     unsafe { delegate.end_turn(turn) };
///     between();
///     let turn = delegate.take_turn();
///     section();
///     // SAFETY: as above.
///     unsafe { delegate.end_turn(turn) };
/// }
/// twice(&CcSynch::<cohort::MayPark>::default(), || (), || ());
/// ```
pub unsafe trait StepsDown: Delegate {
    /// A turn.
    type Turn;

    /// Blocks until it is the calling thread's turn.
    fn take_turn(&self) -> Self::Turn;

    /// Ends a turn. First runs the sections published by other threads, if the delegate runs them
    /// in their stead.
    ///
    /// # Safety
    /// The turn is of this delegate, and was taken by the calling thread.
    unsafe fn end_turn(&self, turn: Self::Turn);
}

/// A delegate with turns that a thread can try to take.
///
/// # Safety
/// As [`StepsDown`].
///
/// ```
/// use cohort::delegation::{CcSynch, StepsDown, TriesTurn};
///
/// let delegate = CcSynch::<cohort::MayPark>::default();
/// let turn = delegate.try_turn().expect("it is free");
/// assert!(delegate.try_turn().is_none());
/// // SAFETY: of this delegate, taken by this thread.
/// unsafe { delegate.end_turn(turn) };
/// ```
pub unsafe trait TriesTurn: StepsDown {
    /// Takes a turn if no other turn is taken and no section runs; never blocks for them.
    fn try_turn(&self) -> Option<Self::Turn>;
}

/// A turn at a lock. If it is dropped, the lock stays locked, and its queue may still contain the
/// context: the block leaks.
#[must_use]
pub struct Held<L: RawLock>(ManuallyDrop<Kept<L>>);

impl<L: RawLock> fmt::Debug for Held<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Held").finish_non_exhaustive()
    }
}

impl<L: RawLock> Held<L> {
    /// Acquires the lock by `acquire`.
    #[inline(always)]
    fn by(acquire: impl FnOnce(&L::Context)) -> Self {
        // If the lock panics, too.
        let context = ManuallyDrop::new(Kept::new());
        acquire(context.get());
        Self(context)
    }

    /// Acquires the lock by `acquire`, which returns whether it did.
    #[inline(always)]
    fn by_trying(acquire: impl FnOnce(&L::Context) -> bool) -> Option<Self> {
        let context = ManuallyDrop::new(Kept::new());
        if acquire(context.get()) {
            return Some(Self(context));
        }
        drop(ManuallyDrop::into_inner(context));
        None
    }

    /// Releases the lock by `release`.
    #[inline(always)]
    fn end(self, release: impl FnOnce(&L::Context)) {
        release(self.0.get());
        drop(ManuallyDrop::into_inner(self.0));
    }
}

// SAFETY: a lock excludes and orders its holders.
unsafe impl<L: RawLock> StepsDown for L {
    type Turn = Held<L>;

    fn take_turn(&self) -> Held<L> {
        // SAFETY: a new context in a block, which stays until the release.
        Held::by(|context| unsafe { self.acquire(context) })
    }

    unsafe fn end_turn(&self, turn: Held<L>) {
        // SAFETY: the caller's.
        turn.end(|context| unsafe { self.release(context) });
    }
}

// SAFETY: as above.
unsafe impl<L: RawTry> TriesTurn for L {
    fn try_turn(&self) -> Option<Held<L>> {
        // SAFETY: as above.
        Held::by_trying(|context| unsafe { self.try_acquire(context) })
    }
}

/// A delegate compiled in two forms, like a lock of [`TwoForms`](cohort_raw::TwoForms).
pub trait InTwoForms: Delegate {
    /// The form without sleeping.
    type Spinning: Delegate;
}

#[cfg(test)]
mod tests {
    use super::{Held, Sanl, StepsDown};
    use crate::basic::Mcs;
    use core::ptr;

    /// The address of the context of a turn.
    fn context(turn: &Held<Mcs>) -> usize {
        ptr::from_ref(turn.0.get()).addr()
    }

    #[test]
    fn the_context_of_a_forgotten_turn_is_never_used_again() {
        let forget = || {
            let lock: Mcs = Mcs::default();
            context(&lock.take_turn())
        };
        let forgotten: [usize; 8] = core::array::from_fn(|_| forget());
        // As a part of another delegate's turn, too.
        let other: Sanl = Sanl::default();
        drop(other.lock());
        let lock: Mcs = Mcs::default();
        let turn = lock.take_turn();
        assert!(!forgotten.contains(&context(&turn)));
        // SAFETY: of this lock, taken by this thread.
        unsafe { lock.end_turn(turn) };
        for (place, one) in forgotten.iter().enumerate() {
            assert!(!forgotten[..place].contains(one));
        }
    }
}
