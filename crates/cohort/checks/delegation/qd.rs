//! Checks of `qd`, most with a queue of one place, which is soon full.

use crate::runner::prelude::*;

type OnePlace = Qd<Mcs, MayPark, 1>;

type TwoPlaces = Qd<Mcs, MayPark, 2>;

impl Checked for Qd {
    type Smallest = OnePlace;
    const STANDARD: Standard = Standard {
        preemptions: 1,
        ..ALL
    };
}

models![
    quick("qd::two_places", PARK_1, || {
        delegate::runs::<TwoPlaces>(3, 1, 0)
    }),
    quick("qd::reopened", SPIN_0, order::opens_again::<OnePlace>),
    quick("qd::panics", PARK, || delegate::panics::<OnePlace>(2)),
    quick("qd::timed_and_takes", TICKING_1, || {
        delegate::lets_go::<TwoPlaces>(3, 1, 1, 1)
    }),
    lighter("qd::destroyed_timed_three", TICKING, || {
        delegate::is_destroyed_within::<TwoPlaces>(3, 1)
    }),
    quick("qd::timed_again", TICKING, || {
        delegate::lets_go::<OnePlace>(2, 2, 1, 0)
    }),
    deep("qd::reopened_at_will", PARK, || {
        delegate::runs_again::<OnePlace>(3)
    }),
    deep("qd::two_places_again", PARK_1, || {
        delegate::runs::<TwoPlaces>(3, 2, 0)
    }),
];

on_machine! {
    _ => [few("qd_posts"), few("qd_is_inside")];
}
