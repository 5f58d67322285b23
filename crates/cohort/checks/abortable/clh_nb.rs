//! Checks of `clh-nb`.

use crate::runner::prelude::*;

impl Checked for ClhNb {
    type Smallest = Self;
    const STANDARD: Standard = Standard {
        preemptions: 2,
        ..ALL
    };
}

looked_for_in!["clh_nb::"];

models![
    quick("clh_nb::two_let_go", SPIN_1, || {
        mutex::lets_go::<ClhNb<SpinOnly>>(3, 1, 2);
    }),
    quick("clh_nb::lets_go_later", SPIN_LATER_1, || {
        mutex::lets_go::<ClhNb<SpinOnly>>(3, 1, 1);
    }),
    quick("clh_nb::all_let_go", SPIN_0, || {
        mutex::all_let_go::<ClhNb<SpinOnly>>(3);
    }),
    quick("clh_nb::all_let_go_later", SPIN_LATER_0, || {
        mutex::all_let_go::<ClhNb<SpinOnly>>(3);
    }),
    quick("clh_nb::comes_back", PARK, || {
        mutex::comes_back::<ClhNb<MayPark>>(2, 1, false);
    }),
    quick("clh_nb::another_comes", SPIN_1, || {
        mutex::comes_back::<ClhNb<SpinOnly>>(3, 1, true);
    }),
];

on_machine! {
    _ => [few("clh_nb_lets_go"), few("clh_nb_comes_back")];
}
