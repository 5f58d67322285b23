//! Where to search for faults in wait morphing, where a condition's waiter is requeued at its
//! mutex.

use crate::runner::prelude::*;

looked_for_in!["condvar::"];

on_machine! {
    _ => [few("condvar_signals_queued")];
}
