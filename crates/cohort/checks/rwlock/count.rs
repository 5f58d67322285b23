//! Where the flaws of the count of readers are looked for.

use crate::runner::prelude::*;

looked_for_in!["rw_cohorts::", "rw_cohorts_w::", "rw_object::"];
