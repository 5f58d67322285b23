//! Where to search for faults in plain-store releases.

use crate::runner::prelude::*;

looked_for_in!["tas::quick", "ticket::quick", "futex::quick"];

on_machine! {
    _ => [
        || mutex::excludes::<Tas>(4, 4, 0),
        || mutex::excludes::<Ticket>(3, 2, 0),
        || mutex::excludes::<Ticket>(4, 4, 0),
        || mutex::excludes::<Futex>(4, 4, 0),
    ];
}
