//! How waiters wait.

pub mod cell;
mod flag;
mod quick;
