//! Checks of locks hosted in place.

use crate::runner::prelude::*;

looked_for_in!["fork::ticket_beside", "fork::claim_granted"];

models![
    lighter("in_place::mcs_try", PARK, || {
        host::excludes(host::in_place::<Mcs>(), 3, 1, 1)
    }),
    quick("in_place::tas_quick", QUIET, || {
        host::excludes(host::in_place_fast::<Tas>(), 2, 2, 0)
    }),
    quick("in_place::ticket_quick", QUIET, || {
        host::excludes(host::in_place_fast::<Ticket>(), 2, 2, 0)
    }),
];

on_machine! {
    _ => [few("ticket_in_place")];
}
