//! Checks of `k42`.

use crate::runner::prelude::*;

impl Checked for K42 {
    type Smallest = Self;
}

models![
    quick("fork::k42_beside", FORK_2, || {
        fork::looks_on_grants(host::in_place::<K42>(), 3)
    }),
    deep("k42::deep", PARK_1, || mutex::excludes::<K42>(3, 2, 0)),
];
