//! Checks of `mcs`.

use crate::runner::prelude::*;

impl Checked for Mcs {
    type Smallest = Self;
}

looked_for_in!["mcs::", "glk::"];

models![
    quick("fork::mcs_beside", FORK_2, || {
        fork::looks_on_grants(host::in_place::<Mcs>(), 3)
    }),
    deep("mcs::deep", PARK_1, || mutex::excludes::<Mcs>(3, 2, 0)),
];

on_machine! {
    _ => [few("glk_changes"), few("glk_changes_back")];
}
