//! Checks of sections that wait for a condition.

use crate::runner::prelude::*;

models![
    quick("delegated::mcs", PARK, || {
        delegate::waits_for_others::<Mcs>(2, 1)
    }),
    quick("delegated::cc_synch", PARK, || {
        delegate::waits_for_others::<CcSynch<MayPark, 2>>(2, 1)
    }),
    quick("delegated::brings", PARK_1, || {
        delegate::waits_for_others::<Bringing<Patiently>>(2, 1)
    }),
    quick("delegated::spin", SPIN, || {
        delegate::waits_for_others::<Mcs>(2, 1)
    }),
    quick("delegated::two", PARK_1, || {
        delegate::waits_for_others::<Mcs>(3, 2)
    }),
    lighter("delegated::by_another", PARK_1, || {
        delegate::waits_for_others::<CcSynch<MayPark, 2>>(3, 1)
    }),
    quick("delegated::within", TICKING, || {
        delegate::waits_within::<Tas>(2, 1)
    }),
    quick("delegated::within_brings", TICKING_1, || {
        delegate::waits_within::<Bringing<Patiently>>(2, 1)
    }),
    quick("delegated::stops", TICKING_1, || {
        delegate::stops_waiting::<Tas>(2)
    }),
];

on_machine! {
    _ => [
        few("delegated_waits"),
        few("delegated_waits_within"),
        few("delegated_stops_waiting"),
    ];
}
