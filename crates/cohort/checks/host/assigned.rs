//! Checks of which lock serves an object.

use crate::runner::prelude::*;

looked_for_in!["assigned"];

models![quick("assigned", SPIN, || {
    host::is_assigned::<Tas, Ticket>(2, 1)
}),];

on_machine! {
    _ => [few("assigned")];
}
