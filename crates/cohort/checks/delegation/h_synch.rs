//! Checks of `h-synch`.

use crate::runner::prelude::*;

impl Checked for HSynch {
    type Smallest = HSynch<Mcs, MayPark, 2, 2>;
    const STANDARD: Standard = Standard {
        preemptions: 1,
        ..ALL
    };
}

models![quick("h_synch::destroyed_near", PARK, || {
    delegate::is_destroyed::<HSynch<Mcs, MayPark, 2, 1>>(2, 0)
})];

on_machine! {
    _ => [few("h_synch_excludes")];
}
