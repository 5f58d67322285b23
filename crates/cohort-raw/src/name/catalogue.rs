//! The names that locks have.

use super::nearest::Nearest;
use super::words::SYSTEM_LOCKS;
use crate::list::{self, cut};

/// The names that a build of the locks has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Catalogue {
    /// A line for each lock: its printed name, and behind it other names that are accepted.
    pub names: &'static str,
    /// The printed names of cohort locks, a line each: their bound can be set.
    pub cohort_locks: &'static str,
    /// The same of those whose waiters can give up.
    pub abortable_cohort_locks: &'static str,
}

impl Catalogue {
    /// Where in the catalogue the lock of that name is.
    #[must_use]
    pub fn place(&self, name: &str) -> Option<usize> {
        list::place(self.names, name)
    }

    /// The printed name of the lock at that place of the catalogue.
    #[must_use]
    pub fn name(&self, place: usize) -> Option<&'static str> {
        list::printed(self.names, place)
    }

    /// All names of the lock at that place of the catalogue, with blanks between them.
    pub(super) fn line(&self, place: usize) -> Option<&'static str> {
        self.names.lines().nth(place)
    }

    pub(super) fn is_cohort_lock(&self, name: &str) -> bool {
        list::place(self.cohort_locks, name).is_some()
    }

    pub(super) fn is_abortable_cohort_lock(&self, name: &str) -> bool {
        list::place(self.abortable_cohort_locks, name).is_some()
    }

    /// Printed names that are close to a word, the closest first.
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
