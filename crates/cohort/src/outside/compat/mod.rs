//! Other crates' names for what is here, so that a program changes its `use` lines (feature `lock_api`).

pub mod parking_lot;
