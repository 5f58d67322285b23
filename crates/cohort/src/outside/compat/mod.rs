//! Other crates' names for what is here, so that a program changes one line (feature `lock_api`).

pub mod parking_lot;
