//! Checks of locks that an object names.

use crate::runner::prelude::*;

looked_for_in![
    "inflated::anderson",
    "inflated::three",
    "inflated::try",
    "inflated::ahead",
    "fork::inflated",
    "fork::anderson"
];

models![
    quick("inflated::three", PARK, || {
        host::excludes(host::inflated::<Anderson<2>>(), 3, 1, 0);
    }),
    quick("inflated::try", PARK, || {
        host::excludes(host::inflated::<Anderson<2>>(), 3, 1, 1);
    }),
    quick("inflated::ahead", PARK_3, || {
        migrating::looks_ahead::<Small<Hesitant<Mcs>, Ticket>>(|| ())
    }),
    quick("fork::inflated_ahead", FORK_3, || {
        migrating::looks_ahead::<Small<Hesitant<Ticket>, Ticket>>(door::fork)
    }),
    quick("fork::inflated_beside", FORK_2, || {
        fork::looks_on(host::inflated::<Anderson<2>>(), 3);
    }),
];

on_machine! {
    _ => [few("anderson_inflated")];
}
