//! Checks of a delegation lock that is one word until two threads meet.

use crate::runner::prelude::*;

looked_for_in!["thin::", "fork::thin"];

models![
    quick("thin::spin", SPIN, || delegate::runs::<Growing<Mcs>>(
        2, 1, 0
    )),
    quick("thin::park", PARK_3, || delegate::runs::<Growing<Mcs>>(
        2, 1, 0
    )),
    quick("thin::again", PARK, || delegate::runs::<Growing<Mcs>>(
        2, 2, 0
    )),
    quick("thin::three", PARK_1, || delegate::runs::<Growing<Mcs>>(
        3, 1, 0
    )),
    quick("thin::here", PARK_1, || delegate::runs::<Growing<Mcs>>(
        3, 1, 2
    )),
    quick("thin::combines", PARK_1, || {
        delegate::runs::<Combining>(3, 1, 0)
    }),
    quick("thin::destroyed", PARK, || {
        delegate::is_destroyed::<Growing<Mcs>>(2, 0)
    }),
    quick("thin::destroyed_three", PARK_1, || {
        delegate::is_destroyed::<Combining>(3, 1)
    }),
    quick("thin::made_again", PARK, || {
        delegate::is_made_again::<Growing<Mcs>>(2)
    }),
    quick("thin::inside", PARK_1, || {
        delegate::serves_nobody_inside::<Combining>(3)
    }),
    quick("thin::locked", PARK_1, || {
        delegate::serves_nobody_locked::<Combining>(2)
    }),
    quick("thin::unlocks", PARK, || {
        delegate::unlocks_in_order_of_locking::<Growing<Mcs>>(2)
    }),
    quick("thin::tried", PARK, || {
        delegate::is_tried::<Growing<Mcs>>(2, 1, 1)
    }),
    quick("thin::tried_three", PARK_1, || {
        delegate::is_tried::<Combining>(3, 1, 1)
    }),
    quick("thin::scarce", PARK, || delegate::runs::<Scarce<Mcs>>(
        2, 2, 0
    )),
    quick("thin::scarce_three", PARK_1, || {
        delegate::runs::<Scarce<Mcs>>(3, 1, 1)
    }),
    quick("thin::panics", PARK, || {
        delegate::panics::<Growing<Mcs>>(2)
    }),
    quick("fork::thin", FORK_0, || {
        fork::drops_what_others_brought::<Growing<Bringing<Patiently>>>(2)
    }),
    quick("fork::thin_beside_another", FORK, || {
        fork::unlocks_beside_another::<Boxed<Mcs>>()
    }),
];

on_machine! {
    "thin.run-without" => [few("thin_scarce")];
    _ => [few("thin_runs"), few("thin_is_inside")];
}
