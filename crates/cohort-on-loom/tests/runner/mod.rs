//! Runs models with and without faults, each in a process of its own.

pub mod bounds;
pub mod broken;
pub mod carrier;
pub mod child;
mod delegates;
pub mod equivalent;
pub mod models;
pub mod mutants;
pub mod noticed;
pub mod prelude;
pub mod returned;
mod stacks;
pub mod standard;
