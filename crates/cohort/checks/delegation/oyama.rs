//! Checks of `oyama`; in most, a holder runs two sections and leaves the rest to the next holder.

use crate::runner::prelude::*;

impl Checked for Oyama {
    type Smallest = Oyama<MayPark, 2>;
}

models![
    quick("oyama::in_order", PARK, || {
        delegate::runs::<Oyama<MayPark, 2, true>>(3, 1, 0)
    }),
    quick("oyama::one_each", PARK, || {
        delegate::runs::<Oyama<MayPark, 1>>(3, 1, 0)
    }),
    quick("oyama::bound", PARK, || {
        delegate::runs_few::<Oyama<MayPark, 2>>(3, 2)
    }),
    quick("oyama::panics", PARK, || {
        delegate::panics::<Oyama<MayPark, 2>>(2)
    }),
    quick("oyama::order", SPIN_0, || {
        order::keeps_order::<Oyama<MayPark, 2, true>>(3, true)
    }),
    quick("oyama::order_of_a_stack", SPIN_0, || {
        order::keeps_order::<Oyama<MayPark, 2>>(3, false)
    }),
];

on_machine! {
    _ => [
        few("oyama_hands_on"),
        few("oyama_is_inside"),
        few("oyama_runs_few"),
    ];
}
