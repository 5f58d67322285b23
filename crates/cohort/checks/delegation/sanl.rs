//! Checks of `sanl` and its policies; in most, all sections are delegated.

use crate::runner::prelude::*;

impl Checked for Sanl {
    type Smallest = Sanl<Mcs, Voting>;
    const STANDARD: Standard = Standard {
        preemptions: 1,
        ..ALL
    };
}

as_in! { "sanl": SanlFlat, SanlDistanceFirst }

looked_for_in!["sanl::brings", "fork::sanl", "sanl::"];

models![
    quick("sanl::brings", PARK_3, || {
        delegate::runs::<Bringing<Patiently>>(2, 1, 0)
    }),
    quick("sanl::brings_spin", SPIN, || {
        delegate::runs::<Bringing<Patiently>>(2, 1, 0)
    }),
    lighter("sanl::brings_again", PARK, || {
        delegate::runs::<Bringing<Patiently>>(2, 2, 0)
    }),
    quick("sanl::brings_and_takes", PARK_3, || {
        delegate::runs::<Bringing<Patiently>>(2, 1, 1)
    }),
    quick("sanl::brings_gone", ENDING_0, || {
        delegate::runs::<Bringing<Chained>>(3, 1, 0)
    }),
    quick("sanl::brings_again_by_id", ENDING_REUSED, || {
        delegate::runs::<Bringing<Chained>>(3, 1, 0)
    }),
    quick("sanl::brings_destroyed", PARK_1, || {
        delegate::is_destroyed::<Bringing<Patiently>>(2, 0)
    }),
    lighter("sanl::brings_destroyed_here", PARK_1, || {
        delegate::is_destroyed::<Bringing<Patiently>>(3, 1)
    }),
    quick("sanl::brings_late", TICKING_3, || {
        delegate::runs::<Bringing<Hastily>>(2, 1, 0)
    }),
    quick("sanl::brings_late_and_takes", TICKING_1, || {
        delegate::runs::<Bringing<Hastily>>(3, 1, 1)
    }),
    quick("sanl::brings_apart", TICKING, || {
        delegate::runs::<Bringing<Apart>>(2, 1, 0)
    }),
    quick("sanl::brings_timed", TICKING, || {
        delegate::lets_go::<Bringing<Patiently>>(2, 1, 1, 0)
    }),
    quick("sanl::brings_timed_and_takes", TICKING_1, || {
        delegate::lets_go::<Bringing<Patiently>>(3, 1, 1, 1)
    }),
    quick("sanl::panics", PARK, || {
        delegate::panics::<Bringing<Patiently>>(2)
    }),
    quick("sanl::brings_three", PARK_1, || {
        delegate::runs::<Bringing<Patiently>>(3, 1, 0)
    }),
    quick("sanl::brings_inside", PARK_1, || {
        delegate::serves_nobody_inside::<Bringing<Patiently>>(2)
    }),
    quick("sanl::locked", PARK_1, || {
        delegate::serves_nobody_locked::<Bringing<Patiently>>(2)
    }),
    quick("sanl::unlocks", PARK_1, || {
        delegate::unlocks_in_order_of_locking::<Bringing<Patiently>>(2)
    }),
    quick("fork::sanl_here", FORK_0, || {
        fork::drops_what_others_brought::<Bringing<Patiently>>(2)
    }),
    quick("fork::sanl_queued", FORK_0, || {
        fork::drops_what_others_brought::<Bringing<Hastily>>(2)
    }),
];

on_machine! {
    _ => [
        few("sanl_brings"),
        few("sanl_brings_late"),
        few("sanl_lets_go"),
        few("sanl_is_inside"),
        few("sanl_is_locked"),
        few("sanl_unlocks"),
    ];
}
