//! Where to search for faults in a flag that waiters consume.

use crate::runner::prelude::*;

looked_for_in!["tas::", "ttas::"];

on_machine! {
    _ => [
        few("tas_lets_go"),
        || mutex::remembers::<Ttas>([true, true, false]),
        || mutex::excludes::<Tas>(3, 2, 0),
        || mutex::excludes::<Tas>(4, 4, 0),
    ];
}
