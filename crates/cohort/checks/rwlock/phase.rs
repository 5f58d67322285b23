//! Where to search for faults in the protocol between readers and writers.

use crate::runner::prelude::*;

looked_for_in!["rw_cohorts::", "rw_cohorts_w::", "rw_object::"];

on_machine! {
    "rw-phase.overtake" => [few("object_readers_share")];
    _ => [
        few("cohorts_readers_share"),
        few("cohorts_let_readers_in"),
        few("cohorts_are_read_again"),
        few("cohorts_readers_give_way"),
        few("cohorts_are_read_beside"),
        few("cohorts_let_go"),
        few("cohorts_let_writers_go"),
    ];
}
