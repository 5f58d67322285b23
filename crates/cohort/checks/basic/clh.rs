//! Checks of `clh`.

use crate::runner::prelude::*;

impl Checked for Clh {
    type Smallest = Self;
}

models![
    lighter("fork::clh_beside", FORK_2, || {
        fork::looks_on_grants(host::in_place::<Clh>(), 3)
    }),
    deep("clh::deep", PARK, || mutex::excludes::<Clh>(3, 2, 0)),
];
