//! Checks of `ticket-apart`.

use crate::runner::prelude::*;

impl Checked for TicketApart {
    type Smallest = Self;
}
