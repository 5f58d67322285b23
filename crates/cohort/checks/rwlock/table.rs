//! Where to search for faults in the table of readers.

use crate::runner::prelude::*;

looked_for_in!["rw_object::"];

on_machine! {
    _ => [
        few("object_readers_give_way"),
        few("object_readers_share"),
        few("object_of_a_composition"),
    ];
}
