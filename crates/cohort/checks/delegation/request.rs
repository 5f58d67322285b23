//! Where the flaws of a brought section are looked for.

use crate::runner::prelude::*;

looked_for_in!["sanl::"];
