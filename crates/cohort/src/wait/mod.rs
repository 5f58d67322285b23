//! Waiting: the cell a waiter looks at, and whether it may sleep on it; the flag that
//! waiters take; and releases that need no read-modify-write.

mod cell;
mod flag;
pub mod quick;

pub(crate) use cell::ORDERS;
pub use cell::{MayPark, Parking, SpinOnly, WaitCell};
pub(crate) use flag::ORDERS as FLAG_ORDERS;
pub use flag::{Flag, Manner};
pub(crate) use quick::ORDERS as QUICK_ORDERS;
