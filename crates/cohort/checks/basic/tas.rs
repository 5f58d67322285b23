//! Checks of `tas`.

use crate::runner::prelude::*;

impl Checked for Tas {
    type Smallest = Self;
}

models![
    quick("tas::spin_only", SPIN, || {
        mutex::excludes::<Tas<SpinOnly>>(3, 1, 0)
    }),
    quick("tas::quick", QUIET, || mutex::excludes::<Tas>(2, 2, 0)),
    quick("tas::quick_three", QUIET, || {
        mutex::excludes::<Tas>(3, 1, 0);
    }),
    quick("tas::quick_three_again", QUIET, || {
        mutex::excludes::<Tas>(3, 2, 0);
    }),
    quick("tas::quick_timed", QUIET, || mutex::lets_go::<Tas>(3, 1, 1)),
    quick("tas::quick_destroyed", QUIET, || {
        destroy::is_destroyed::<Tas>(2);
    }),
    quick("fork::tas_beside", FORK_2, || {
        fork::looks_on(host::in_place::<Tas>(), 3)
    }),
    deep("tas::deep", PARK_1, || mutex::excludes::<Tas>(3, 2, 0)),
];
