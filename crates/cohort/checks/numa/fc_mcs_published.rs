//! Checks of `fc-mcs-published`.

use crate::runner::prelude::*;

/// One pass, after which a record is old.
type Small = FcMcsPublished<1, 0>;

impl Checked for FcMcsPublished {
    type Smallest = Small;
    const STANDARD: Standard = Standard {
        destroyed: false,
        fewer_hosted: 1,
        ..ALL
    };
}

models![quick("fc_mcs_published::ages", SPIN_1, || {
    mutex::excludes::<Small>(3, 2, 0);
}),];

on_machine! {
    _ => [|| mutex::excludes::<Small>(8, 6, 0)];
}
