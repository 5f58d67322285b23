//! Compositions with refinements that the catalogue lacks: bounds, levels, bypasses.

use super::locks::Abortable;
use super::locks::compose::stacked::{Stacked, Unsaid};
use super::locks::compose::{
    AbortableVisitor, Plan, Shareable, Visitor, WithBypass, abortables, cohorting, generated,
};
use super::locks::wait::{MayPark, SpinOnly};
use crate::raw::{abortable, tried};
use crate::{Room, Tested};
use cohort::name::{Build, BypassPolicy, Lock, Name};
use cohort::recipe::{Basic, Level};
use std::sync::Arc;

/// Creates the lock of that name, over those levels. Where a level `is_large`, a composition is
/// built at run time: compiled ones have a low lock for each of few cohorts.
pub fn make(
    room: &mut dyn Room,
    levels: &[Level],
    name: &Name<'_>,
    threads: usize,
    spins: bool,
    is_large: bool,
) -> Option<Arc<dyn Tested>> {
    let plan = Plan {
        locks: name.locks().unwrap_or_default(),
        levels,
        bound: name.bound,
    };
    let making = Making {
        room,
        plan,
        threads,
    };
    match name.lock {
        Lock::System | Lock::Best { .. } | Lock::Tree(_) => None,
        Lock::Listed { name: lock, .. } if spins => listed::<SpinOnly>(lock, name.bypass, making),
        Lock::Listed { name: lock, .. } => listed::<MayPark>(lock, name.bypass, making),
        // Compiled in one form only: twice as many types would take twice as long to compile.
        Lock::Composed(_) if !spins && (name.abortable || name.build == Some(Build::Compiled)) => {
            None
        }
        Lock::Composed(locks) if name.abortable => abortables::find::<SpinOnly, _>(&locks, making),
        Lock::Composed(locks)
            if name.build == Some(Build::Stacked)
                || is_large && name.build.is_none() && Basic::are_stackable(&locks)
                || !spins
                || !Basic::are_compiled(&locks) =>
        {
            Some(Visitor::found::<Stacked<Unsaid>>(making))
        }
        Lock::Composed(locks) => generated::find::<SpinOnly, _>(&locks, making),
    }
}

/// Creates a cohort lock of the catalogue, with that bypass.
fn listed<P: abortables::Form>(
    lock: &str,
    bypass: Option<BypassPolicy>,
    making: Making<'_>,
) -> Option<Arc<dyn Tested>> {
    if cohorting::gives_up(lock) {
        return cohorting::find_abortable::<P, _>(lock, making);
    }
    match bypass {
        None => cohorting::find::<P, _>(lock, making),
        Some(BypassPolicy::Always) => cohorting::find::<P, _>(lock, WithBypass::<_, false>(making)),
        Some(BypassPolicy::Adaptive) => {
            cohorting::find::<P, _>(lock, WithBypass::<_, true>(making))
        }
    }
}

/// Creates the lock of a type that a search has found.
struct Making<'a> {
    room: &'a mut dyn Room,
    plan: Plan<'a>,
    threads: usize,
}

impl Visitor for Making<'_> {
    type Found = Arc<dyn Tested>;

    fn found<L: Shareable>(self) -> Self::Found {
        let lock = L::planned(&self.plan);
        tried(self.room, lock, self.threads)
    }
}

impl AbortableVisitor for Making<'_> {
    type Found = Arc<dyn Tested>;

    fn found<L: Shareable + Abortable>(self) -> Self::Found {
        let lock = L::planned(&self.plan);
        abortable(self.room, lock, self.threads)
    }
}
