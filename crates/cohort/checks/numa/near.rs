//! Checks of `near`.

use crate::runner::prelude::*;

/// Passes over each waiter at most once.
type SmallNear<P> = Near<P, 1>;

impl Checked for Near {
    type Smallest = SmallNear<MayPark>;
}

models![
    lighter("near::turns", SPIN, || {
        mutex::takes_turns::<SmallNear<SpinOnly>, _>([2, 1, 1]);
    }),
    quick("near::four", SPIN_1, || {
        mutex::takes_turns::<SmallNear<SpinOnly>, _>([2, 1, 1, 1]);
    }),
    quick("near::park_four", PARK_1, || {
        mutex::excludes::<SmallNear<MayPark>>(4, 1, 0);
    }),
    quick("near::queues", SPIN_0, || {
        mutex::queues::<Near<SpinOnly, 8>, _>([1; 5]);
    }),
    quick("near::prefers", SPIN_0, || {
        near::prefers_the_nearest::<SpinOnly, 1, _>([2, 1, 1, 1, 1], 4, true);
    }),
    quick("near::prefers_nobody", SPIN_0, || {
        near::prefers_the_nearest::<SpinOnly, 0, _>([2, 1, 1, 1, 1], 4, true);
    }),
    quick("near::above_cohorts", SPIN, || {
        mutex::takes_turns::<Small<Ticket<SpinOnly>, SmallNear<SpinOnly>>, _>([2, 1, 1]);
    }),
    quick("near::above_mcs", SPIN_1, || {
        mutex::takes_turns::<Small<Mcs<SpinOnly>, SmallNear<SpinOnly>>, _>([2, 1, 1]);
    }),
    quick("near::above_cores", SPIN_1, || {
        mutex::takes_turns::<Clof<Ticket<SpinOnly>, SmallNear<SpinOnly>, Core, 1, 3>, _>([
            2, 1, 1, 1,
        ]);
    }),
];

on_machine! {
    _ => [few("near_queues"), passes_few_over];
}
