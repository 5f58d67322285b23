//! Where the flaws of a queue's answers are looked for.

use crate::runner::prelude::*;

looked_for_in!["cc_synch::", "sanl_plus::"];

on_machine! {
    _ => [few("cc_synch_lets_go"), few("sanl_plus_lets_go")];
}
