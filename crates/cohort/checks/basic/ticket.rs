//! Checks of `ticket`.

use crate::runner::prelude::*;

impl Checked for Ticket {
    type Smallest = Self;
}

looked_for_in!["ticket::", "glk::"];

models![
    quick("ticket::quick", QUIET, || {
        mutex::excludes::<Ticket>(2, 2, 0)
    }),
    quick("ticket::quick_three", QUIET, || {
        mutex::excludes::<Ticket>(3, 1, 0);
    }),
    lighter("ticket::quick_three_again", QUIET_1, || {
        mutex::excludes::<Ticket>(3, 2, 0);
    }),
    quick("ticket::quick_late", QUIET, || {
        mutex::excludes::<NearWrap<Ticket, CELL>>(2, 2, 0);
    }),
    quick("ticket::quick_destroyed", QUIET, || {
        destroy::is_destroyed::<Ticket>(2);
    }),
    quick("ticket::near_wrap", PARK, || {
        mutex::excludes::<NearWrap<Ticket, CELL>>(3, 1, 0)
    }),
    quick("ticket::late_again", PARK, || {
        mutex::excludes::<NearWrap<Ticket, { CELL - 1 }>>(2, 2, 0)
    }),
    quick("ticket::late_try", PARK, || {
        mutex::excludes::<NearWrap<Ticket, CELL>>(3, 1, 1)
    }),
    quick("fork::ticket_quick", FORK_QUIET, || {
        fork::holds(host::in_place_fast::<Ticket>(), 2)
    }),
    lighter("fork::ticket_beside", FORK_2, || {
        fork::looks_on_grants(host::in_place::<Ticket>(), 3)
    }),
    deep("ticket::deep", PARK_1, || {
        mutex::excludes::<Ticket>(3, 2, 0)
    }),
];

on_machine! {
    "ticket.forget-dismissal" => [few("glk_comes_round")];
    _ => [|| mutex::excludes::<Ticket>(3, 2, 0), || mutex::excludes::<Ticket>(4, 4, 0)];
}
