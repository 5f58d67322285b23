//! Checks of `hemlock`.

use crate::runner::prelude::*;

impl Checked for Hemlock {
    type Smallest = Self;
}

looked_for_in!["hemlock::", "hemlock_ctr::"];

models![
    quick("hemlock::spin_only", SPIN, || {
        mutex::excludes::<Hemlock<false, SpinOnly>>(3, 1, 0)
    }),
    quick("fork::hemlock_beside", FORK_2, || {
        fork::looks_on_grants(host::in_place::<Hemlock>(), 3)
    }),
    deep("hemlock::deep", PARK_1, || {
        mutex::excludes::<Hemlock>(3, 2, 0)
    }),
];
