//! Where the flaws of a word that waiters take are looked for.

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
