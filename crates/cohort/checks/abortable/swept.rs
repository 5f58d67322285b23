//! Checks of per-context lists of nodes.

use crate::runner::prelude::*;

looked_for_in!["swept::", "clh_nb::", "mcs_nb::"];

models![quick(
    "swept::is_used_again",
    SPIN,
    mutex::uses_its_node_again
)];

on_machine! {
    _ => [mutex::uses_its_node_again];
}
