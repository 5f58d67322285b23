//! Checks of `clh-published`.

use crate::runner::prelude::*;

impl Checked for ClhPublished {
    type Smallest = Self;
}
