//! Names of other crates for this crate's types, so that a program changes only its `use` lines
//! (feature `lock_api`).

pub mod parking_lot;
