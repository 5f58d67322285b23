//! Where the flaws of releasing by a plain store are looked for.

use crate::runner::prelude::*;

looked_for_in!["tas::quick", "ticket::quick", "futex::quick"];
