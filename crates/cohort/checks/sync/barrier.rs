//! Checks of barriers.

use crate::runner::prelude::*;

models![
    quick("barrier::park", PARK, || barrier::holds_back(2, 1)),
    quick("barrier::spin", SPIN, || barrier::holds_back(2, 1)),
    quick("barrier::again", PARK_1, || barrier::holds_back(2, 2)),
    lighter("barrier::three", PARK_1, || barrier::holds_back(3, 1)),
];

on_machine! {
    _ => [few("barrier_holds_back")];
}
