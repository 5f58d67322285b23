//! Checks of `hmcs`.

use crate::runner::prelude::*;

/// Two cohorts without hand-offs.
type SmallHmcs<P> = Hmcs<(Numa,), 2, 0, P, 1>;

/// [`SmallHmcs`] below one cohort with all threads.
type TallHmcs<P> = Hmcs<(Numa, Whole), 2, 1, P, 1>;

/// Two cohorts that a thread bypasses while the lock is free.
type FastHmcs<P> = Hmcs<(Numa,), 2, 0, P, 1, ByFastPath>;

impl Checked for Hmcs2 {
    type Smallest = SmallHmcs<MayPark>;
    const STANDARD: Standard = Standard {
        destroyed: false,
        ..ALL
    };
}

as_in! { "hmcs_2": Hmcs3, Hmcs4, Hmcs4Package, Hmcs5 }

looked_for_in![
    "hmcs_2::",
    "hmcs::",
    "ahmcs_3::",
    "ahmcs::",
    "futex_hmcs::absent"
];

models![
    quick("hmcs::turns", SPIN, || {
        mutex::takes_turns::<SmallHmcs<SpinOnly>, _>([2, 1, 1]);
    }),
    quick("hmcs::park_turns", PARK_1, || {
        mutex::takes_turns::<SmallHmcs<MayPark>, _>([2, 1, 1]);
    }),
    quick("hmcs::lets_others_in", SPIN_1, || {
        mutex::lets_others_in::<SmallHmcs<SpinOnly>>(0, 2);
    }),
    quick("hmcs::fast_path", SPIN_1, || {
        mutex::excludes::<FastHmcs<SpinOnly>>(3, 1, 0);
    }),
    quick("hmcs::fast_path_turns", SPIN, || {
        mutex::takes_turns::<FastHmcs<SpinOnly>, _>([2, 1, 1]);
    }),
    quick("hmcs::three_levels", PARK_1, || {
        mutex::takes_turns::<TallHmcs<SpinOnly>, _>([2, 1, 1]);
    }),
    quick("hmcs::three_levels_try", PARK_1, || {
        mutex::excludes::<TallHmcs<SpinOnly>>(3, 1, 2);
    }),
];

on_machine! {
    _ => [
        || mutex::excludes::<Hmcs<(Numa,), 2, 0, MayPark, 2>>(4, 4, 0),
        || mutex::excludes::<Hmcs<(Numa,), 2, 0, MayPark, 2, WhereMet>>(4, 4, 0),
        || mutex::excludes::<Hmcs<(Numa,), 2, 0, MayPark, 2, ByFastPath>>(4, 4, 0),
        few("hmcs_lets_others_in"),
    ];
}
