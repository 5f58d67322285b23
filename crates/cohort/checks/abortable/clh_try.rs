//! Checks of `clh-try`.

use crate::runner::prelude::*;

impl Checked for ClhTry {
    type Smallest = Self;
    const STANDARD: Standard = Standard {
        preemptions: 2,
        ..ALL
    };
}

looked_for_in!["clh_try::"];

models![
    quick("clh_try::two_let_go", SPIN_1, || {
        mutex::lets_go::<ClhTry<SpinOnly>>(3, 1, 2);
    }),
    quick("clh_try::two_let_go_asleep", PARK_1, || {
        mutex::lets_go::<ClhTry<MayPark>>(3, 1, 2);
    }),
    quick("clh_try::all_let_go", SPIN_1, || {
        mutex::all_let_go::<ClhTry<SpinOnly>>(3);
    }),
    quick("clh_try::lets_go_again", SPIN, || {
        mutex::lets_go::<ClhTry<SpinOnly>>(2, 2, 1);
    }),
    lighter(
        "clh_try::leaves_twice",
        SPIN_1,
        mutex::leaves_twice::<ClhTry<SpinOnly>>
    ),
    quick(
        "clh_try::comes_back_meanwhile",
        SPIN_1,
        mutex::comes_back_meanwhile::<ClhTry<SpinOnly>>
    ),
    quick(
        "clh_try::is_passed_over",
        SPIN_1,
        mutex::passes_over::<ClhTry<SpinOnly>>
    ),
    quick("clh_try::comes_back", PARK, || {
        mutex::comes_back::<ClhTry<MayPark>>(2, 1, false);
    }),
    quick("clh_try::another_comes", SPIN_1, || {
        mutex::comes_back::<ClhTry<SpinOnly>>(3, 1, true);
    }),
    quick("clh_try::granted_as_it_leaves", PARK, || {
        mutex::is_cancelled_or_granted::<ClhTry<MayPark>>(2, false);
    }),
];

on_machine! {
    _ => [
        few("clh_try_lets_go"),
        few("clh_try_comes_back"),
        few("clh_try_leaves_twice"),
    ];
}
