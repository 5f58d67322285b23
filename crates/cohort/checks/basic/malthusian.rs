//! Checks of `malthusian`.

use crate::runner::prelude::*;

impl Checked for Malthusian {
    type Smallest = Self;
}

models![
    quick("malthusian::turns", SPIN, || {
        mutex::takes_turns::<Malthusian<SpinOnly>, _>([2, 1, 1]);
    }),
    quick("malthusian::promotes", SPIN_TRIES, || {
        mutex::takes_turns::<Malthusian<SpinOnly>, _>([2, 1, 1]);
    }),
    quick("malthusian::queues", SPIN_0, || {
        mutex::queues::<Malthusian<SpinOnly>, _>([2, 1, 1, 1]);
    }),
    quick("malthusian::promotes_of_many", SPIN_0_TRIES, || {
        mutex::queues::<Malthusian<SpinOnly>, _>([2, 1, 1, 1]);
    }),
];

on_machine! {
    _ => [|| mutex::excludes::<Malthusian>(4, 4, 0)];
}
