//! Where the flaws of the tree of cohorts are looked for.

use crate::runner::prelude::*;

looked_for_in!["stacked::", "hmcs_2::", "hmcs::"];
