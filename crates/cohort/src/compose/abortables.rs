//! Compositions with waiters that can give up, by the names of their locks, up to four levels deep
//! (Dice et al. 2015 §3.4): `clof:clh-bo-mcs/abortable`.
//!
//! They consist of `bo`, `clh` and `mcs`: below the top in the form that hands over to a waiter
//! that stays; at the top, that form of `mcs` is one-level `hmcs-t`.  A program contains those of
//! these 120 types that it names; a program that serves any of them contains all.

use super::{AClof, AbortableVisitor, Chosen, Shareable, generated};
use crate::abortable::{ABo, AClh, AMcs, clh};
use crate::basic::Bo;
use crate::numa::{HmcsT1, hmcs_t};
use cohort_raw::Resumable;
use cohort_raw::recipe::{Basic, LEVELS, Locks};

/// All of them, smallest cohort first, ordered by the number of levels.
pub fn all() -> impl Iterator<Item = Locks> {
    generated::all_of(&Basic::ABORTABLE)
}

/// Calls `visitor` with the composition of these locks, smallest cohort first, in the form with or
/// without sleeping waiters.  `None` without locks, with too many, or if one is not allowed in its
/// place.
pub fn find<P: Form, V: AbortableVisitor>(locks: &[Basic], visitor: V) -> Option<V::Found> {
    const { assert!(LEVELS == 4) };
    let (top, below) = locks.split_last()?;
    match top {
        Basic::Bo => Three::on::<P, Bo<P>, V>(below, visitor),
        Basic::Clh => Three::on::<P, AClh<P>, V>(below, visitor),
        Basic::Mcs => Three::on::<P, HmcsT1<P>, V>(below, visitor),
        Basic::Ticket | Basic::Hemlock | Basic::Near | Basic::K42 | Basic::HemlockCtr => None,
    }
}

/// A form that all of them have.
pub trait Form: clh::Form + hmcs_t::Form {}

impl<P: clh::Form + hmcs_t::Form> Form for P {}

/// The levels that may still follow below, counted in types.
trait Below {
    /// Continues below `High`.
    fn on<P: Form, High: Shareable + Resumable, V: AbortableVisitor>(
        locks: &[Basic],
        visitor: V,
    ) -> Option<V::Found>;
}

struct Nothing;
struct More<B>(B);
type Three = More<More<More<Nothing>>>;

impl Below for Nothing {
    fn on<P: Form, High: Shareable + Resumable, V: AbortableVisitor>(
        locks: &[Basic],
        visitor: V,
    ) -> Option<V::Found> {
        locks.is_empty().then(|| visitor.found::<High>())
    }
}

/// `Low` in each cohort, below `High`.
type Step<Low, High> = AClof<Low, High, Chosen, 128, { generated::COHORTS }>;

impl<B: Below> Below for More<B> {
    fn on<P: Form, High: Shareable + Resumable, V: AbortableVisitor>(
        locks: &[Basic],
        visitor: V,
    ) -> Option<V::Found> {
        let Some((low, below)) = locks.split_last() else {
            return Some(visitor.found::<High>());
        };
        match low {
            Basic::Bo => B::on::<P, Step<ABo<P>, High>, V>(below, visitor),
            Basic::Clh => B::on::<P, Step<AClh<P>, High>, V>(below, visitor),
            Basic::Mcs => B::on::<P, Step<AMcs<P>, High>, V>(below, visitor),
            _ => None,
        }
    }
}
