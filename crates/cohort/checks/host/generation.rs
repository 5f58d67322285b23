//! Checks of inherited objects in a forked child.

use crate::runner::prelude::*;

looked_for_in![
    "fork::mcs_multiplies",
    "fork::clh_multiplies",
    "fork::inflated_multiplies"
];

models![
    deep("fork::ticket_multiplies", FORK, || {
        fork::multiplies(host::in_place::<Ticket>(), 2);
    }),
    quick("fork::mcs_multiplies", FORK, || {
        fork::multiplies(host::in_place::<Mcs>(), 2);
    }),
    lighter("fork::clh_multiplies", FORK, || {
        fork::multiplies(host::in_place::<Clh>(), 2);
    }),
    quick("fork::inflated_multiplies", FORK, || {
        fork::multiplies(host::inflated::<Anderson<2>>(), 2);
    }),
];
