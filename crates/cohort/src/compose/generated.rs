//! All compositions of a few basic locks, up to four levels deep (Chehab et al. 2021 §4.1, §4.3):
//! 340 types, plus 85 with `near` at the top, the only place where it has a preference.  A program
//! contains the named ones; a program that compares them contains all.
//!
//! [`find`] maps names to a type: each level is one step of a recursion that the compiler unfolds.

use super::{Chosen, Clof, Shareable, Visitor};
use crate::basic::{Clh, Hemlock, Mcs, Ticket};
use crate::numa::Near;
use crate::wait::{MayPark, Parking};
use cohort_raw::recipe::{Basic, LEVELS, Locks};
use cohort_raw::{Capability, DetectsWaiters, Fair, HighLock};

/// The number of cohorts of a level with their own low lock; further cohorts share.
pub const COHORTS: usize = 64;

/// A lock for any level of a generated composition.
pub trait Part: Shareable + HighLock + DetectsWaiters + Fair {}

impl<L: Shareable + HighLock + DetectsWaiters + Fair> Part for L {}

/// The capabilities of all of them, which the compiler has checked for [`Part`].
pub const CAPABILITIES: &[Capability] = &[
    Capability::RawTry,
    Capability::ThreadOblivious,
    Capability::DetectsWaiters,
    Capability::Fair,
    Capability::Inherit,
];

/// All combinations of the locks for any level, smallest cohort first, ordered by the number of
/// levels.
pub fn all() -> impl Iterator<Item = Locks> {
    all_of(&Basic::ALL)
}

/// All combinations of those locks.
pub(super) fn all_of(basic: &'static [Basic]) -> impl Iterator<Item = Locks> {
    (1..=LEVELS).flat_map(move |levels| {
        let count = basic.len();
        (0..count.pow(levels as u32)).filter_map(move |number| {
            let mut locks = [Basic::Ticket; LEVELS];
            let mut rest = number;
            for lock in locks[..levels].iter_mut().rev() {
                *lock = basic[rest % count];
                rest /= count;
            }
            Locks::of(&locks[..levels])
        })
    })
}

/// Bytes of the composition of these locks, used raw; `None` if it does not exist.
#[must_use]
pub fn bytes(locks: &[Basic]) -> Option<usize> {
    struct Size;
    impl Visitor for Size {
        type Found = usize;
        fn found<L: Shareable>(self) -> usize {
            size_of::<L>()
        }
    }
    find::<MayPark, _>(locks, Size)
}

/// Calls `visitor` with the composition of these locks, smallest cohort first, in the form with or
/// without sleeping waiters.  `None` without locks, with too many, or if one is not allowed in its
/// place.
pub fn find<P: Parking, V: Visitor>(locks: &[Basic], visitor: V) -> Option<V::Found> {
    let (top, below) = locks.split_last()?;
    match top {
        Basic::Ticket => Three::on::<P, Ticket<P>, V>(below, visitor),
        Basic::Mcs => Three::on::<P, Mcs<P>, V>(below, visitor),
        Basic::Clh => Three::on::<P, Clh, V>(below, visitor),
        Basic::Hemlock => Three::on::<P, Hemlock<false, P>, V>(below, visitor),
        Basic::Near => Three::on::<P, Near<P>, V>(below, visitor),
        Basic::Bo | Basic::K42 | Basic::HemlockCtr => None,
    }
}

/// The levels that may still follow below, counted in types.
trait Below {
    /// Continues below `High`.
    fn on<P: Parking, High: Part, V: Visitor>(locks: &[Basic], visitor: V) -> Option<V::Found>;
}

struct Nothing;
struct More<B>(B);
type Three = More<More<More<Nothing>>>;

impl Below for Nothing {
    fn on<P: Parking, High: Part, V: Visitor>(locks: &[Basic], visitor: V) -> Option<V::Found> {
        locks.is_empty().then(|| visitor.found::<High>())
    }
}

/// `Low` in each cohort, below `High`.
type Step<Low, High> = Clof<Low, High, Chosen, 128, COHORTS>;

impl<B: Below> Below for More<B> {
    fn on<P: Parking, High: Part, V: Visitor>(locks: &[Basic], visitor: V) -> Option<V::Found> {
        let Some((low, below)) = locks.split_last() else {
            return Some(visitor.found::<High>());
        };
        match low {
            Basic::Ticket => B::on::<P, Step<Ticket<P>, High>, V>(below, visitor),
            Basic::Mcs => B::on::<P, Step<Mcs<P>, High>, V>(below, visitor),
            Basic::Clh => B::on::<P, Step<Clh, High>, V>(below, visitor),
            Basic::Hemlock => B::on::<P, Step<Hemlock<false, P>, High>, V>(below, visitor),
            Basic::Near | Basic::Bo | Basic::K42 | Basic::HemlockCtr => None,
        }
    }
}
