//! Checks of `fc`, where a record ages at its first scan without a request.

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
