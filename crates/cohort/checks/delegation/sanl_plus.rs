//! Checks of `sanl+`. In most, threads share a batch of two slots from the start; in the others
//! they queue, or start in place.

use crate::locks::delegation::sanl_plus::RIDES;
use crate::runner::prelude::*;

type Riding = SanlPlus<MayPark, 2, 0, RIDES, 1, 2>;

impl Checked for SanlPlus {
    type Smallest = Riding;
    const STANDARD: Standard = Standard {
        preemptions: 1,
        ..ALL
    };
}

models![
    quick("sanl_plus::alone", PARK, || {
        delegate::runs::<Queueing>(2, 2, 0)
    }),
    quick("sanl_plus::begins", PARK_1, || {
        delegate::runs::<SanlPlus<MayPark, 1, 0, QUEUE, 1, 2>>(3, 2, 0)
    }),
    quick("sanl_plus::near_wrap", PARK, || {
        delegate::runs::<RidesFrom<{ u32::MAX }>>(2, 2, 0)
    }),
    quick("sanl_plus::cell_near_wrap", PARK, || {
        delegate::runs::<RidesFrom<CELL>>(2, 2, 0)
    }),
    quick("sanl_plus::destroyed_queueing", PARK, || {
        delegate::is_destroyed::<Queueing>(2, 0)
    }),
    quick("sanl_plus::destroyed_settling", PARK, || {
        delegate::is_destroyed::<Settling>(2, 0)
    }),
    quick("sanl_plus::mixes", PARK, || delegate::mixes::<Riding>(2)),
    quick("sanl_plus::panics", PARK, || delegate::panics::<Riding>(2)),
    quick("sanl_plus::places_inside", PARK_1, || {
        delegate::serves_nobody_inside::<Queueing>(2)
    }),
    quick("sanl_plus::unlocks", PARK, || {
        delegate::unlocks_in_order_of_locking::<Places<QUEUE, Usual>>(2)
    }),
    quick("sanl_plus::meets", PARK, || delegate::runs::<Settling>(
        2, 2, 0
    )),
    quick("sanl_plus::meets_three", PARK_1, || {
        delegate::runs::<Settling>(3, 1, 1)
    }),
    quick("sanl_plus::meets_inside", PARK_1, || {
        delegate::serves_nobody_inside::<Settling>(2)
    }),
    quick("sanl_plus::spin_only_timed", SPIN_LATER, || {
        delegate::lets_go::<Polling>(2, 2, 1, 0)
    }),
    quick("sanl_plus::spin_only_timed_three", SPIN_LATER_1, || {
        delegate::lets_go::<Polling>(3, 1, 1, 0)
    }),
    quick("sanl_plus::spin_only_hurried", SPIN_LATER, || {
        delegate::lets_go::<Polling>(2, 2, 2, 0)
    }),
    quick("sanl_plus::passes", PARK, || delegate::runs::<Passing>(
        2, 2, 0
    )),
    quick("sanl_plus::passes_three", PARK_1, || {
        delegate::runs::<Passing>(3, 1, 1)
    }),
    quick("sanl_plus::passes_timed", TICKING, || {
        delegate::lets_go::<Passing>(2, 2, 1, 0)
    }),
    quick("sanl_plus::passes_hurried_three", SPIN_LATER, || {
        delegate::lets_go::<Passing>(3, 1, 1, 0)
    }),
    quick("sanl_plus::passes_locked", PARK, || {
        delegate::unlocks_in_order_of_locking::<Places<IN_PLACE, Seldom>>(2)
    }),
    quick("sanl_plus::insists", TICKING, || {
        delegate::runs::<Waiting>(2, 2, 0)
    }),
    quick("sanl_plus::insists_timed", TICKING, || {
        delegate::lets_go::<Waiting>(2, 2, 1, 0)
    }),
    quick("sanl_plus::goes_in_place", PARK, || {
        delegate::runs::<SanlPlus<MayPark, 2, 0, QUEUE, 1, 1, Soon>>(2, 2, 0)
    }),
    quick("sanl_plus::rides_and_goes_in_place", PARK_1, || {
        delegate::runs::<SanlPlus<MayPark, 2, 0, RIDES, 1, 2, Soon>>(2, 2, 0)
    }),
    quick("sanl_plus::stays", PARK_1, || delegate::runs::<Staying>(
        3, 1, 1
    )),
    quick("sanl_plus::stays_timed", TICKING, || {
        delegate::lets_go::<Staying>(2, 1, 1, 0)
    }),
    quick("sanl_plus::meets_timed", TICKING, || {
        delegate::lets_go::<Settling>(2, 2, 1, 0)
    }),
    quick("sanl_plus::meets_hurried", SPIN_LATER, || {
        delegate::lets_go::<Settling>(2, 2, 1, 0)
    }),
    quick("sanl_plus::unlocks_in_place", PARK, || {
        delegate::unlocks_in_order_of_locking::<Places<IN_PLACE, Soon>>(2)
    }),
    quick("sanl_plus::stays_locked", PARK, || {
        delegate::unlocks_in_order_of_locking::<Places<IN_PLACE, Always>>(2)
    }),
    quick("sanl_plus::timed_again", TICKING, || {
        delegate::lets_go::<Queueing>(2, 2, 1, 0)
    }),
    quick("sanl_plus::timed_and_takes", TICKING_1, || {
        delegate::lets_go::<Riding>(3, 1, 1, 1)
    }),
    quick("sanl_plus::left_inside", TICKING, || {
        delegate::goes_on_past_one_that_left::<Queueing>()
    }),
    quick("sanl_plus::tries_queueing", PARK, || {
        delegate::is_tried::<Queueing>(2, 2, 1)
    }),
    quick("sanl_plus::tries_settling", PARK_1, || {
        delegate::is_tried::<Settling>(3, 1, 1)
    }),
    quick("sanl_plus::tries_staying", PARK, || {
        delegate::is_tried::<Staying>(2, 2, 1)
    }),
    quick("sanl_plus::tries_turns", PARK_1, || {
        delegate::turns_are_tried::<Queueing>(3, 2)
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
        few("sanl_plus_turns_are_tried"),
        few("sanl_plus_meets"),
        few("sanl_plus_meets_hurried"),
        few("sanl_plus_polls"),
        few("sanl_plus_passes"),
        few("sanl_plus_insists"),
    ];
}
