//! Checks of the arena.

use crate::runner::prelude::*;

models![
    quick("arena::two", SPIN, || arena::hands_out_once(2, 1, 2)),
    quick("arena::again", PARK_1, || arena::hands_out_once(2, 2, 2)),
    // More nodes than the threads cache, so that they contend for the common list.
    deep("arena::common", SPIN, || arena::hands_out_once(2, 1, 3)),
    deep("arena::three", PARK_1, || arena::hands_out_once(3, 1, 2)),
    quick("arena::returns", PARK_1, || arena::returns_what_was_left(2)),
    quick("arena::adopts", ENDING, || arena::adopts_orphans(2)),
];

on_machine! {
    _ => [few("arena_hands_out_once")];
}
