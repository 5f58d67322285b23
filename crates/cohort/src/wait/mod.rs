//! Waiting: the cell that a waiter reads, with or without sleeping; the flag of the simple locks;
//! and releases without a read-modify-write.

mod cell;
mod flag;
pub mod quick;

pub use cell::{MayPark, Parking, SpinOnly, WaitCell};
pub use flag::{Backoff, Flag};
