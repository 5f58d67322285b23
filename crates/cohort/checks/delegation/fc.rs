//! Checks of `fc`, with records that are old as soon as nothing was found in them.

use crate::runner::prelude::*;

impl Checked for Fc {
    type Smallest = Fc<Mcs, MayPark, 1, 0>;
    const STANDARD: Standard = Standard {
        preemptions: 1,
        ..ALL
    };
}

on_machine! {
    _ => [few("fc_combines"), few("fc_is_inside"), few("fc_lets_go")];
}
