//! The names of locks.

use super::nearest::Nearest;
use super::words::SYSTEM_LOCKS;
use crate::list::{self, cut};

/// The lock names of a build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Catalogue {
    /// A line for each lock: its printed name, then its other accepted names.
    pub names: &'static str,
    /// The printed names of cohort locks, a line each: they have a bound.
    pub cohort_locks: &'static str,
    /// The same of the abortable ones.
    pub abortable_cohort_locks: &'static str,
}

impl Catalogue {
    /// The index of the lock of that name in the catalogue.
    #[must_use]
    pub fn place(&self, name: &str) -> Option<usize> {
        list::place(self.names, name)
    }

    /// The printed name of the catalogue's lock at that index.
    #[must_use]
    pub fn name(&self, place: usize) -> Option<&'static str> {
        list::printed(self.names, place)
    }

    /// All names of the catalogue's lock at that index, separated by blanks.
    pub(super) fn line(&self, place: usize) -> Option<&'static str> {
        self.names.lines().nth(place)
    }

    pub(super) fn is_cohort_lock(&self, name: &str) -> bool {
        list::place(self.cohort_locks, name).is_some()
    }

    pub(super) fn is_abortable_cohort_lock(&self, name: &str) -> bool {
        list::place(self.abortable_cohort_locks, name).is_some()
    }

    /// Printed names close to a word, the closest first.
    pub(super) fn nearest(&self, word: &str) -> Nearest<'static> {
        let mut nearest = Nearest::new();
        for line in self.names.lines() {
            let printed = cut(line, b' ').0;
            for accepted in line.split(' ') {
                nearest.consider(word, accepted, printed);
            }
        }
        for accepted in SYSTEM_LOCKS {
            nearest.consider(word, accepted, SYSTEM_LOCKS[0]);
        }
        nearest
    }
}
