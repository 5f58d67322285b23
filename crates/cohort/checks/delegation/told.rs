//! Where the flaws of a queue's answers are looked for.

use crate::runner::prelude::*;

looked_for_in!["cc_synch::", "sanl_plus::"];

on_machine! {
    "told.hand-to-gone" => [few("cc_synch_lets_go"), few("sanl_plus_lets_go")];
    // What they run is no more, as the memory of a run is not kept.
    _ => [few("cc_synch_hands_on")];
}
