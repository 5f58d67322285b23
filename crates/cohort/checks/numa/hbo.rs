//! Checks of `hbo`.

use crate::runner::prelude::*;

impl Checked for Hbo {
    type Smallest = Self;
    const STANDARD: Standard = Standard {
        fewer_hosted: 1,
        ..ALL
    };
}
