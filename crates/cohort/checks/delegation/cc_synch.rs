//! Checks of `cc-synch`.

use crate::runner::prelude::*;

impl Checked for CcSynch {
    type Smallest = CcSynch<MayPark, 2>;
}

on_machine! {
    _ => [few("cc_synch_hands_on"), few("cc_synch_is_inside")];
}
