//! Checks of `ahmcs`.

use crate::runner::prelude::*;

/// Two cohorts, no hand-off, and adaptive entry levels.
type SmallAhmcs<P> = Hmcs<(Numa,), 2, 0, P, 1, WhereMet>;

/// [`SmallAhmcs`] below one cohort with all threads.
type TallAhmcs<P> = Hmcs<(Numa, Whole), 2, 1, P, 1, WhereMet>;

impl Checked for Ahmcs3 {
    type Smallest = SmallAhmcs<MayPark>;
    const STANDARD: Standard = Standard {
        destroyed: false,
        fewer_hosted: 1,
        ..ALL
    };
}

as_in! { "ahmcs_3": Ahmcs4 }

/// Adjacent threads enter at adjacent levels.
#[derive(Default)]
struct Mixed;

// SAFETY: see `level`.
unsafe impl Entry for Mixed {
    const LEARNS: bool = true;

    fn level(&self, top: usize) -> usize {
        thread_id() as usize % (top + 1)
    }

    fn learn(&self, _top: usize, _met: usize) {}
}

models![
    quick("ahmcs::turns", SPIN, || {
        mutex::takes_turns::<SmallAhmcs<SpinOnly>, _>([2, 1, 1]);
    }),
    quick("ahmcs::turns_of_neighbours", PARK_1, || {
        mutex::takes_turns::<SmallAhmcs<SpinOnly>, _>([2, 1, 2]);
    }),
    quick("ahmcs::park_turns", PARK_1, || {
        mutex::takes_turns::<SmallAhmcs<MayPark>, _>([2, 1, 1]);
    }),
    quick("ahmcs::comes_back", SPIN, || {
        mutex::takes_turns::<SmallAhmcs<SpinOnly>, _>([5, 1]);
    }),
    quick("ahmcs::three_levels", PARK_1, || {
        mutex::takes_turns::<TallAhmcs<SpinOnly>, _>([3, 1, 1]);
    }),
    quick("ahmcs::mixed", PARK, || {
        mutex::excludes::<Hmcs<(Numa,), 2, 0, MayPark, 1, Mixed>>(3, 1, 0);
    }),
    quick("ahmcs::mixed_turns", SPIN_1, || {
        mutex::takes_turns::<Hmcs<(Numa,), 2, 0, SpinOnly, 1, Mixed>, _>([2, 2, 1]);
    }),
    quick("ahmcs::mixed_three_levels", PARK_1, || {
        mutex::takes_turns::<Hmcs<(Numa, Whole), 2, 1, SpinOnly, 1, Mixed>, _>([2, 1, 1]);
    }),
    quick("ahmcs::mixed_four", SPIN_1, || {
        mutex::excludes::<Hmcs<(Numa, Whole), 2, 1, SpinOnly, 1, Mixed>>(4, 1, 0);
    }),
];
