//! Where to search for faults in the wait cell.

use crate::runner::prelude::*;

/// The last number before a cell's 31 bits wrap around.
pub const CELL: u32 = u32::MAX >> 1;

looked_for_in!["ticket::", "mcs::park", "anderson::park"];

on_machine! {
    _ => [|| mutex::excludes::<Ticket>(4, 4, 0), || mutex::excludes::<Mcs>(4, 4, 0)];
}
