//! Waiting: the cell a waiter looks at, and whether it may sleep on it.

mod cell;

pub(crate) use cell::ORDERS;
pub use cell::{MayPark, Parking, SpinOnly, WaitCell};
