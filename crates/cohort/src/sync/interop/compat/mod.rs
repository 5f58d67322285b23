//! Names of other crates for this crate's types, so that a program changes only its `use` lines
//! (features `lock_api` and
//! `lock_api_05`).

#[cfg(feature = "lock_api")]
pub mod parking_lot;
#[cfg(feature = "lock_api_05")]
pub mod parking_lot_013;
