//! Topology: what the program's platform says.

use super::super::Level;
use super::super::cohorts::{self, Mistake};

pub use super::calls::{cohort, distance};

/// How many cache groups threads of this program have been seen in: not counted.
#[inline(always)]
#[must_use]
pub const fn cache_groups() -> usize {
    1
}

/// The CPU of the caller: unknown.
#[inline(always)]
#[must_use]
pub const fn cpu() -> u32 {
    0
}

/// The lowest CPU of a CPU's cohort at that level.
#[must_use]
pub const fn lowest_of(_level: Level, _cpu: usize) -> usize {
    0
}

/// Reads other cohorts, as natively, and ignores them: the platform decides.
///
/// # Errors
/// The text's first mistake.
pub fn set_cohorts(text: &str) -> Result<(), Mistake> {
    cohorts::read(text, &mut |_, _, _| {})
}
