//! Checks of mutexes for tasks.

use crate::runner::prelude::*;

looked_for_in!["waking::"];

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
    quick("waking::reader", PARK_3, || waking_shared::waits(2, 1, 0)),
    quick("waking::reader_and_writer", PARK_3, || {
        waking_shared::waits(2, 1, 1);
    }),
    quick("waking::writer_and_reader", PARK_3, || {
        waking_shared::waits_beside_readers(2);
    }),
    lighter("waking::shared_three", PARK, || {
        waking_shared::waits(3, 1, 1);
    }),
    quick("waking::dropped_reader", PARK_3, || {
        waking_shared::drops_what_waits(2, true);
    }),
    quick("waking::dropped_writer", PARK_3, || {
        waking_shared::drops_what_waits(2, false);
    }),
    quick("waking::dropped_writer_before_reader", PARK_1, || {
        waking_shared::drops_what_waits(3, false);
    }),
    quick(
        "waking::together",
        PARK,
        waking_shared::wakes_readers_together
    ),
    quick("waking::behind_writers", PARK, || {
        waking_shared::stands_behind_writers(false);
    }),
    quick("waking::dropped_writer_called", PARK, || {
        waking_shared::leaves_no_reader_behind();
    }),
    quick("waking::behind_dropped_writer", PARK, || {
        waking_shared::stands_behind_writers(true);
    }),
    quick("waking::beside_dropped_writer", PARK_3, || {
        waking_shared::reads_beside_dropped_writer();
    }),
    quick(
        "waking::unpolled_writer",
        PARK,
        waking_shared::passes_over_unpolled
    ),
];

on_machine! {
    _ => [
        few("waking_waits"),
        few("waking_passes_over"),
        few("waking_drops"),
        few("waking_call"),
        few("waking_places"),
        few("waking_hurried"),
        few("waking_shared"),
    ];
}
