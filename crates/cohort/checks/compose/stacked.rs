//! Checks of compositions built at run time from their names.

use crate::runner::prelude::*;

/// As many places as cohorts, the minimum.
type SmallStack<T> = Stacked<T, 2, 2>;

models![
    lighter("stacked::turns", SPIN, || {
        mutex::takes_turns::<SmallStack<TicketMcs>, _>([2, 1, 1]);
    }),
    lighter("stacked::mcs_clh", SPIN, || {
        mutex::takes_turns::<SmallStack<McsClh>, _>([2, 1, 1]);
    }),
    quick("stacked::clh_hemlock", PARK_1, || {
        mutex::takes_turns::<SmallStack<ClhHemlock>, _>([2, 1, 1]);
    }),
    quick("stacked::hemlock_ticket", PARK_1, || {
        mutex::takes_turns::<SmallStack<HemlockTicket>, _>([2, 1, 1]);
    }),
    lighter("stacked::park", PARK, || {
        mutex::excludes::<SmallStack<TicketMcs>>(3, 1, 0);
    }),
    quick("stacked::try", SPIN, || {
        mutex::excludes::<SmallStack<McsClh>>(3, 1, 2);
    }),
    quick("stacked::three_levels", PARK_1, || {
        mutex::takes_turns::<SmallStack<McsTicketClh>, _>([2, 1, 1]);
    }),
    quick("fork::stacked", FORK, || {
        fork::holds(host::inflated::<SmallStack<TicketMcs>>(), 3)
    }),
];

on_machine! {
    _ => [few("stacked_excludes")];
}
