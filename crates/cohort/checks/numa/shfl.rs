//! Checks of `shfl`.

use crate::runner::prelude::*;

impl Checked for Shfl {
    type Smallest = Self;
    const STANDARD: Standard = Standard {
        fewer_hosted: 1,
        ..ALL
    };
}

models![
    quick("shfl::turns", SPIN_1, || {
        mutex::takes_turns::<Shfl, _>([2, 1, 1]);
    }),
    quick("shfl::queues", SPIN_0, || {
        mutex::queues::<Shfl, _>([2, 1, 1, 1, 1]);
    }),
];

on_machine! {
    _ => [few("shfl_queues")];
}
