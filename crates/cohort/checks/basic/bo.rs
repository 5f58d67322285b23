//! Checks of `bo`.

use crate::runner::prelude::*;

impl Checked for Bo {
    type Smallest = Self;
}
