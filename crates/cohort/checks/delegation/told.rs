//! Where to search for faults in a queue's answers.

use crate::runner::prelude::*;

looked_for_in!["cc_synch::", "sanl_plus::"];

on_machine! {
    _ => [few("cc_synch_lets_go"), few("sanl_plus_lets_go")];
}
