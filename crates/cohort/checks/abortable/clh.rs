//! Checks of the low lock of `a-c-bo-clh`.

use super::bo::OneCohort;
use crate::runner::prelude::*;

looked_for_in!["a_clh::", "a_c_bo_clh::"];

models![
    // In this form releases are exchanges. With a racing plain store, loom lets the last look see a
    // follower's exchange instead, which no machine does.
    quick("a_clh::two_let_go", SPIN, || {
        mutex::lets_go::<AClh<MayPark>>(3, 1, 2);
    }),
    quick("a_clh::lets_go", PARK, || {
        mutex::lets_go::<AClh<MayPark>>(3, 1, 1);
    }),
    quick("a_clh::again", PARK, || {
        mutex::excludes::<AClh<MayPark>>(2, 2, 0);
    }),
    quick("a_clh::try", SPIN, || {
        mutex::excludes::<AClh<MayPark>>(3, 1, 2);
    }),
    quick("a_clh::lets_go_later", SPIN_LATER_1, || {
        mutex::lets_go::<AClh<MayPark>>(3, 1, 1);
    }),
    quick(
        "a_clh::leaves_what_is_handed_over_later",
        SPIN_LATER,
        || {
            mutex::lets_go::<OneCohort<AClh<MayPark>>>(2, 1, 1);
        }
    ),
    quick("a_clh::leaves_what_is_handed_over", SPIN_5, || {
        mutex::lets_go::<OneCohort<AClh<MayPark>>>(2, 1, 1);
    }),
];

on_machine! {
    _ => [few("a_c_bo_clh_lets_go")];
}
