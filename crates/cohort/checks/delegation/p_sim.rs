//! Checks of `p-sim`.

use crate::runner::prelude::*;

models![
    quick("p_sim::two", SPIN_5, || p_sim::adds::<2>(2, 1, 0)),
    lighter("p_sim::again", SPIN, || p_sim::adds::<2>(2, 2, 0)),
    lighter("p_sim::three", SPIN_1, || p_sim::adds::<3>(3, 1, 0)),
    quick("p_sim::stamps_wrap", SPIN_1, || {
        p_sim::adds::<2>(2, 2, (1 << 56) - 1)
    }),
    quick("p_sim::seats", SPIN_1, || {
        p_sim::comes_and_goes::<2>(2, 2)
    }),
    quick("p_sim::panics", SPIN_1, || p_sim::panics::<2>(2)),
];

on_machine! {
    "p-sim.keep-broken" => [few("p_sim_panics")];
    _ => [few("p_sim_adds"), || p_sim::adds::<2>(2, 4, 0)];
}
