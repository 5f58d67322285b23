//! Waiting: the cell a waiter looks at, and whether it may sleep on it; the flag that
//! waiters take; and releases that need no read-modify-write.

mod cell;
mod flag;
pub mod quick;

pub use cell::{MayPark, Parking, SpinOnly, WaitCell};
pub use flag::{Backoff, Flag};
