//! Checks of `cc-synch`.

use crate::runner::prelude::*;

impl Checked for CcSynch {
    type Smallest = CcSynch<MayPark, 2>;
}
