//! Checks of mutexes for tasks.

use crate::runner::prelude::*;

models![
    quick("waking::tas", PARK, || waking::waits::<Tas>(2, 1)),
    quick("waking::both", PARK, || waking::waits::<Tas>(2, 2)),
    quick("waking::mcs", PARK_1, || waking::waits::<Mcs>(2, 1)),
    quick("waking::unpolled", PARK_1, || {
        waking::passes_over_unpolled::<Tas>();
    }),
    quick("waking::dropped", PARK, || {
        waking::drops_what_waits::<Tas>(2, 0);
    }),
    lighter("waking::dropped_before_another", PARK_1, || {
        waking::drops_what_waits::<Tas>(3, 1);
    }),
    quick("waking::places", PARK, waking::keeps_places::<Mcs>),
    quick("waking::call", PARK, waking::passes_a_call_on::<Tas>),
    quick("waking::hurried", TICKING, || {
        waking::waits_beside_hurried::<Tas>(2, 1);
    }),
    quick("waking::hurried_in_queue", TICKING_1, || {
        waking::waits_beside_hurried::<HmcsT1>(2, 1);
    }),
    lighter("waking::three", PARK_1, || waking::waits::<Mcs>(3, 2)),
];

on_machine! {
    _ => [
        few("waking_waits"),
        few("waking_passes_over"),
        few("waking_drops"),
        few("waking_call"),
        few("waking_places"),
        few("waking_hurried"),
    ];
}
