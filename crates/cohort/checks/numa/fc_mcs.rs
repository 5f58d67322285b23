//! Checks of `fc-mcs`.

use crate::runner::prelude::*;

impl Checked for FcMcs {
    type Smallest = Self;
    const STANDARD: Standard = Standard {
        destroyed: false,
        fewer_hosted: 1,
        ..ALL
    };
}

models![
    quick("fc_mcs::turns", SPIN_1, || {
        mutex::takes_turns::<FcMcs<SpinOnly>, _>([2, 1, 1]);
    }),
    quick("fc_mcs::queues", SPIN_0, || {
        mutex::queues::<FcMcs<SpinOnly>, _>([1; 4]);
    }),
];

on_machine! {
    _ => [few("fc_mcs_queues")];
}
