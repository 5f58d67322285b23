//! Checks of `sanl+`: in most of them threads share a bus, of two seats, from the beginning.

use crate::runner::prelude::*;

type Riding = SanlPlus<MayPark, 2, 0, true, 1, 2>;

impl Checked for SanlPlus {
    type Smallest = Riding;
    const STANDARD: Standard = Standard {
        preemptions: 1,
        ..ALL
    };
}

models![
    quick("sanl_plus::alone", PARK, || {
        delegate::runs::<SanlPlus<MayPark, 2, 0, false, 1, 1>>(2, 2, 0)
    }),
    quick("sanl_plus::begins", PARK_1, || {
        delegate::runs::<SanlPlus<MayPark, 1, 0, false, 1, 2>>(3, 2, 0)
    }),
    quick("sanl_plus::mixes", PARK, || delegate::mixes::<Riding>(2)),
    quick("sanl_plus::panics", PARK, || delegate::panics::<Riding>(2)),
    quick("sanl_plus::places_inside", PARK_1, || {
        delegate::serves_nobody_inside::<SanlPlus<MayPark, 2, 0, false, 1, 1>>(2)
    }),
    quick("sanl_plus::unlocks", PARK, || {
        delegate::unlocks_in_order_of_locking(2)
    }),
    quick("sanl_plus::timed_again", TICKING, || {
        delegate::lets_go::<SanlPlus<MayPark, 2, 0, false, 1, 1>>(2, 2, 1, 0)
    }),
    quick("sanl_plus::timed_and_takes", TICKING_1, || {
        delegate::lets_go::<Riding>(3, 1, 1, 1)
    }),
    quick("sanl_plus::left_inside", TICKING, || {
        delegate::goes_on_past_one_that_left::<SanlPlus<MayPark, 2, 0, false, 1, 1>>()
    }),
    deep("sanl_plus::mixes_three", PARK_1, || {
        delegate::mixes::<Riding>(3)
    }),
];

on_machine! {
    _ => [
        few("sanl_plus_rides"),
        few("sanl_plus_mixes"),
        few("sanl_plus_is_inside"),
        few("sanl_plus_unlocks"),
    ];
}
