//! Checks of `hclh`.

use crate::runner::prelude::*;

impl Checked for Hclh {
    type Smallest = Self;
    const STANDARD: Standard = Standard {
        fewer_hosted: 1,
        ..ALL
    };
}

models![
    quick("hclh::turns", SPIN_1, || {
        mutex::takes_turns::<Hclh<SpinOnly>, _>([2, 1, 1]);
    }),
    quick("hclh::queues", SPIN_0, || {
        mutex::queues::<Hclh<SpinOnly>, _>([1; 5]);
    }),
];

on_machine! {
    _ => [few("hclh_queues")];
}
