//! Checks of lock-order edges that are struck out while threads add themselves.

use crate::runner::prelude::*;

models![
    quick("standing::one_of_two", SPIN_5, standing::one_of_two_stays),
    quick("standing::nobody_lost", SPIN_5, standing::nobody_is_lost),
    quick(
        "standing::place_again",
        SPIN_5,
        standing::a_place_is_used_again
    ),
    quick(
        "standing::taken_over",
        SPIN_5,
        standing::a_place_is_taken_over
    ),
    quick("standing::late", SPIN_5, standing::nobody_late_stands),
    quick("standing::of_two", SPIN_5, standing::nothing_is_read_of_two),
];

on_machine! {
    _ => [
        standing::one_of_two_stays,
        standing::nobody_is_lost,
        standing::a_place_is_used_again,
        standing::a_place_is_taken_over,
        standing::nobody_late_stands,
        standing::nothing_is_read_of_two,
    ];
}
