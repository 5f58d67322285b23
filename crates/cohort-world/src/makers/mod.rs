//! Creates the locks of one build of `cohort`. The world that includes this file, once for each
//! build, names its build `locks`, and keeps the words of a run's composition in `text`.

mod cohort_rw;
pub mod compositions;
mod delegates;
mod in_mode;
mod listed;
mod served;
mod shared;
pub mod trees;

use super::{locks, text};
use crate::served::is_itself;
use crate::{Room, Tested};
use cohort::{Patience, Thresholds};
use std::sync::Arc;

/// A lock that a run needs.
pub struct Wanted<'a> {
    /// Its name.
    pub name: &'a str,
    /// The number of contexts.
    pub threads: usize,
    /// Whether a lock compiled in two forms has the spin-only one.
    pub spins: bool,
    /// Whether it is measured as programs use it, not raw.
    pub served: bool,
    /// The thresholds of a tunable delegate.
    pub thresholds: &'a Thresholds,
}

/// Creates a lock; by `beyond` if its name is not in the catalogue.
pub fn lock<R: Room>(
    room: &mut R,
    wanted: &Wanted<'_>,
    beyond: impl FnOnce(&mut R) -> Option<Arc<dyn Tested>>,
) -> Option<Arc<dyn Tested>> {
    let Wanted {
        name,
        threads,
        spins,
        ..
    } = *wanted;
    if wanted.served && !is_itself(name) {
        return served::make(room, name);
    }
    shared::make(room, name, threads)
        .or_else(|| delegates::make(room, name, threads, spins, wanted.thresholds))
        .or_else(|| in_mode::make(room, name, threads))
        .or_else(|| match locks::catalogue::find(name) {
            Some(info) => listed::make(room, info.identifier, threads, spins),
            None => beyond(room),
        })
}

/// How threads poll under this build: until `look` succeeds, or patience runs out. Blocks.
pub fn poll(look: &mut dyn FnMut() -> bool, patience: &Patience) -> bool {
    let mut spinner = locks::door::Spinner::new();
    loop {
        if look() {
            return true;
        }
        if locks::door::runs_out(patience) {
            return false;
        }
        spinner.turn();
    }
}
