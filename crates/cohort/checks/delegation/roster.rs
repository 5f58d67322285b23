//! Where the flaws of the list of servers are looked for.

use crate::runner::prelude::*;

looked_for_in!["sanl::"];
