//! The cost of displacing a counter, measured occasionally.
//!
//! A thread that locks ever different locks displaces its counters each time. That takes long
//! enough to measure single displacements.

use super::own::Own;
use super::samples::{has_room, put, watch_of};
use cohort::door::now;
use cohort::records::{Drawn, TurnOver};

/// One in this many displacements of a thread's counters is timed; more at the beginning.
const TURN_OVERS: u64 = 1024;

/// Whether the thread's displacement of that number is measured.
#[inline(always)]
pub fn is_measured(number: u64) -> bool {
    number.is_power_of_two() || number.is_multiple_of(TURN_OVERS)
}

/// Measures a displacement.
#[cold]
#[inline(never)]
pub fn measure(own: &Own, number: u64, turn_over: impl FnOnce()) {
    let began = now();
    // The difference between two adjacent reads is the cost of a read.
    let goes = now();
    turn_over();
    let ended = now();
    // Each measurement represents the displacements since the one before.
    let of = if number < TURN_OVERS {
        number.div_ceil(2)
    } else {
        TURN_OVERS
    };
    if has_room(own) {
        let turn_over = TurnOver {
            spent: (ended - goes) as u32,
            read: (goes - began) as u32,
            of: of as u32,
            watch: watch_of(own),
        };
        let _ = put(own, Drawn::TurnOver(turn_over));
    }
}
