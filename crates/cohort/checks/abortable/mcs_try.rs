//! Checks of `mcs-try`.

use crate::runner::prelude::*;

impl Checked for McsTry {
    type Smallest = Self;
    const STANDARD: Standard = Standard {
        preemptions: 2,
        ..ALL
    };
}

looked_for_in!["mcs_try::"];

models![
    quick("mcs_try::two_let_go", SPIN_1, || {
        mutex::lets_go::<McsTry<SpinOnly>>(3, 1, 2);
    }),
    quick("mcs_try::two_let_go_asleep", PARK_1, || {
        mutex::lets_go::<McsTry<MayPark>>(3, 1, 2);
    }),
    quick("mcs_try::all_let_go", SPIN_1, || {
        mutex::all_let_go::<McsTry<SpinOnly>>(3);
    }),
    quick("mcs_try::lets_go_again", SPIN, || {
        mutex::lets_go::<McsTry<SpinOnly>>(2, 2, 1);
    }),
    lighter(
        "mcs_try::leaves_twice",
        SPIN_1,
        mutex::leaves_twice::<McsTry<SpinOnly>>
    ),
    quick(
        "mcs_try::comes_back_meanwhile",
        SPIN_1,
        mutex::comes_back_meanwhile::<McsTry<SpinOnly>>
    ),
    quick(
        "mcs_try::is_passed_over",
        SPIN_1,
        mutex::passes_over::<McsTry<SpinOnly>>
    ),
    quick("mcs_try::comes_back", PARK, || {
        mutex::comes_back::<McsTry<MayPark>>(2, 1, false);
    }),
    quick("mcs_try::another_comes", SPIN_1, || {
        mutex::comes_back::<McsTry<SpinOnly>>(3, 1, true);
    }),
    quick("mcs_try::granted_as_it_leaves", PARK, || {
        mutex::is_cancelled_or_granted::<McsTry<MayPark>>(2, false);
    }),
];

on_machine! {
    _ => [
        few("mcs_try_lets_go"),
        few("mcs_try_comes_back"),
        few("mcs_try_leaves_twice"),
        few("mcs_try_comes_back_meanwhile"),
    ];
}
