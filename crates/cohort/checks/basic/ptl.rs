//! Checks of `ptl`.

use crate::runner::prelude::*;

// As in `anderson`: slots are shared.
impl Checked for Ptl {
    type Smallest = Ptl<2>;
    const STANDARD: Standard = Standard {
        fewer_hosted: 1,
        ..ALL
    };
}

models![
    quick("ptl::spin_only", SPIN, || {
        mutex::excludes::<Ptl<2, SpinOnly>>(3, 1, 0)
    }),
    quick("ptl::near_wrap", PARK, || {
        mutex::excludes::<NearWrap<Ptl<2>, CELL>>(3, 1, 0)
    }),
    deep("ptl::deep", PARK_1, || mutex::excludes::<Ptl<2>>(3, 2, 0)),
];
