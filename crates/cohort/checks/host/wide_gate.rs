//! Checks of the admission gate for arrivals from many CPUs.

use crate::runner::prelude::*;

models![
    // Threads are counted by an addition, which may overshoot.
    lighter("wide_gate::three", PARK, || {
        gate::lets_in_all_arrivals(3)
    }),
    lighter("wide_gate::four", PARK_1, || {
        gate::lets_in_all_arrivals(4)
    }),
    // Two admitted threads leave at once while two are parked.
    lighter(
        "wide_gate::two_leave",
        PARK,
        gate::wide_lets_all_in_when_two_leave
    ),
];

on_machine! {
    _ => [
        || gate::lets_in_all_arrivals(4),
        gate::wide_lets_all_in_when_two_leave,
        || mutex::excludes::<FutexHmcs>(6, 4, 0),
    ];
}
