//! Where the flaws of the cell that waiters sleep at are looked for.

use crate::runner::prelude::*;

/// The number after which a cell's 31 bits wrap.
pub const CELL: u32 = u32::MAX >> 1;

looked_for_in!["ticket::", "mcs::park", "anderson::park"];

on_machine! {
    _ => [|| mutex::excludes::<Ticket>(4, 4, 0), || mutex::excludes::<Mcs>(4, 4, 0)];
}
