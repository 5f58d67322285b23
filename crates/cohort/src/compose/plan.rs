//! The decisions about a composition that are made at run time.

use crate::abortable::{AClh, clh};
use crate::basic::{Bo, Clh, Hemlock, Mcs, Ptl, Tas, Ticket, Ttas};
use crate::host::Served;
use crate::numa::{HmcsT1, Near, hmcs_t};
use crate::wait::Parking;
use cohort_raw::recipe::{Basic, Bound, Level, Recipe};
use cohort_raw::{Abortable, RawLock};

/// How a composition is made.
///
/// ```
/// use cohort::compose::{Any, Chosen, Clof, Composed, Plan};
/// use cohort::recipe::{Basic, Level};
/// use cohort::Mutex;
///
/// // The parts of this composition are chosen at run time.
/// let plan = Plan { locks: &[Basic::Mcs, Basic::Ticket], levels: &[Level::Numa], bound: None };
/// type Two = Clof<Any, Any, Chosen>;
/// let total: Mutex<u64, Two> = Mutex::from_raw(Two::planned(&plan), 1);
/// total.locking(|total| *total += 1);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Plan<'a> {
    /// Its basic locks, smallest cohort first, if its type leaves that open.
    pub locks: &'a [Basic],
    /// The levels of its locks except the top one, smallest cohort first, where the type says
    /// [`Chosen`](super::Chosen).
    pub levels: &'a [Level],
    /// The bound at each level; the type's if `None`.
    pub bound: Option<Bound>,
}

impl<'a> Plan<'a> {
    /// The plans for the lowest level and for the others.
    pub(super) fn split(&self) -> (Self, Self) {
        let at = self.levels.len().min(1);
        let (low, high) = self.levels.split_at(at);
        let part = |levels: &'a [Level]| Self {
            locks: self.locks,
            levels,
            bound: self.bound,
        };
        (part(low), part(high))
    }
}

impl<'a> From<&'a Recipe> for Plan<'a> {
    fn from(recipe: &'a Recipe) -> Self {
        Self {
            locks: recipe.locks(),
            levels: recipe.levels(),
            bound: Some(*recipe.bound()),
        }
    }
}

/// A lock that a plan can make and whose top is accessible; a basic lock ignores the plan, and is
/// its own top.
///
/// # Safety
/// Compositions exclude by it: no acquisition of the lock returns while its [top](Self::top) is
/// held directly, and the top is always the same part of the lock.
pub unsafe trait Composed: RawLock {
    /// The lock that all cohorts share.
    type Top: RawLock;

    /// The lock, free.
    #[must_use]
    fn planned(plan: &Plan<'_>) -> Self;

    /// As [`planned`](Self::planned), made at `place`: a composition may be larger than a thread's
    /// stack.
    ///
    /// # Safety
    /// The place is valid for writes, and unused.
    unsafe fn plan_at(place: *mut Self, plan: &Plan<'_>) {
        // SAFETY: the caller's.
        unsafe { place.write(Self::planned(plan)) };
    }

    /// The lock that all cohorts share.
    fn top(&self) -> &Self::Top;
}

/// A composition that hosts can serve, as well as its top lock.
pub trait Shareable: Served + Composed<Top: Served> {}

impl<L: Served + Composed<Top: Served>> Shareable for L {}

/// Receives the type of a lock that was found by name.
pub trait Visitor {
    /// The result.
    type Found;

    /// Receives the type `L`.
    fn found<L: Shareable>(self) -> Self::Found;
}

/// As [`Visitor`], for locks with waiters that can give up.
pub trait AbortableVisitor {
    /// The result.
    type Found;

    /// Receives the type `L`.
    fn found<L: Shareable + Abortable>(self) -> Self::Found;
}

macro_rules! basic {
    ($([$($generic:tt)*] $lock:ty;)+) => {
        // SAFETY: the top is the lock.
        $(unsafe impl $($generic)* Composed for $lock {
            type Top = Self;

            fn planned(_plan: &Plan<'_>) -> Self {
                Self::default()
            }

            fn top(&self) -> &Self {
                self
            }
        })+
    };
}
basic! {
    [<P: Parking>] Tas<P>;
    [<P: Parking>] Ttas<P>;
    [<P: Parking>] Bo<P>;
    [<P: Parking, const UNIT: u64>] Ticket<P, UNIT>;
    [<P: Parking, const SLOTS: usize>] Ptl<SLOTS, P>;
    [<P: Parking>] Mcs<P>;
    [] Clh;
    [<P: Parking, const CTR: bool>] Hemlock<CTR, P>;
    [<P: Parking, const BOUND: u8>] Near<P, BOUND>;
    [<P: clh::Form>] AClh<P>;
    [<P: hmcs_t::Form>] HmcsT1<P>;
}
