//! Where to search for faults in the tree of cohorts.

use crate::runner::prelude::*;

looked_for_in!["stacked::", "hmcs_2::", "hmcs::"];
