//! Checks of `h-synch`.

use crate::runner::prelude::*;

impl Checked for HSynch {
    type Smallest = HSynch<Mcs, MayPark, 2, 2>;
    const STANDARD: Standard = Standard {
        preemptions: 1,
        ..ALL
    };
}

on_machine! {
    _ => [few("h_synch_excludes")];
}
