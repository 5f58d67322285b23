//! Compositions.

pub mod aclof;
mod bypass;
pub mod clof;
mod cohorting;
pub mod level;
mod stacked;
mod tree;
