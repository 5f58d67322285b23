//! Checks of an object's choice of a lock.

use crate::runner::prelude::*;

looked_for_in!["assigned"];

models![quick("assigned", SPIN, || {
    host::is_assigned::<Tas, Ticket>(2, 1)
}),];

on_machine! {
    _ => [few("assigned")];
}
