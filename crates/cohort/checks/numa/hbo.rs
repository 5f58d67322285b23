//! Checks of `hbo`.

use crate::runner::prelude::*;

impl Checked for Hbo {
    type Smallest = Self;
}
