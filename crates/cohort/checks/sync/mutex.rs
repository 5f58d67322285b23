//! Checks of guards, with contexts in pool blocks.

use crate::runner::prelude::*;

models![
    quick("guard::mcs", PARK, || guard::excludes::<Mcs>(2, 2)),
    quick("guard::clh", PARK, || guard::excludes::<Clh>(2, 2)),
    quick("guard::three", PARK_1, || guard::excludes::<Mcs>(3, 1)),
    quick("guard::reentrant", PARK, || guard::locks_again::<Mcs>(2)),
    quick("guard::ended", ENDING, || guard::excludes::<Mcs>(2, 1)),
    quick("guard::mcs_handed_on", PARK, || {
        guard::is_handed_on::<Mcs>(2);
    }),
    quick("guard::clh_handed_on", PARK, || {
        guard::is_handed_on::<Clh>(2);
    }),
    deep("guard::handed_on_three", PARK_1, || {
        guard::is_handed_on::<Mcs>(3);
    }),
];
