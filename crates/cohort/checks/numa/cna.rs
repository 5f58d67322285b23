//! Checks of `cna`.

use crate::runner::prelude::*;

/// `cna` with one hand-off.
type SmallCna<P> = Cna<P, 2>;

impl Checked for Cna {
    type Smallest = SmallCna<MayPark>;
}

models![
    quick("cna::turns", SPIN, || {
        mutex::takes_turns::<SmallCna<SpinOnly>, _>([2, 1, 1]);
    }),
    quick("cna::four", SPIN_1, || {
        mutex::takes_turns::<SmallCna<SpinOnly>, _>([2, 1, 1, 1]);
    }),
    quick("cna::lets_others_in", SPIN_1, || {
        mutex::lets_others_in::<Cna<SpinOnly, 1>>(0, 2);
    }),
    quick("cna::queues", SPIN_0, || {
        mutex::queues::<Cna<SpinOnly, 8>, _>([1; 5]);
    }),
];

on_machine! {
    _ => [
        || mutex::excludes::<Cna<MayPark, 2>>(4, 4, 0),
        few("cna_queues"),
        few("cna_lets_others_in"),
    ];
}
