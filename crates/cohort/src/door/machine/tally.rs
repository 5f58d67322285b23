//! What delegates count of themselves.

use super::super::Tallied;
use cohort_machine::door;

/// Counts something, in no time.
pub fn tally(what: Tallied, times: u64) {
    door::tally(what.name(), times);
}

/// Counts how often a state of that object changes, which is false at first, in no time.
pub fn tally_state(what: Tallied, of: usize, state: bool) {
    door::tally_state(what.name(), of, state);
}

/// Nanoseconds on the clock, asked in no time.
#[must_use]
pub fn tally_moment() -> u64 {
    door::moment()
}
