//! Where to search for faults in the registry of servers.

use crate::runner::prelude::*;

looked_for_in!["sanl::"];

on_machine! {
    _ => [few("fc_combines"), few("sanl_brings")];
}
