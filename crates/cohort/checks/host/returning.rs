//! Where the flaws of a waiter that comes back to its mutex are looked for.

use crate::runner::prelude::*;

looked_for_in!["condvar::"];

on_machine! {
    _ => [few("condvar_signals_queued")];
}
