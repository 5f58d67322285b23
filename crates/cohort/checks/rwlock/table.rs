//! Where the flaws of the table of readers are looked for.

use crate::runner::prelude::*;

looked_for_in!["rw_object::"];
