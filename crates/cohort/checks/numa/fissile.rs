//! Checks of `fissile`.

use crate::runner::prelude::*;

impl Checked for Fissile {
    type Smallest = Self;
}

models![quick("fissile::impatient", IMPATIENT_1, || {
    mutex::excludes::<Fissile>(3, 1, 0);
})];
