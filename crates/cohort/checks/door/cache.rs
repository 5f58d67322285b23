//! Checks of a thread's cached nodes.

use crate::runner::prelude::*;

looked_for_in!["arena::entered_again"];

models![quick("arena::entered_again", SPIN_0, || {
    again::is_entered_again(|moment, handler, it| door::interrupted_after(moment, handler, it));
})];

on_machine! {
    _ => [few("arena_hands_out_once")];
}
