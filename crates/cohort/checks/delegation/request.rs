//! Where to search for faults in a delegated section's request.

use crate::runner::prelude::*;

looked_for_in!["sanl::"];
