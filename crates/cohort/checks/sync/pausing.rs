//! Checks of sections that wait in their middle.

use crate::runner::prelude::*;

models![
    quick("pausing::mcs", PARK, || delegate::pauses::<Mcs>(2, 1)),
    quick("pausing::cc_synch", PARK, || {
        delegate::pauses::<CcSynch<MayPark, 2>>(2, 1)
    }),
    quick("pausing::brings", PARK_1, || {
        delegate::pauses::<Bringing<Patiently>>(2, 1)
    }),
    quick("pausing::places", PARK_1, || delegate::pauses::<Queueing>(
        2, 1
    )),
    quick("pausing::two", PARK_1, || delegate::pauses::<Tas>(3, 2)),
    lighter("pausing::three", PARK_1, || {
        delegate::pauses::<CcSynch<MayPark, 2>>(3, 1)
    }),
    quick("pausing::in_turn", PARK_1, || {
        delegate::pauses_in_turn::<Tas>(1)
    }),
    quick("pausing::at", PARK_1, || delegate::pauses_at::<Mcs>(2)),
    quick("pausing::stops", TICKING_1, || {
        delegate::stops_pausing::<Tas>(2)
    }),
];

on_machine! {
    _ => [few("delegated_pauses"), few("delegated_pauses_at")];
}
