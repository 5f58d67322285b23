//! The simulated NUMA machine.
//!
//! [`description`] is what a machine is: its file, read and checked.

pub mod description;
