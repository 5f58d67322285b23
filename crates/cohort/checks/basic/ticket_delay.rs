//! Checks of `ticket-delay`.

use crate::runner::prelude::*;

impl Checked for TicketDelay {
    type Smallest = Self;
}
