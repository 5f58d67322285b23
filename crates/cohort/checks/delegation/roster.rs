//! Where the flaws of the list of servers are looked for.

use crate::runner::prelude::*;

looked_for_in!["sanl::"];

on_machine! {
    _ => [few("fc_combines"), few("sanl_brings")];
}
