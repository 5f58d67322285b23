//! Checks of compositions.

use crate::runner::prelude::*;

/// Two cohorts, one with the first and the third thread, and one hand-off.
pub type Small<Low, High> = Clof<Low, High, Numa, 1, 2>;

/// Three levels, and three cores; the first and the third are neighbours.
type Deep = Clof<Ticket<SpinOnly>, Small<Mcs<SpinOnly>, Ticket<SpinOnly>>, Core, 1, 3>;

models![
    quick("clof::ticket_mcs", SPIN, || {
        mutex::takes_turns::<Small<Ticket<SpinOnly>, Mcs<SpinOnly>>, _>([2, 1, 1]);
    }),
    lighter("clof::mcs_ticket", SPIN, || {
        mutex::takes_turns::<Small<Mcs<SpinOnly>, Ticket<SpinOnly>>, _>([2, 1, 1]);
    }),
    quick("clof::ticket_ticket", SPIN, || {
        mutex::takes_turns::<Small<Ticket<SpinOnly>, Ticket<SpinOnly>>, _>([2, 1, 1]);
    }),
    quick("clof::ticket_clh", SPIN, || {
        mutex::takes_turns::<Small<Ticket<SpinOnly>, Clh>, _>([2, 1, 1]);
    }),
    quick("clof::clh_hemlock", PARK_1, || {
        mutex::takes_turns::<Small<Clh, Hemlock<false, SpinOnly>>, _>([2, 1, 1]);
    }),
    quick("clof::hemlock_ptl", PARK_1, || {
        mutex::takes_turns::<Small<Hemlock<false, SpinOnly>, Ptl<2, SpinOnly>>, _>([2, 1, 1]);
    }),
    quick("clof::counted_mcs", SPIN, || {
        mutex::takes_turns::<Small<Counted<Ticket<SpinOnly>>, Mcs<SpinOnly>>, _>([2, 1, 1]);
    }),
    quick("clof::bo_bo", PARK_1, || {
        mutex::takes_turns::<Small<Counted<Bo>, Bo>, _>([2, 1, 1]);
    }),
    quick("clof::beyond_what_is_carried", SPIN, || {
        mutex::takes_turns::<Clof<Little<Mcs<SpinOnly>, 1>, Ticket<SpinOnly>, Numa, 2, 2>, _>([
            2, 1, 1,
        ]);
    }),
    quick("clof::park", PARK_1, || {
        mutex::takes_turns::<Small<Ticket, Mcs>, _>([2, 1, 1]);
    }),
    quick("clof::try", SPIN, || {
        mutex::excludes::<Small<Ticket<SpinOnly>, Mcs<SpinOnly>>>(3, 1, 2);
    }),
    quick("clof::three_levels", SPIN, || {
        mutex::excludes::<Deep>(3, 1, 0);
    }),
    deep("clof::three_levels_again", PARK_1, || {
        mutex::takes_turns::<Deep, _>([2, 1, 1]);
    }),
    deep("clof::three_levels_of_four", PARK_1, || {
        mutex::excludes::<Deep>(4, 1, 0);
    }),
    quick("fork::clof", FORK, || {
        fork::holds(host::inflated::<Small<Ticket, Mcs>>(), 3)
    }),
];

on_machine! {
    "clof.keep-for-ever" => [keeps_to_its_hand_offs];
    _ => [
        || mutex::excludes::<Clof<Ticket, Mcs>>(4, 4, 0),
        || mutex::excludes::<CMcsMcs>(4, 4, 0),
        || mutex::excludes::<Clof<Hemlock, Mcs>>(4, 4, 0),
    ];
}
