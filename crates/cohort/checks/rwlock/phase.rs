//! Where the flaws of what readers and writers agree on are looked for.

use crate::runner::prelude::*;

looked_for_in!["rw_cohorts::", "rw_cohorts_w::", "rw_object::"];
