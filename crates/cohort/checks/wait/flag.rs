//! Where the flaws of a word that waiters take are looked for.

use crate::runner::prelude::*;

looked_for_in!["tas::", "ttas::"];
