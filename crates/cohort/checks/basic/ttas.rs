//! Checks of `ttas`.

use crate::runner::prelude::*;

impl Checked for Ttas {
    type Smallest = Self;
}

models![quick("ttas::remembers", TICKING, || {
    mutex::remembers::<Ttas>([true, true, false])
})];
