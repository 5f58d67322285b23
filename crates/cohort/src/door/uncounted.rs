//! Counters of the simulated machine: elsewhere these do nothing and cost nothing.

use super::{Counter, Tallied};

/// On a simulated machine, counts an event of the calling thread.
#[inline(always)]
pub const fn count(_what: Counter, _times: u64) {}

/// On a simulated machine, counts an event.
#[inline(always)]
pub const fn tally(_what: Tallied, _times: u64) {}

/// On a simulated machine, counts how often a state changes.
#[inline(always)]
pub const fn tally_state(_what: Tallied, _of: usize, _state: bool) {}

/// On a simulated machine, the time, at no cost.
#[inline(always)]
#[must_use]
pub const fn tally_moment() -> u64 {
    0
}
