//! Waiting: the cell a waiter looks at, and whether it may sleep on it; the flag that
//! waiters take.

mod cell;
mod flag;

pub(crate) use cell::ORDERS;
pub use cell::{MayPark, Parking, SpinOnly, WaitCell};
pub(crate) use flag::ORDERS as FLAG_ORDERS;
pub use flag::{Flag, Manner};
