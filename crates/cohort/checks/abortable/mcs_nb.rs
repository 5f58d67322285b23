//! Checks of `mcs-nb`.

use crate::runner::prelude::*;

impl Checked for McsNb {
    type Smallest = Self;
    const STANDARD: Standard = Standard {
        preemptions: 2,
        ..ALL
    };
}

looked_for_in!["mcs_nb::"];

models![
    quick("mcs_nb::two_let_go", SPIN_1, || {
        mutex::lets_go::<McsNb<SpinOnly>>(3, 1, 2);
    }),
    quick("mcs_nb::lets_go_later", SPIN_LATER_1, || {
        mutex::lets_go::<McsNb<SpinOnly>>(3, 1, 1);
    }),
    quick("mcs_nb::all_let_go", SPIN_0, || {
        mutex::all_let_go::<McsNb<SpinOnly>>(3);
    }),
    quick("mcs_nb::all_let_go_later", SPIN_LATER_0, || {
        mutex::all_let_go::<McsNb<SpinOnly>>(3);
    }),
    quick("mcs_nb::comes_back", PARK, || {
        mutex::comes_back::<McsNb<MayPark>>(2, 1, false);
    }),
    quick("mcs_nb::another_comes", SPIN_1, || {
        mutex::comes_back::<McsNb<SpinOnly>>(3, 1, true);
    }),
];

on_machine! {
    _ => [few("mcs_nb_lets_go"), few("mcs_nb_comes_back")];
}
