//! Counters of delegation locks.

use super::super::Tallied;
use cohort_machine::door;

/// Counts an event, at no cost.
pub fn tally(what: Tallied, times: u64) {
    door::tally(what.name(), times);
}

/// Counts the changes of an object's state, initially false, at no cost.
pub fn tally_state(what: Tallied, of: usize, state: bool) {
    door::tally_state(what.name(), of, state);
}

/// Nanoseconds on the clock, at no cost.
#[must_use]
pub fn tally_moment() -> u64 {
    door::moment()
}
