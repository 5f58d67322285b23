//! Checks of `anderson`.

use crate::runner::prelude::*;

// One slot fewer than the most threads that a model has, so that slots are shared.
impl Checked for Anderson {
    type Smallest = Anderson<2>;
    const STANDARD: Standard = Standard {
        destroyed: false,
        ..ALL
    };
}

models![
    quick("anderson::near_wrap", PARK, || {
        mutex::excludes::<NearWrap<Anderson<2>, { u32::MAX }>>(3, 1, 0)
    }),
    deep("anderson::deep", PARK, || {
        mutex::excludes::<Anderson<2>>(3, 2, 0)
    }),
];
