//! Checks of `spin-park`.

use crate::runner::prelude::*;

models![
    quick("spin_then_park::sleep", PARK, || {
        mutex::excludes::<SpinPark<0, 0>>(3, 1, 0)
    }),
    quick("spin_then_park::flood", PARK, || {
        mutex::excludes::<SpinPark<0, 1>>(3, 1, 0)
    }),
    quick("spin_then_park::one_spins", PARK, || {
        mutex::excludes::<SpinPark<1, 1>>(3, 1, 0)
    }),
    quick("spin_then_park::again", PARK, || {
        mutex::excludes::<SpinPark<1, 1>>(2, 2, 0)
    }),
    quick("spin_then_park::timed", PARK, || {
        mutex::lets_go::<SpinPark<1, 1>>(3, 1, 1)
    }),
    quick("spin_then_park::destroyed", PARK, || {
        destroy::is_destroyed::<SpinPark<1, 1>>(2)
    }),
];

on_machine! {
    _ => [|| mutex::excludes::<SpinPark4>(4, 4, 0)];
}
