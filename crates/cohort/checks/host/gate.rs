//! Checks of the gate before a lock.

use crate::runner::prelude::*;

models![
    lighter("gate::mcs", PARK, || {
        host::excludes(host::in_place::<Mcs>(), 3, 1, 0)
    }),
    lighter("gate::ticket", PARK_1, || {
        host::excludes(host::in_place::<Ticket>(), 3, 1, 0)
    }),
    lighter("gate::four", PARK_1, || {
        host::excludes(host::in_place::<Mcs>(), 4, 1, 0)
    }),
    quick("gate::gated", PARK_1, || {
        mutex::excludes::<Gated<Ticket>>(3, 1, 0)
    }),
    quick("gate::impatient", IMPATIENT_1, || {
        host::excludes(host::in_place::<Mcs>(), 3, 1, 0)
    }),
    deep("gate::again", PARK_1, || {
        host::excludes(host::in_place::<Ticket>(), 3, 2, 0)
    }),
];

on_machine! {
    _ => [few("ticket_in_place"), few("mcs_in_place")];
}
