//! Checks of `hemlock-ctr`.

use crate::runner::prelude::*;

impl Checked for HemlockCtr {
    type Smallest = Self;
}

models![quick("hemlock_ctr::spin_only", SPIN, || {
    mutex::excludes::<Hemlock<true, SpinOnly>>(3, 1, 0)
})];
