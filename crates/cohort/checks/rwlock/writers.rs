//! Checks of writers that wait with a timeout.

use crate::runner::prelude::*;

/// Writers of that lock, and readers of two cohorts.
type Abandoned<L> = CohortRw<Abandoning<L>, true, Numa, 0, 2>;

looked_for_in!["rw_writers::"];

models![
    quick("rw_writers::two", PARK, || {
        rwlock::lets_go::<Abandoned<Tas>>(2, 2, 1, 1);
    }),
    quick("rw_writers::queue", PARK_1, || {
        rwlock::lets_go::<Abandoned<HmcsT1>>(2, 2, 1, 1);
    }),
    quick("rw_writers::reader", PARK_1, || {
        rwlock::lets_go::<Abandoned<Tas>>(3, 2, 1, 2);
    }),
];

on_machine! {
    _ => [few("cohorts_abandon")];
}
